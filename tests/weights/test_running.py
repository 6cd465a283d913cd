"""`weights.RunningMean`: equal to its judge, right at all times, narrow, and what it refuses."""

import copy
import pickle

import numpy as np
import pytest

from helpers import weighed
from helpers.judges import weights as judge
from unipac import metrics
from unipac.weights import RunningMean

FALSE_ALARM = 1e-6


def rounds_of(seed, count=300, *, p=0.2, mean=0.4):
    rng = np.random.default_rng((11, seed))
    w = (rng.random(count) < p) / p
    v = (rng.random(count) < p) / p
    r = np.round(np.clip(rng.normal(mean, 0.3, count), 0.0, 1.0), 3)
    guess, expected, other = rng.random((3, count))
    return w, r, v, guess, expected, other


def close(found, right):
    assert found == pytest.approx(right, rel=1e-10, abs=1e-12)


@pytest.mark.nojit
@pytest.mark.boundscheck
@pytest.mark.parametrize("largest", [5.0, 70.0, None])
@pytest.mark.parametrize("mean", [0.02, 0.5, 0.97])
def test_bounds_are_those_of_the_judge(largest, mean):
    W = np.inf if largest is None else largest
    for count in (1, 7, 300):
        w, r, v, f, m, n = rounds_of(3, count, mean=mean)
        for guided in (False, True):
            told = {"guess": f, "expected": m} if guided else {}
            alone = RunningMean(reward_range=(0, 1), largest_weight=largest)
            alone.add(w, r, **told)
            close((alone.lower(0.1), alone.upper(0.1)), judge.value(w, r, W, 0.1, **told))
            both = RunningMean(reward_range=(0, 1), largest_weight=largest, difference=True)
            told |= {"other_expected": n} if guided else {}
            both.add(w, r, v, **told)
            close((both.lower(0.1), both.upper(0.1)), judge.difference(w, r, v, W, 0.1, **told))


@pytest.mark.nojit
def test_the_largest_weight_may_change():
    w, r, v, *_ = rounds_of(4)
    largest = np.random.default_rng(0).uniform(5.0, 50.0, 300)
    for told, bound in ((None, largest), (20.0, np.minimum(largest, 20.0))):
        alone = RunningMean(reward_range=(0, 1), largest_weight=told)
        alone.add(w, r, largest=largest)
        close((alone.lower(0.1), alone.upper(0.1)), judge.value(w, r, bound, 0.1))
        both = RunningMean(reward_range=(0, 1), largest_weight=told, difference=True)
        both.add(w, r, v, largest=largest)
        close((both.lower(0.1), both.upper(0.1)), judge.difference(w, r, v, bound, 0.1))


@pytest.mark.nojit
def test_what_was_decided_needs_no_guess():
    """Its z is 0, and the centre knows nothing of the guess for the action that was drawn."""
    w, r, _, f, m, _ = rounds_of(6)
    mean = RunningMean(reward_range=(0, 1), largest_weight=5.0, difference=True)
    mean.add(w, r, np.ones(300), guess=f, expected=m)
    made = (judge.before(r) + 0.5) / (np.arange(300) + 1.0)
    known = m + judge.before(w * (r - f)) / (judge.before(w) + 1.0)
    bounds = []
    for u, z, centre in (
        (w * r + 1 - r, m - w * f, 1 + known - made),
        (r + w * (1 - r), (1 - m) - w * (1 - f), 1 + made - known),
    ):
        bounds.append(judge.least_mean(u, z, np.clip(centre, 0.0, 2.0), 2.0, 5.0, 0.1) - 1.0)
    close((mean.lower(0.1), mean.upper(0.1)), (bounds[0], -bounds[1]))
    close(mean.dr, np.mean(m + w * (r - f)) - r.mean())
    with pytest.raises(
        ValueError, match=r"other must be 1, as for what was decided, or other_expected given"
    ):
        mean.add(1.0, 0.5, 2.0, guess=0.5, expected=0.5)


