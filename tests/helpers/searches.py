"""Searches for the best arm, held against their judges: both are given the same rewards."""

import numpy as np
import pytest

from unipac.linalg.design import design

CONSTANTS = {"delta": 0.1, "noise": 0.7, "norm": 1.5}


def solver(X, Y):
    found = design(X, Y)
    return found.weights, found.value


def soare(angle, dim=3):
    X = np.eye(dim + 1, dim)
    X[dim, :2] = np.cos(angle), np.sin(angle)
    return X


def follow(search, judge, X, theta, seed, most=30_000):
    """Give both the same rewards; they must ask for the same and say the same at every moment."""
    rng, sent, batches = np.random.default_rng(seed), None, 0
    while True:
        try:
            arms, counts, index, certificate = judge.send(sent)
        except StopIteration as end:
            assert search.done
            index, certificate = end.value
            assert search.answer.index == index
            assert search.answer.certificate == pytest.approx(certificate, abs=1e-8)
            return batches
        assert not search.done
        assert search.answer.index == index
        assert search.answer.certificate == pytest.approx(certificate, rel=1e-7, abs=1e-8)
        batch = search.ask()
        assert batch.arms.tolist() == arms.tolist()
        assert batch.counts.tolist() == counts.tolist()
        if search.pulls > most:
            return batches
        sent = counts * (X[arms] @ theta) + CONSTANTS["noise"] * np.sqrt(counts) * rng.standard_normal(
            len(arms)
        )
        search.tell(sent)
        batches += 1


KINDS = ["soare", "random", "transductive", "twins", "flat"]


def check_asks_and_answers(cls, judge, kind, **parameters):
    """As the generator ``judge(X, Z, delta, noise, norm, eps)``, at every moment."""
    rng = np.random.default_rng(7)
    X, theta, targets, eps = soare(0.5), np.eye(3)[0], None, 0.0
    if kind == "random":
        X = rng.standard_normal((8, 3))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    elif kind == "transductive":
        targets = np.array([[0.9, 0.1, 0.0], [0.0, 0.9, 0.3], [0.2, 0.2, 0.9], [0.5, 0.0, 0.5]])
    elif kind == "twins":  # copies of the best arm, and nearly copies: only an eps can tell
        X, eps = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.001], [0.0, 1.0]]), 0.2
        theta = np.array([0.5, 0.0])
    elif kind == "flat":  # a plane in four dimensions
        X = soare(0.5, 2) @ np.array([[0.6, 0.0, 0.8, 0.0], [0.0, 1.0, 0.0, 0.0]])
        theta = np.array([0.6, 0.0, 0.8, 0.0])
    Z = X if targets is None else targets
    search = cls(X, targets=targets, eps=eps, **CONSTANTS, **parameters)
    assert follow(search, judge(X, Z, *CONSTANTS.values(), eps), X, theta, seed=11) > 0
    if search.done:
        gap = (Z @ theta).max() - (Z @ theta)[search.answer.index]
        assert gap <= max(search.answer.certificate, eps) + 1e-9
        assert search.answer.certificate <= eps


def check_judge_says_no(cls, judge, **parameters):
    """Negative control: another delta is noticed."""
    search, X = cls(soare(0.5), **{**CONSTANTS, "delta": 0.11}, **parameters), soare(0.5)
    with pytest.raises(AssertionError):
        follow(search, judge(X, X, *CONSTANTS.values(), 0.0), X, np.eye(3)[0], seed=1)
