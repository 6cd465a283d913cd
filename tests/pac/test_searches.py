"""What all searches for the best arm share: one arm, twins, targets, early stops, wrong answers."""

import numpy as np
import pytest

import unipac
from helpers.judges import searches as judges
from helpers.registry_cases import names
from helpers.searches import soare

NAMES = [name for name in names("search") if unipac.AGENTS[name].samples == "rewards"]


@pytest.mark.parametrize("name", NAMES)
def test_one_arm_needs_no_pull(name):
    search = unipac.AGENTS[name]([[0.3, 0.4]])
    assert search.done
    assert (search.answer.index, search.answer.certificate, search.answer.pulls) == (0, 0.0, 0)


@pytest.mark.parametrize("name", ["RAGE", "XYAdaptive", "ALBA", "ExploreVerify"])
def test_twins_do_not_drop_each_other(name):
    """The counterexample to elimination with ">=" and to an eps inside of it: the answer had a gap of 0.5."""
    instance = unipac.envs.fixed_arms([[0.99, 0.0], [0.99, 0.001], [0.0, 0.99]], [0.5, 0.0])
    for seed in range(6):
        search = unipac.AGENTS[name].made_for(instance, eps=0.05)
        answer = search.run(instance, seed=seed)
        assert search.done
        assert answer.index in (0, 1)
        assert answer.certificate <= 0.05


@pytest.mark.parametrize("name", ["RAGE", "XYAdaptive", "ExploreVerify", "GAllocation"])
def test_a_direction_below_the_tolerance_is_a_bias_not_a_width(name):
    """Arms (1, 0) and (1, 3e-9), theta = (0, S): nothing can tell them apart, and nothing claims to."""
    X = np.array([[1.0, 0.0], [1.0, 3e-9]])
    search = unipac.AGENTS[name](X, norm=1e6, eps=0.01)
    assert search.answer.certificate == pytest.approx(3e-3)  # S times their distance: below eps already
    search = unipac.AGENTS[name](X, norm=1e6)
    for _ in range(3):
        batch = search.ask()
        search.tell(batch.counts * (X[batch.arms] @ [0.0, 1e6]))
        assert not search.done
        assert search.answer.certificate >= 3e-3 * (1 - 1e-6) or search.answer.index == 1


@pytest.mark.parametrize("name", NAMES)
def test_early_stop_and_files(name, tmp_path):
    instance = unipac.envs.soare(dim=3, angle=0.1)
    search = unipac.AGENTS[name].made_for(instance)
    answer = search.run(instance, seed=0, max_pulls=400)
    assert not search.done
    assert answer.pulls <= 400
    gap = 1.0 - instance.actions[answer.index, 0]
    assert gap <= answer.certificate <= 2.0
    search.save(tmp_path / "search.npz")
    other = unipac.load(tmp_path / "search.npz")
    assert other.answer.index == answer.index
    assert other.answer.certificate == answer.certificate
    assert other.ask().counts.tolist() == search.ask().counts.tolist()


def test_bad_input():
    with pytest.raises(ValueError, match="targets must be such that their differences lie in the span"):
        unipac.RAGE([[1.0, 0.0], [0.5, 0.0]], targets=[[0.0, 0.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="growth must be above 1 and at most 10"):
        unipac.GAllocation([[1.0], [0.5]], growth=1.0)


@pytest.mark.parametrize("name", NAMES)
def test_the_best_target_and_files(name, tmp_path):
    """Every search finds the best of vectors that it cannot pull, and a saved one goes on."""
    targets = [[0.9, 0.1, 0.0], [0.0, 0.9, 0.3], [0.2, 0.2, 0.9], [0.5, 0.0, 0.5]]
    instance = unipac.envs.fixed_arms(soare(0.5), [0.3, -0.2, 0.8], noise=0.3)
    search = unipac.AGENTS[name].made_for(instance, targets=targets, eps=0.01)
    search.run(instance, seed=1, max_pulls=60)
    search.save(tmp_path / "search.npz")
    search = unipac.load(tmp_path / "search.npz")
    answer = search.run(instance, seed=1)
    assert search.done
    assert answer.index == 2
    assert answer.certificate <= 0.01


WRONG = {"delta": 0.05, "runs": 1000}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_wrong_answers_are_rare(name):
    """Null: an answer is wrong with probability at most 0.05. 1,000 runs, refused if a binomial with 0.05 has more
    wrong answers with probability below 1e-3: above 72. Soare, d = 3, angle 0.6, noise 1.
    """
    instance = unipac.envs.soare(dim=3, angle=0.6)
    wrong = 0
    for seed in range(WRONG["runs"]):
        search = unipac.AGENTS[name].made_for(instance, delta=WRONG["delta"], seed=seed)
        wrong += search.run(instance, seed=seed).index != 0
    assert wrong <= 72


@pytest.mark.slow
def test_wrong_answers_are_not_rare_with_a_log_term_that_is_too_small():
    """Negative control: with the log term times 0.03 the same test fails: delta becomes exp(-0.03 lg) or so."""
    X, theta, wrong = soare(0.6), np.eye(3)[0], 0
    for seed in range(1000):
        tests = judges.static(X, X, 0.05, 1.0, 1.0, 0.0, "XY", np.random.default_rng(seed))
        judges.math.log, keep = lambda v: 0.03 * np.log(v), judges.math.log
        try:
            wrong += judges.run(tests, X, theta, 1.0, seed)[0] != 0
        finally:
            judges.math.log = keep
    assert wrong > 72