@pytest.mark.nojit
def test_estimates():
    w, r, v, f, m, n = rounds_of(5)
    raw = 3.0 * r - 1.0  # rewards in [-1, 2]
    mean = RunningMean(reward_range=(-1, 2), difference=True)
    mean.add(w, raw, v, guess=3 * f - 1, expected=3 * m - 1, other_expected=3 * n - 1)
    close(mean.ipw, (w * raw).mean() - (v * raw).mean())
    close(mean.snipw, (w * raw).sum() / w.sum() - (v * raw).sum() / v.sum())
    close(mean.dr, 3 * np.mean(m + w * (r - f) - n - v * (r - f)))
    close(mean.mean_weight, w.mean())
    close(mean.effective_rounds, min(w.sum() ** 2 / (w**2).sum(), v.sum() ** 2 / (v**2).sum()))
    alone = RunningMean(reward_range=(-1, 2))
    alone.add(w, raw)
    close((alone.ipw, alone.snipw), ((w * raw).mean(), (w * raw).sum() / w.sum()))


def test_one_by_one_in_parts_saved_and_copied_are_bit_for_bit_the_same(tmp_path):
    w, r, v, f, m, n = rounds_of(7, 700)
    for difference in (False, True):
        for guided in (False, True):
            columns = [w, r] + ([v] if difference else [])
            named = {"guess": f, "expected": m} if guided else {}
            named |= {"other_expected": n} if guided and difference else {}
            named |= {"largest": 5.0 + f} if guided else {}

            def told(mean, part, columns=columns, named=named):
                mean.add(*(one[part] for one in columns), **{name: one[part] for name, one in named.items()})

            made = [
                RunningMean(reward_range=(0, 1), largest_weight=5.0, difference=difference) for _ in range(3)
            ]
            told(made[0], slice(None))
            for s in range(700):
                told(made[1], s)
            told(made[2], slice(0, 333))
            made[2].save(tmp_path / "mean.npz", replace=True)
            parts = [
                RunningMean.load(tmp_path / "mean.npz"),
                copy.deepcopy(made[2]),
                pickle.loads(pickle.dumps(made[2])),
            ]
            for part in parts:
                told(part, slice(333, None))
            for other in (made[1], *parts):
                assert [one.tolist() for one in other._state] == [one.tolist() for one in made[0]._state]
            assert made[2].rounds == 333  # copies have their own memory
            assert parts[0].interval() == made[0].interval()


def test_scaled_rewards_have_scaled_bounds():
    w, r, *_ = rounds_of(8)
    plain, scaled = RunningMean(reward_range=(0, 1)), RunningMean(reward_range=(-10, 30))
    plain.add(w, r)
    scaled.add(w, 40 * r - 10)
    close(scaled.interval(0.1), [40 * bound - 10 for bound in plain.interval(0.1)])


def test_no_rounds_one_action_and_huge_weights():
    empty = RunningMean(reward_range=(2, 5))
    assert empty.interval() == (2.0, 5.0)
    assert np.isnan([empty.ipw, empty.snipw, empty.dr, empty.mean_weight]).all()
    assert empty.effective_rounds == 0.0
    empty.add([], [])
    assert empty.rounds == 0
    sure = RunningMean(reward_range=(0, 1), largest_weight=1.0)  # one action: w = 1
    sure.add(np.ones(5000), np.full(5000, 0.25))
    lower, upper = sure.interval()
    assert 0.24 < lower < 0.25 < upper < 0.26  # without noise the width falls as 1/t
    same = RunningMean(reward_range=(0, 1), difference=True)
    same.add(np.ones(1000), np.tile([0.0, 1.0], 500), 1.0 * np.ones(1000))
    assert -0.02 < same.lower(0.025) < 0.0 < same.upper(0.025) < 0.02
    huge = RunningMean(reward_range=(0, 1))
    for _ in range(5):
        huge.add(np.array([1e50, 0.0]), np.array([1.0, 0.0]))
    assert huge.lower(0.05) == 1.0  # ruled out by far, still within the range
    assert huge.upper(0.05) == 1.0


