"""Searches for a policy by a generative model: worlds, and how they are held against their judges."""

import numpy as np
import pytest

import unipac
from helpers.judges import planning as judges
from unipac import envs


def anchored(discount=0.5, seed=1):
    return envs.random_anchors(5, 2, 3, discount=discount, seed=seed)


def table(discount=0.5):
    mdp = anchored(discount)
    return envs.DiscountedMDP(mdp.transitions, mdp.rewards, discount)


def signed(discount=0.5):
    """Anchors of which others are no convex combination: P(· | 0, 1) = 1.5 P(· | 0, 0) − 0.5 P(· | 1, 0)."""
    first, second = np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.5, 0.2])
    rows = np.array([first, 1.5 * first - 0.5 * second, second, second, first, second])
    weights = np.array([[1, 0], [1.5, -0.5], [0, 1], [0, 1], [1, 0], [0, 1.0]]).reshape(3, 2, 2)
    rewards = [[0.1, 0.2], [0.9, 0.3], [0.0, 0.6]]
    return envs.DiscountedMDP(rows.reshape(3, 2, 3), rewards, discount, anchors=[0, 2], coefficients=weights)


WORLDS = {"anchored": anchored, "table": table, "signed": signed}


def follow(search, judge, mdp, seed, expected_stop=True):
    """Both are sent the same; they must ask for the same and say the same at every moment."""
    sent, k = None, 0
    while True:
        try:
            arms, counts, policy, certificate = judge.send(sent)
        except StopIteration as end:
            policy, certificate = end.value
            assert search.done == expected_stop
            assert search.answer.policy.tolist() == list(policy)
            assert search.answer.certificate == pytest.approx(certificate, abs=1e-9)
            return k
        assert not search.done
        assert search.answer.policy.tolist() == list(policy)
        assert search.answer.certificate == pytest.approx(certificate, abs=1e-9)
        batch = search.ask()
        assert batch.arms.tolist() == list(arms)
        assert batch.counts.tolist() == list(counts)
        sent = mdp.pulls(arms, counts, batch=k, seed=seed)
        search.tell(sent)
        k += 1


def wrong_runs(cls, mdp, eps, delta, runs, sampled=None, **more):
    """Runs in which, at some moment, the certificate was below the gap, or the lower value above that of the policy."""
    best, wrong = mdp.optimal_value(), 0
    for seed in range(runs):
        search = cls.made_for(mdp, eps=eps, delta=delta, **more)
        failed = False
        while True:
            answer = search.answer
            value = mdp.policy_value(answer.policy)
            failed |= bool((best - value).max() > answer.certificate + 1e-9)
            failed |= bool((answer.lower > value + 1e-9).any())
            if search.done or search.pulls > 10**8:
                break
            search.tell(search._sample(sampled or mdp, seed))
        wrong += failed
    return wrong


def hard(chance=0.5):
    """Two actions of nearly the same value: a wrong answer is likely as soon as one believes too much."""
    P = [[[1 - chance, chance], [0.52, 0.48]], [[0.5, 0.5], [0.48, 0.52]]]
    return envs.DiscountedMDP(P, [[0, 0], [1, 1]], 0.5)


def planned(discount, eps, seeds, name="CertifiedPlanning"):
    """Samples and true gaps of runs on 30 states, 3 actions, 5 anchors."""
    mdp = envs.random_anchors(discount=discount)
    best = mdp.optimal_value()
    found = []
    for seed in seeds:
        answer = unipac.AGENTS[name].made_for(mdp, eps=eps).run(mdp, seed=seed, max_pulls=10**12)
        value = mdp.policy_value(answer.policy)
        assert answer.certificate <= eps
        found.append((answer.pulls, (best - value).max(), bool((answer.lower <= value + 1e-9).all())))
    return found


def check_asks_and_answers(cls, judge, kind):
    """As the generator ``judge(world, eps, delta, trail)``, at every moment, in three worlds of a kind."""
    for discount, eps in ((0.5, 0.5), (0.3, 0.1), (0.6, 0.4)):
        mdp = WORLDS[kind](discount)
        search, trail = cls.made_for(mdp, eps=eps, delta=0.1), []
        assert follow(search, judge(world_of(mdp), eps, 0.1, trail), mdp, seed=3) > 1
        answer = search.answer
        value = mdp.policy_value(answer.policy)
        assert (mdp.optimal_value() - value).max() <= answer.certificate <= eps
        assert (answer.lower <= value + 1e-12).all()
        for lower, policy in trail:
            assert (lower <= mdp.policy_value(policy) + 1e-12).all()


def check_judge_says_no(cls, judge):
    """Negative control: another delta is noticed."""
    mdp = anchored()
    search = cls.made_for(mdp, eps=0.5, delta=0.11)
    with pytest.raises(AssertionError):
        follow(search, judge(world_of(mdp), 0.5, 0.1, []), mdp, seed=3)


def world_of(mdp):
    """What a judge is told of it."""
    return judges.World(mdp.rewards, mdp.discount, mdp.anchors, mdp.coefficients)
