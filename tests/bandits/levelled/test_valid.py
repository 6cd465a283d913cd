"""The theorems, as statements about runs: sets hold, levels stay small, certificates are never too small.

A statistical test here has the null hypothesis "the sets fail with probability at most δ" and rejects it when
so many of N runs fail that the exact binomial probability is below 1e-6: that is its false-alarm rate.
"""

import numpy as np
import pytest

import unipac
from unipac import metrics, theory
from unipac.envs import sphere
from unipac.linalg import levels as stack
from unipac.linalg.fast.evaluate import evaluate_one

FALSE_ALARM = 1e-6
RUNS = [300, pytest.param(1000, marks=pytest.mark.slow)]
ROUNDS = 300
DELTA = 0.1

AGENTS = {
    "theorem": (unipac.UPACOFUL, {"radius": "theorem"}),
    "determinant": (unipac.UPACOFUL, {"radius": "determinant"}),
    "mixture": (unipac.UPACOFUL, {"radius": "mixture"}),
    "nested mixture": (unipac.NestedOFUL, {}),
    "nested determinant": (unipac.NestedOFUL, {"radius": "determinant", "all_data": False}),
    "all data, determinant": (unipac.OFUL, {}),
    "all data, mixture": (unipac.OFUL, {"radius": "mixture"}),
}


def failing_runs(agent, arguments, noise_kind, runs, *, regularization=1.0):
    """In how many of the runs the truth ever left a set; checks certificates and sizes on the way."""
    failures = 0
    for seed in range(runs):
        instance = sphere(2, 5, noise=1.0, noise_kind=noise_kind, seed=seed)
        player = agent(2, delta=DELTA, regularization=regularization, **arguments)
        trace = player.play(instance, rounds=ROUNDS, seed=seed, truth=instance.theta)
        held = trace.covered.all()
        failures += not held
        if held and player.certified:
            assert not metrics.certificate_violations(trace.certificate, trace.gap).any()
            assert player.consistent
        for level in player.levels():
            assert level.size <= level.bound
    return failures


@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
@pytest.mark.parametrize("noise_kind", ["gaussian", "rademacher"])
@pytest.mark.parametrize("radius", AGENTS)
@pytest.mark.parametrize("runs", RUNS)
def test_the_truth_stays_in_all_sets(runs, radius, noise_kind):
    failures = failing_runs(*AGENTS[radius], noise_kind, runs)
    assert metrics.binomial_upper_tail(failures, runs, DELTA) > FALSE_ALARM


MANY = {
    "UPACOFUL": lambda **told: unipac.UPACOFUL(2, radius="mixture", **told),
    "NestedOFUL": lambda **told: unipac.NestedOFUL(2, tight=False, **told),
    "OFUL": lambda **told: unipac.OFUL(2, radius="mixture", tight=False, **told),
    "Guarded": lambda **told: unipac.Guarded(unipac.LinUCB(2), gate=1.0, tight=False, **told),
}


@pytest.mark.slow
@pytest.mark.parametrize("noise_kind", ["gaussian", "rademacher"])
@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize(("delta", "seeds"), [(0.1, 10_000), (0.001, 50_000)])
def test_the_truth_stays_in_all_sets_in_tens_of_thousands_of_runs(delta, seeds, name, noise_kind):
    """All seeds at once. A certificate is never below the gap while all sets hold; the control is told half of R."""
    instance = sphere(2, 5, noise=1.0, noise_kind=noise_kind, seed=3)
    runs = unipac.play_many(MANY[name](delta=delta, noise=1.0), instance, rounds=ROUNDS, seeds=seeds)
    assert metrics.binomial_upper_tail(int(runs.left.sum()), seeds, delta) > FALSE_ALARM
    assert not (runs.undercut & ~runs.left).any()
    with pytest.warns(UserWarning, match="no certificate is valid"):
        wrong = unipac.play_many(MANY[name](delta=delta, noise=0.5), instance, rounds=ROUNDS, seeds=2000)
    assert metrics.binomial_upper_tail(int(wrong.left.sum()), 2000, delta) < FALSE_ALARM


class HalfOFUL(unipac.OFUL):
    """With R/2 and S/2 in the place of R and S: both radii are half of what they should be."""

    def _sets(self):
        sets = super()._sets()
        return sets._replace(certified=False, noise=sets.noise / 2, norm=sets.norm / 2)


@pytest.mark.parametrize("radius", ["determinant", "mixture"])
@pytest.mark.parametrize("runs", RUNS)
def test_half_the_radius_does_not_hold(runs, radius):
    """Negative control: with half the radius the same test rejects."""
    plain = {"radius": radius, "tight": False}
    whole, half = (agent(2, regularization=0.1, **plain) for agent in (unipac.OFUL, HalfOFUL))
    assert half.levels()[0].radius == pytest.approx(whole.levels()[0].radius / 2, rel=1e-14)
    failures = failing_runs(HalfOFUL, plain, "gaussian", runs, regularization=0.1)
    assert metrics.binomial_upper_tail(failures, runs, DELTA) < FALSE_ALARM