def test_without_overlap_nothing_is_concluded_from_weights_of_zero():
    """The policy takes what the log never took: unless a largest weight is announced, weights of 0 bound nothing.

    The family of bets that small weights would win is then left out. Control: an announcement that is not true, as
    1/p has no bound here, rules out what such an action may earn.
    """
    weights, rewards = np.zeros(2000), np.zeros(2000)
    for arguments, honest in (({}, True), ({"largest_weight": 2.0}, False)):
        alone = RunningMean(reward_range=(0, 1), **arguments)
        alone.add(weights, rewards)
        assert (alone.interval(0.05) == (0.0, 1.0)) == honest
        assert (alone.upper(0.05) >= 0.9) == honest
        both = RunningMean(reward_range=(0, 1), difference=True, **arguments)
        both.add(weights, rewards, np.ones(2000))
        assert (both.upper(0.05) >= 0.9) == honest  # what was decided earns 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weight": -0.1}, r"weight must be from 0 to 5, the largest possible, got -0.1"),
        ({"weight": np.nan}, r"weight must be from 0 to 5, the largest possible, got nan"),
        ({"weight": 5.1}, r"weight must be from 0 to 5, the largest possible, got 5.1"),
        ({"weight": [1.0, 6.0], "reward": [0.0, 0.0]}, r"weight\[1\] must be from 0 to"),
        ({"weight": [[1.0]]}, r"weight must be a number or of shape \(T,\)"),
        ({"weight": "1"}, r"weight must be an array of real numbers"),
        ({"weight": 3.0, "largest": 2.0}, r"weight must be from 0 to 2, the largest possible, got 3.0"),
        ({"largest": 0.0}, r"largest must be > 0, got 0.0"),
        ({"largest": [np.nan], "weight": [1.0]}, r"largest must be > 0"),
        ({"reward": 1.5}, r"reward must be in reward_range, from 0 to 1, got 1.5"),
        ({"reward": np.nan}, r"reward must be in reward_range, from 0 to 1, got nan"),
        ({"weight": [1.0, 1.0], "reward": [0.5, -1]}, r"reward\[1\] must be in reward_range"),
        ({"reward": [0.5, 0.5]}, r"reward must be of length 1, as weight is, got \(2,\)"),
        ({"other": 1.0}, r"other must be left out: this is not a difference, got 1.0"),
        ({"guess": 0.5}, r"expected must be given with a guess alone, got None"),
        ({"expected": 0.5}, r"expected must be given with a guess alone, got 0.5"),
        ({"guess": 2.0, "expected": 0.5}, r"guess must be in reward_range"),
        ({"guess": 0.5, "expected": 0.5, "other_expected": 0.5}, r"other_expected must be left out without"),
    ],
)  # fmt: skip
def test_bad_rounds_are_refused_and_nothing_is_taken(arguments, message):
    mean = RunningMean(reward_range=(0, 1), largest_weight=5.0)
    mean.add(2.0, 0.5)
    before = [one.tolist() for one in mean._state]
    with pytest.raises(ValueError, match=message):
        mean.add(**{"weight": 1.0, "reward": 0.5, **arguments})
    assert [one.tolist() for one in mean._state] == before


def test_bad_parameters_and_levels_are_refused():
    for bad in (None, 1, (1, 1), (0, np.inf)):
        with pytest.raises(ValueError, match="reward_range must be"):
            RunningMean(reward_range=bad)
    for bad in (0.5, np.nan, "2"):
        with pytest.raises(ValueError, match="largest_weight must be"):
            RunningMean(reward_range=(0, 1), largest_weight=bad)
    with pytest.raises(ValueError, match="difference must be True or False"):
        RunningMean(reward_range=(0, 1), difference=1)
    mean = RunningMean(reward_range=(0, 1), difference=True)
    with pytest.raises(ValueError, match="other must be the weight of the other policy, got None"):
        mean.add(1.0, 0.5)
    for bad in (0.0, 1.0, np.nan, "0.1"):
        for method in (mean.lower, mean.upper, mean.interval):
            with pytest.raises(ValueError, match="alpha must be"):
                method(bad)


def test_files_of_others_are_refused(tmp_path):
    import unipac
    from unipac import _storage

    path = tmp_path / "agent.npz"
    unipac.OFUL(2).save(path)
    with pytest.raises(ValueError, match="path must be that of a running mean"):
        RunningMean.load(path)
    mean = RunningMean(reward_range=(0, 1))
    mean.add(1.0, 1.0)
    mean.save(path, replace=True)
    header, arrays = _storage.read(path)
    header = {"kind": header["kind"], "parameters": header["parameters"]}
    for name, bad in (
        ("products", np.zeros((2, 32))),
        ("logs", np.zeros(3)),
        ("totals", np.full(15, np.nan)),
    ):
        files = _storage.Files()
        altered = {**arrays, name: bad}
        _storage.write(path, header, altered, files=files, replace=True, verify=lambda *_: None)
        with pytest.raises(ValueError, match=rf"a running mean.*{name} must be sound"):
            RunningMean.load(path)
    with pytest.raises(ValueError, match="path must name a file written by save"):
        unipac.load(path)


