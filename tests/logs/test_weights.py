"""`logs.value` and `logs.compare` by weights: the arithmetic, what is refused, and that the intervals hold."""

import math

import numpy as np
import pytest

import unipac
from unipac import logs, metrics
from unipac.logs import Log
from unipac.weights import RunningMean

RANGE = (0.0, 1.0)


def uneven(seed, rounds=400, n=4, *, least=0.05):
    """A log of uneven choices among n fixed arms, with the probabilities of all of them and the expected rewards."""
    rng = np.random.default_rng((23, seed))
    p = rng.dirichlet(np.ones(n), size=rounds) * (1.0 - n * least) + least
    index = (rng.random((rounds, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=n - 1)
    means = np.clip(0.5 + 0.4 * np.sin(np.arange(rounds)[:, None] / 40.0 + np.arange(n)), 0.0, 1.0)
    every = np.arange(rounds)
    rewards = (rng.random(rounds) < means[every, index]).astype(float)
    return Log(np.eye(n), index, rewards, p[every, index]), p, means


def value(log, policy, **told):
    return logs.value(log, policy, by="weights", reward_range=RANGE, **told)


def test_value_is_the_running_mean_of_the_weights():
    log, _, _ = uneven(0)
    rng = np.random.default_rng(1)
    policy, guess = rng.dirichlet(np.ones(4), size=400), rng.random((400, 4))
    every = np.arange(400)
    w = policy[every, log.index] / log.propensities
    for largest in (None, 20.0):
        found = value(log, policy, alpha=0.1, largest_weight=largest)
        mean = RunningMean(reward_range=RANGE, largest_weight=largest)
        mean.add(w, log.rewards)
        assert (found.lower, found.upper) == mean.interval(0.1)
        assert found.ipw == pytest.approx((w * log.rewards).mean())
        assert found.snipw == pytest.approx((w * log.rewards).sum() / w.sum())
        assert found.effective_rounds == pytest.approx(w.sum() ** 2 / (w**2).sum())
        assert (found.rounds, found.alpha, found.shared, found.certified) == (400, 0.1, 1, True)
        guided = value(log, policy, guess=guess, largest_weight=largest)
        f, expected = guess[every, log.index], (policy * guess).sum(axis=1)
        assert guided.dr == guided.estimate == pytest.approx(np.mean(expected + w * (log.rewards - f)))
        mean = RunningMean(reward_range=RANGE, largest_weight=largest)
        mean.add(w, log.rewards, guess=f, expected=expected)
        assert (guided.lower, guided.upper) == pytest.approx(mean.interval(0.05), abs=1e-12)


def test_uniform_logs_know_the_largest_weight_of_each_round():
    rng = np.random.default_rng(3)
    policy = rng.dirichlet(np.ones(4), size=500)
    log = Log(np.eye(4), rng.integers(4, size=500), rng.random(500), np.full(500, 0.25))
    w = 4.0 * policy[np.arange(500), log.index]
    mean = RunningMean(reward_range=RANGE)
    mean.add(w, log.rewards, largest=4.0 * policy.max(axis=1))
    found = value(log, policy)
    assert (found.lower, found.upper) == mean.interval(0.05)
    assert found.largest_weight == 4.0 * policy.max()
    assert value(log, policy, largest_weight=4.0).width == found.width
    other = rng.integers(4, size=500)
    mean = RunningMean(reward_range=RANGE, difference=True)
    mean.add(w, log.rewards, 4.0 * (other == log.index), largest=4.0 * np.ones(500))
    both = logs.compare(log, policy, other, by="weights", reward_range=RANGE).difference
    assert (both.lower, both.upper) == mean.interval(0.025)


def test_forms_of_a_policy_are_one():
    log, _, _ = uneven(2)
    first = np.arange(400) % 4
    steps = iter(first.tolist())
    right = value(log, first)
    for policy in (first.tolist(), np.eye(4)[first], np.eye(4)[first].tolist(), lambda actions: next(steps)):
        assert value(log, policy) == right
    guess = np.random.default_rng(0).random((400, 4))
    rows, steps = iter(guess.tolist()), iter(first.tolist())
    right = value(log, first, guess=guess)
    assert value(log, np.eye(4)[first], guess=guess) == pytest.approx(right)
    assert value(log, lambda actions: next(steps), guess=lambda actions: next(rows)) == pytest.approx(right)
    assert value(log, "uniform") == pytest.approx(value(log, np.full((400, 4), 0.25)))
    made = value(log, "logged")
    assert made.ipw == pytest.approx(log.rewards.mean())
    assert made.effective_rounds == pytest.approx(400)
    known = value(log, "uniform", guess=guess)
    assert known == pytest.approx(value(log, np.full((400, 4), 0.25), guess=guess))


def test_sets_of_different_sizes_and_one_action():
    sizes = [1, 3, 2] * 20
    sets = [np.eye(3)[:n] for n in sizes]
    log = Log(sets, [0] * 60, [0.5] * 60, propensities=[1.0 / n for n in sizes])
    last = [n - 1 for n in sizes]
    found = value(log, last)
    assert found.ipw == pytest.approx(0.5 / 3)  # only the rounds with one action count, each with weight 1
    assert found.largest_weight == 3.0
    assert value(log, "uniform").largest_weight == 1.0
    chances = [np.full(n, 1.0 / n) for n in sizes]
    assert value(log, chances) == value(log, "uniform")
    guesses = [np.full(n, 0.25) for n in sizes]
    assert value(log, chances, guess=guesses).dr == pytest.approx(0.5)
    one = Log([[1.0]], [0] * 1000, [0.25] * 1000, propensities=[1.0] * 1000)
    alone = value(one, [0] * 1000)
    assert alone.largest_weight == 1.0
    assert 0.2 < alone.lower < 0.25 < alone.upper < 0.3


def test_several_policies_share_alpha():
    log, _, _ = uneven(3)
    each = {f"always {k}": np.full(400, k) for k in range(4)}
    found = value(log, each, alpha=0.2)
    assert list(found) == list(each)
    for name, policy in each.items():
        assert (found[name].alpha, found[name].shared) == (0.05, 4)
        assert found[name]._replace(shared=1) == value(log, policy, alpha=0.05)
    with pytest.raises(ValueError, match=r"policy must be at least one policy, got \{\}"):
        value(log, {})
    with pytest.raises(
        ValueError, match=r"policy\['always 4'\]\[0\] must be an integer >= 0 and <= 3, got 4"
    ):
        value(log, {**each, "always 4": np.full(400, 4)})


def test_compare_bounds_the_difference_directly():
    """Two policies that agree in 9 rounds of 10: the difference is far narrower than the two intervals imply."""
    instance = unipac.envs.sphere(3, 4)
    log = logs.uniform(instance, 4000, seed=0)
    log = Log(np.eye(4), log.index, (log.rewards > 0).astype(float), log.propensities)
    first = np.zeros(4000, dtype=int)
    second = np.where(np.arange(4000) % 10 == 0, 1, 0)
    found = logs.compare(log, first, second, by="weights", reward_range=RANGE, alpha=0.08)
    assert found.first == value(log, first, alpha=0.02)._replace(shared=3)
    assert found.second == value(log, second, alpha=0.02)._replace(shared=3)
    assert (found.difference.alpha, found.difference.shared) == (0.04, 3)
    assert found.difference.width < 0.4 * (found.first.width + found.second.width)
    assert found.difference.ipw == pytest.approx(found.first.ipw - found.second.ipw)
    same = logs.compare(log, first, first, by="weights", reward_range=RANGE).difference
    assert same.estimate == 0.0
    assert same.width < 0.03
    assert same.lower == pytest.approx(-same.upper)
    swapped = logs.compare(log, second, first, by="weights", reward_range=RANGE, alpha=0.08)
    assert swapped.difference.lower == pytest.approx(-found.difference.upper)


def test_a_winner_against_what_was_decided():
    rng = np.random.default_rng(5)
    index = rng.integers(2, size=5000)
    rewards = (rng.random(5000) < np.array([0.3, 0.6])[index]).astype(float)
    log = Log(np.eye(2), index, rewards, np.full(5000, 0.5))
    told = {"by": "weights", "reward_range": RANGE}
    assert logs.compare(log, np.ones(5000, dtype=int), "logged", **told).winner == "first"
    assert logs.compare(log, np.zeros(5000, dtype=int), "logged", **told).winner == "second"
    assert logs.compare(log, "uniform", "logged", **told).winner is None
    guess = np.tile([0.3, 0.6], (5000, 1))
    plain = logs.compare(log, np.ones(5000, dtype=int), "uniform", **told).difference
    guided = logs.compare(log, np.ones(5000, dtype=int), "uniform", guess=guess, **told).difference
    assert guided.lower <= 0.15 <= guided.upper
    assert guided.width < plain.width


def test_a_guess_for_what_was_decided_does_not_know_the_draw():
    """The log has the propensities of the actions taken alone: what the guess expects of its choices is not known."""
    log, _, _ = uneven(9)
    guess = np.random.default_rng(2).random((400, 4))
    told = {"by": "weights", "reward_range": RANGE, "largest_weight": 20.0, "guess": guess}
    always = np.zeros(400, dtype=int)
    w = (log.index == 0) / log.propensities
    mean = RunningMean(reward_range=RANGE, largest_weight=20.0, difference=True)
    mean.add(w, log.rewards, np.ones(400), guess=guess[np.arange(400), log.index], expected=guess[:, 0])
    found = logs.compare(log, always, "logged", **told)
    assert (found.difference.lower, found.difference.upper) == pytest.approx(mean.interval(0.025))
    assert found.second == value(log, "logged", alpha=0.0125, largest_weight=20.0)._replace(shared=3)
    swapped = logs.compare(log, "logged", always, **told).difference
    assert (-swapped.upper, -swapped.lower) == (found.difference.lower, found.difference.upper)
    assert swapped.dr == -found.difference.dr
    assert logs.compare(log, "logged", "logged", **told).difference.estimate == 0.0


def covered(seed, told=1.0):
    """Whether all intervals of a log hold: of two policies, and of their difference."""
    log, _, means = uneven(seed)
    log = Log(np.eye(4), log.index, log.rewards, np.minimum(log.propensities * told, 1.0))
    best, worst = means.argmax(axis=1), means.argmin(axis=1)
    every = np.arange(400)
    found = logs.compare(log, best, worst, by="weights", reward_range=RANGE, largest_weight=40.0)
    high, low = means[every, best].mean(), means[every, worst].mean()
    pairs = ((found.first, high), (found.second, low), (found.difference, high - low))
    return all(one.lower <= truth <= one.upper for one, truth in pairs)


def test_intervals_hold():
    """Null: all three hold with probability at least .95; 200 logs, rejected at 1e-6. Control: p told half as large."""
    misses = sum(not covered(seed) for seed in range(200))
    assert metrics.binomial_upper_tail(misses, 200, 0.05) > 1e-6, misses
    wrong = sum(not covered(seed, told=0.5) for seed in range(200))
    assert metrics.binomial_upper_tail(wrong, 200, 0.05) <= 1e-6, wrong


def test_bounds_that_contradict_each_other_are_not_shown():
    """Propensities told a twentieth as large: the bounds cross."""
    log = Log(np.eye(2), [0] * 300, [0.5, 1.0, 0.5] * 100, np.full(300, 0.05))
    found = value(log, np.zeros(300, dtype=int))
    assert not found.certified
    assert math.isnan(found.lower)
    assert math.isnan(found.upper)
    assert found.mean_weight == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"propensities": None}, {}, r"log must be one with propensities"),
        ({"propensities": [0.5, 0.0, 0.5]}, {}, r"propensities\[1\] must be above 0 and at most 1, got 0.0"),
        ({"propensities": [0.5, 0.5, -0.1]}, {}, r"propensities\[2\] must be above 0 and at most 1, got -0.1"),
        ({"propensities": [1.5, 0.5, 0.5]}, {}, r"propensities\[0\] must be above 0 and at most 1, got 1.5"),
        ({"propensities": [0.5, 1.0, 0.5]}, {}, r"policy in round 1 must be all on action 1, which the log took"),
        ({"rewards": [0.0, 0.5, 1.5]}, {}, r"rewards\[2\] must be in reward_range, from 0 to 1, got 1.5"),
        ({}, {"policy": [0, 0]}, r"policy must be of length 3, as the log, got 2"),
        ({}, {"policy": [0, 0, 2]}, r"policy\[2\] must be an integer >= 0 and <= 1, got 2"),
        ({}, {"policy": np.array([0, 0, -1])}, r"policy\[2\] must be an integer >= 0"),
        ({}, {"policy": [[0.5, 0.5], [0.5, 0.4], [1, 0]]}, r"policy\[1\] must be an index or 2 probabilities"),
        ({}, {"policy": [[0.5, 0.5], [1.5, -0.5], [1, 0]]}, r"policy\[1\] must be an index or 2 probabilities"),
        ({}, {"policy": np.full((3, 2), np.nan)}, r"policy\[0\] must be an index or 2 probabilities"),
        ({}, {"policy": lambda X: [0.5, np.nan]}, r"policy in round 0 must be an index or 2 probabilities"),
        ({}, {"policy": lambda X: 7}, r"policy in round 0 must be an integer >= 0 and <= 1, got 7"),
        ({}, {"policy": "best"}, r"policy must be one of 'logged', 'uniform', got 'best'"),
        ({}, {"policy": 3}, r"policy must be a function or an array, got 3"),
        ({}, {"guess": np.full((3, 2), 2.0)}, r"guess\[0, 0\] must be in reward_range"),
        ({}, {"guess": np.full((3, 2), np.nan)}, r"guess\[0, 0\] must be in reward_range"),
        ({}, {"guess": [[0.5, 0.5]]}, r"guess must be of length 3, as the log, got 1"),
        ({}, {"guess": lambda X: [0.5]}, r"guess in round 0 must be of shape \(2,\), got \(1,\)"),
        ({}, {"reward_range": (1, 0)}, r"reward_range must be \(low, high\)"),
        ({}, {"largest_weight": 0.5}, r"largest_weight must be from 1"),
        ({}, {"largest_weight": 1.5}, r"weight\[0\] must be from 0 to 1.5, the largest possible, got 2.0"),
        ({}, {"alpha": 0.0}, r"alpha must be strictly between 0 and 1"),
        ({}, {"by": "luck"}, r"by must be one of 'model', 'weights', got 'luck'"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_the_place(changes, options, message):
    log = Log(
        np.eye(2), **{"index": [0, 1, 0], "rewards": [0.0, 1.0, 0.5], "propensities": [0.5] * 3, **changes}
    )
    told = {"policy": [0, 0, 0], "by": "weights", "reward_range": RANGE, **options}
    with pytest.raises(ValueError, match=message):
        logs.value(log, told.pop("policy"), **told)


def test_an_empty_log_is_refused():
    with pytest.raises(ValueError, match="log must be a Log with at least one round"):
        value(Log(np.eye(2), [], [], propensities=[]), "uniform")


def test_check_warns_of_weights():
    log, _, _ = uneven(6, 3000)
    always = np.zeros(3000, dtype=int)
    assert logs.check(log, policy=always) == []
    assert logs.check(log, policy="uniform") == []
    for told, words in ((0.6, "propensities are too small"), (1.6, "propensities are too large")):
        wrong = Log(np.eye(4), log.index, log.rewards, np.minimum(log.propensities * told, 0.99))
        (found,) = [one for one in logs.check(wrong, policy=always) if one.name == "weights"]
        assert words in found.message
    never = Log(np.eye(2), [0] * 50, [0.0, 1.0] * 25, [0.9] * 50)
    found = logs.check(never, policy=np.ones(50, dtype=int))[-1]
    assert found == ("weights", "the log never took what the policy takes: all weights are 0")
    few = Log(np.eye(2), [1] + [0] * 49, [0.0, 1.0] * 25, [0.001] + [0.999] * 49)
    found = logs.check(few, policy=np.ones(50, dtype=int))[-1]
    assert found == ("effective", "the weights are worth 1 of 50 rounds; the least propensity is 0.001")
    broken = Log(np.eye(2), [0, 1], [0.0, 1.0], [0.5, 0.0])
    assert [one.name for one in logs.check(broken, policy="uniform")] == ["propensity"]
