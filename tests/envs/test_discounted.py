"""Discounted MDPs: the optimum, anchors, and simulators that count."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

import unipac
from unipac.envs import DiscountedMDP, random_anchors

pytestmark = pytest.mark.nojit

STAY_OR_GO = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.95])
def test_optimum_is_the_best_of_all_policies(discount):
    """Judge: V^π of each of the 3^4 policies by a thousand terms of its series."""
    mdp = random_anchors(n_states=4, n_actions=3, anchors=3, discount=discount, seed=2)
    best = np.full(4, -np.inf)
    for policy in itertools.product(range(3), repeat=4):
        P, r = mdp.transitions[range(4), policy], mdp.rewards[range(4), policy]
        value = np.zeros(4)
        for _ in range(1000):
            value = r + discount * P @ value
        np.testing.assert_allclose(mdp.policy_value(policy), value, atol=1e-10)
        best = np.maximum(best, value)
    np.testing.assert_allclose(mdp.optimal_value(), best, atol=1e-10)
    np.testing.assert_allclose(mdp.policy_value(mdp.optimal_policy()), best, atol=1e-10)
    np.testing.assert_allclose(mdp.optimal_q().max(axis=1), best, atol=1e-10)


def test_one_state_one_action():
    mdp = DiscountedMDP([[[1.0]]], [[0.25]], 0.75)
    assert mdp.optimal_value().tolist() == [1.0]
    assert mdp.simulator().sample([0], [0], 4).tolist() == [[0, 0, 0, 0]]


def test_anchors_determine_all_pairs():
    mdp = random_anchors(discount=0.9, seed=3)
    assert (mdp.n_states, mdp.n_actions, mdp.coefficients.shape) == (30, 3, (30, 3, 5))
    rows = mdp.transitions.reshape(90, 30)[mdp.anchors]
    np.testing.assert_allclose(mdp.coefficients @ rows, mdp.transitions, atol=1e-12)
    assert (mdp.coefficients.reshape(90, 5)[mdp.anchors] == np.eye(5)).all()
    paid = (random_anchors(300, seed=0).rewards > 0).sum()
    low, high = binom.ppf([1e-6, 1 - 1e-6], 900, 0.3)  # null: 30 % of the pairs pay; false alarms 2e-6
    assert low <= paid <= high
    assert (random_anchors(seed=3).rewards == mdp.rewards).all()
    assert (random_anchors(seed=4).rewards != mdp.rewards).any()


def test_samples_have_the_law_of_the_transitions():
    """Null: counts of a next state are binomial; 60 of them for each way, false alarms at most 2e-4 in all."""
    mdp = random_anchors(n_states=30, n_actions=2, anchors=3, seed=1)
    n, pairs = 20_000, mdp.anchors[:2]
    states, actions = np.divmod(pairs, 2)
    simulator = mdp.simulator(seed=5)
    drawn = simulator.sample(states, actions, n)
    assert simulator.samples == 2 * n
    counts = simulator.arrivals(states, actions, n)
    assert simulator.samples == 4 * n
    batch = mdp.pulls(pairs, [n, n], batch=3, seed=7)
    assert (batch == mdp.pulls(pairs, [n, n], batch=3, seed=7)).all()
    assert (batch != mdp.pulls(pairs, [n, n], batch=4, seed=7)).any()
    P = mdp.transitions.reshape(60, 30)[pairs]
    low, high = binom.ppf(5e-7, n, P), binom.isf(5e-7, n, P)
    for found in ([np.bincount(row, minlength=30) for row in drawn], counts, batch):
        assert (low <= found).all()
        assert (found <= high).all()
    assert (batch > binom.isf(5e-7, n, P[:, ::-1])).any()  # the control: another law is seen to be another


def test_huge_batches_in_one_step():
    counts = random_anchors().pulls([0, 0, 89], [2**52, 0, 1], batch=0, seed=0)
    assert counts.shape == (3, 30)
    assert counts.sum(axis=1).tolist() == [2**52, 0, 1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"transitions": [[[1, 0]]]}, "transitions"),
        (
            {"transitions": [[[0.5, 0.4], [0, 1]], [[0, 1], [1, 0]]]},
            "state 0, action 0 must be a distribution",
        ),
        ({"rewards": [[0, 2], [0, 0]]}, "rewards at state 0, action 1 must be from 0 to 1, got 2"),
        ({"rewards": [[0, np.nan], [0, 0]]}, "rewards must be finite"),
        ({"discount": 1.0}, "discount"),
        ({"discount": -0.1}, "discount"),
        ({"discount": "x"}, "discount"),
        ({"anchors": [0]}, "anchors must be given together with coefficients"),
        ({"anchors": [0, 4], "coefficients": np.zeros((2, 2, 2))}, "anchors must be integers from 0 to 3"),
        ({"anchors": [0, 1], "coefficients": np.zeros((2, 2, 2))}, "coefficients at state 0, action 0"),
        ({"anchors": 3, "coefficients": np.zeros((2, 2, 1))}, "anchors"),
    ],
)
def test_bad_input(change, words):
    with pytest.raises(ValueError, match=words):
        DiscountedMDP(**{"transitions": STAY_OR_GO, "rewards": np.zeros((2, 2)), "discount": 0.5} | change)


def test_bad_questions():
    mdp = random_anchors(4, 2, 2)
    simulator = mdp.simulator()
    for ask in (
        lambda: mdp.policy_value([0, 1, 2, 0]),
        lambda: mdp.policy_value([0.0, 1, 1, 0]),
        lambda: mdp.pulls([8], [1], batch=0, seed=0),
        lambda: mdp.pulls([0], [-1], batch=0, seed=0),
        lambda: mdp.pulls([0, 1], [1], batch=0, seed=0),
        lambda: mdp.pulls([0], [1], batch=-1, seed=0),
        lambda: mdp.pulls([0], [1], batch=0, seed=-1),
        lambda: simulator.sample([0, 1], [0], 1),
        lambda: simulator.sample([0], [2], 1),
        lambda: simulator.sample([0], [0], -1),
        lambda: simulator.sample(0, 0, 1),
        lambda: unipac.envs.random_anchors(2, 2, 5),
    ):
        with pytest.raises(ValueError, match="must"):
            ask()
    assert simulator.samples == 0