# -- right at all times ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", weighed.WORLDS)
def test_bounds_hold_at_all_times(name):
    """Null: a run ever fails with probability at most α; 300 runs of 400 rounds, rejected at 1e-6 (exact binomial)."""
    world = weighed.WORLDS[name](300, 400, seed=0)
    for alpha in (0.5, 0.05):
        failed = weighed.failing_runs(world, alpha)
        assert metrics.binomial_upper_tail(failed, 300, alpha) > FALSE_ALARM, (failed, alpha)


@pytest.mark.parametrize("name", weighed.CONTROLS)
def test_wrong_propensities_do_not_pass(name):
    """Negative control of the same test: 300 runs of 3,000 rounds."""
    failed = weighed.failing_runs(weighed.CONTROLS[name](300, 3000, seed=0), 0.05)
    assert metrics.binomial_upper_tail(failed, 300, 0.05) <= FALSE_ALARM, failed


@pytest.mark.slow
@pytest.mark.parametrize("name", weighed.WORLDS)
def test_bounds_hold_over_many_runs(name):
    """The same null, 1,000 runs of 2,000 rounds, looked at after every round."""
    world = weighed.WORLDS[name](1000, 2000, seed=1)
    for alpha in (0.5, 0.05):
        failed = weighed.failing_runs(world, alpha)
        print(f"{name}, alpha {alpha}: {failed} of 1,000")
        assert metrics.binomial_upper_tail(failed, 1000, alpha) > FALSE_ALARM


# -- narrow ------------------------------------------------------------------------------------------------------


def ratio(n, p, rounds, seed, guess=None):
    """The width, over that of the normal interval of the mean of w r at this one time."""
    rng = np.random.default_rng((13, seed))
    w = (rng.integers(n, size=rounds) == 0) * float(n)
    chance = np.where(rng.random(rounds) < 0.5, 0.2 * p, 1.8 * p)  # two kinds of rounds
    r = (rng.random(rounds) < chance).astype(float)
    mean = RunningMean(reward_range=(0, 1), largest_weight=n)
    mean.add(w, r, **({"guess": chance, "expected": chance} if guess else {}))
    lower, upper = mean.interval(0.05)
    return (upper - lower) / (2 * 1.96 * (w * r).std() / np.sqrt(rounds))


@pytest.mark.parametrize(("n", "p"), [(5, 0.05), (5, 0.3), (20, 0.3), (50, 0.05), (50, 0.3)])
def test_width_is_at_most_twice_that_of_the_normal_interval(n, p):
    """10,000 rounds, propensities from .02 on; mean over three runs."""
    plain = np.mean([ratio(n, p, 10_000, seed) for seed in range(3)])
    good = np.mean([ratio(n, p, 10_000, seed, guess=True) for seed in range(3)])
    assert plain < 2.0
    assert good < plain


def ruled_out_after(share, seed, rounds=10_000, n=5):
    """Rounds until the incumbent, worse by .3 than what the agent takes, has an advantage below 0; inf if never."""
    rng = np.random.default_rng((17, seed))
    taken = np.where(rng.random(rounds) < share, rng.integers(n, size=rounds), 0)
    r = (rng.random(rounds) < np.where(taken == 0, 0.6, 0.3)).astype(float)
    w = (taken == 1) / (share / n)
    mean = RunningMean(reward_range=(0, 1), largest_weight=n / share, difference=True)
    for begin in range(0, rounds, 250):
        part = slice(begin, begin + 250)
        mean.add(w[part], r[part], np.ones(250))
        if mean.upper(0.025) < 0.0:
            return begin + 250
    return np.inf


def test_a_worse_incumbent_is_ruled_out():
    """Holdout 10 %: within 10,000 rounds in at least 95 of 100 runs."""
    assert sum(ruled_out_after(0.1, seed) <= 10_000 for seed in range(100)) >= 95