@pytest.mark.parametrize("all_data", [False, True])
def test_certificates_shrink_with_the_level(all_data):
    """For l ≥ 2 a certificate is at most 2 β_{l-1} 2^-(l-1), surely, up to the tie tolerance."""
    for agent in (
        unipac.NestedOFUL(3, all_data=all_data, noise=0.3, regularization=0.1),
        unipac.UPACOFUL(3, noise=0.3),
    ):
        instance = sphere(3, 6, noise=0.3, seed=1)
        rounds = instance.rounds(0, 1500, seed=2)
        highest = 1
        for X, rewards in zip(rounds.actions, rounds.rewards, strict=True):
            radius = [level.radius for level in agent.levels()]
            decision = agent.choose(X)
            if decision.level >= 2:
                bound = 2 * radius[decision.level - 2] * 2.0 ** -(decision.level - 1)
                assert decision.certificate <= bound * (1 + 1e-8)
            highest = max(highest, decision.level)
            agent.update(decision, rewards[decision.index])
        assert highest >= 4


@pytest.mark.parametrize("agent", [unipac.NestedOFUL, unipac.UPACOFUL])
@pytest.mark.parametrize("regularization", [0.1, 1.0])
def test_level_sizes_with_200_decisions_outstanding(agent, regularization):
    rng = np.random.default_rng(0)
    player = agent(2, regularization=regularization)
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    for _ in range(30):
        batch = [player.choose(X) for _ in range(200)]
        for i in rng.permutation(200):
            player.update(batch[i], rng.standard_normal())
        for level in player.levels():
            assert level.size <= level.bound
    assert sum(level.size for level in player.levels()) == 6000


def test_levels_decided_at_the_choice_would_overflow():
    """Negative control: 200 copies of one action, added with the widths that they had at the choice."""
    levels = stack.empty(4, 2, 1.0)
    x = np.array([1.0, 0.0])
    means, width2 = np.empty(4), np.empty(4)
    evaluate_one(levels, 1, x, means, width2)
    for _ in range(200):
        stack.add(levels, 1, stack.NESTED, x, 0.0, 1, width2.copy(), 1.0, np.empty(4))
    assert levels.size[0] == 200 > theory.level_size(2, 1)


@pytest.mark.parametrize("agent", [unipac.NestedOFUL, unipac.UPACOFUL])
def test_widest_first_fills_levels_most(agent):
    """An adversary who always offers the widest direction cannot break the bound either."""
    d = 4
    player = agent(d)
    for _ in range(2000):
        k = int(np.argmin(np.diagonal(gram(player))))
        player.absorb(np.eye(d)[[k]], [0.0])
    sizes = [(level.size, level.bound) for level in player.levels()]
    assert all(size <= bound for size, bound in sizes)
    assert max(size / bound for size, bound in sizes) > 0.2


def gram(player):
    """Σ − λI of all data, for data along the axes."""
    width = player.bounds(np.eye(player.dim))
    return np.diag(1 / (width.ucb - width.lcb) ** 2)


def test_mistakes_stay_below_the_bound_for_all_eps_at_once():
    """N_ε of certified runs under C15's bound on a grid of ε, in every run whose sets hold."""
    eps = 2.0 ** -np.arange(1, 8)
    bound = [theory.mistake_bound(e, 3, DELTA, nested=True, all_data=True) for e in eps]
    for seed in range(20):
        instance = sphere(3, 10, seed=seed)
        player = unipac.NestedOFUL(3, delta=DELTA)
        trace = player.play(instance, rounds=5000, seed=seed, truth=instance.theta)
        if trace.covered.all():
            assert (metrics.mistakes(trace.gap, eps) <= bound).all()
        # The count of large certificates is bounded surely.
        assert (metrics.mistakes(trace.certificate, eps) <= bound).all()


def test_wrong_assumptions_are_refuted():
    """Rewards far noisier than promised: some lower bound exceeds an upper one; one warning, and a flag."""
    rng = np.random.default_rng(0)
    player = unipac.NestedOFUL(2, noise=0.01)
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    with pytest.warns(RuntimeWarning, match="assumption") as caught:
        trace = player.play(X, 5 * rng.standard_normal((3000, 3)))
    assert len(caught) == 1
    assert not player.consistent
    refuted = np.isnan(trace.certificate)
    first = int(refuted.argmax())
    assert refuted[first:].all()
    assert 0 < first == (~refuted).sum()
