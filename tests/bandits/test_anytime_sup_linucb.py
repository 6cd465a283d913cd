"""AnytimeSupLinUCB decides as the slow transcription in ``helpers.judges.bandits``."""

import copy

import numpy as np
import pytest

import unipac
from helpers import regressions
from helpers.actions import action_sets
from helpers.judges import bandits as judges

VARIANTS = {
    "mixture": {"nested": False, "exploit": "level", "gate": 1.0},
    "nested": {"nested": True, "exploit": "all", "gate": 2.0},
    "round": {"radius": "round", "nested": False, "exploit": "level", "gate": 1.0},
    "pool": {"radius": "pool", "nested": False, "exploit": "all", "gate": 1.0, "pool": 40},
    "both": {"radius": "both", "nested": False, "exploit": "all", "gate": 1.0},
}


@pytest.mark.parametrize("kind", ["norms", "collinear", "unit", "arms"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_anytime_decides_as_the_pseudo_code(variant, kind):
    case = [*VARIANTS].index(variant) * 4 + ["norms", "collinear", "unit", "arms"].index(kind)
    rng = np.random.default_rng(case)
    dim = [1, 2, 3, 5][(case // 2) % 4]
    common = {"noise": 0.2, "delta": 0.1, "norm": 1.1, "regularization": [0.1, 2.0, 1.0][case % 3]}
    agent = unipac.AnytimeSupLinUCB(dim, **VARIANTS[variant], **common)
    judge = judges.AnytimeSupLinUCB(dim, **VARIANTS[variant], **common)
    X = action_sets(rng, dim, 600, 5, kind)
    theta = rng.standard_normal(dim)
    rewards = X @ (theta / np.linalg.norm(theta)) + 0.2 * rng.standard_normal((600, 1))
    differ = 0
    for t in range(600):
        k, level, certificate = judge.choose(X[t])
        decision = agent.choose(X[t])
        if (decision.index, decision.level) == (k, level):
            assert decision.certificate == pytest.approx(certificate, abs=1e-7)
        else:  # unit vectors are equally wide up to rounding: the judge follows
            widths = judge.level(max(level, 1)).width(X[t, [k, decision.index]])
            tied = level == decision.level > 0 and abs(widths[0] - widths[1]) < 1e-9
            differ += not tied
        agent.update(decision, rewards[t, decision.index])
        judge.learn(X[t, decision.index], rewards[t, decision.index], decision.level)
    assert differ == 0
    assert len(agent.state.size) > 2


def test_files_and_copies(tmp_path):
    agent = unipac.AnytimeSupLinUCB(3, noise=0.2, gate=1.0)
    X = action_sets(np.random.default_rng(0), 3, 300, 4, "unit")
    agent.play(X[:150], X[:150] @ np.full(3, 0.5))
    agent.save(tmp_path / "sup.npz")
    for other in (unipac.load(tmp_path / "sup.npz"), copy.copy(agent)):
        ours, theirs = copy.copy(agent).play(X[150:], X[150:, :, 0]), other.play(X[150:], X[150:, :, 0])
        assert (ours.index == theirs.index).all()
        assert (ours.certificate == theirs.certificate).all()


def test_combinations_that_void_the_proof_are_refused():
    for radius in ("round", "both", "pool"):
        with pytest.raises(ValueError, match="nested must be False"):
            unipac.AnytimeSupLinUCB(2, radius=radius, nested=True, pool=3)
        agent = unipac.AnytimeSupLinUCB(2, radius=radius, nested=False, pool=3)
        with pytest.raises(ValueError, match="absorb"):
            agent.absorb([[1.0, 0.0]], [1.0])
    with pytest.raises(ValueError, match="pool must be given"):
        unipac.AnytimeSupLinUCB(2, radius="pool", nested=False)


VALID = {
    "nested": {"regularization": 0.05, "gate": 1.0},
    "both": {"regularization": 0.05, "gate": 1.0, "radius": "both", "nested": False},
}


@pytest.mark.parametrize("variant", VALID)
@pytest.mark.parametrize("runs", regressions.RUNS)
def test_certificates_hold(variant, runs):
    regressions.check_certificates(unipac.AnytimeSupLinUCB, runs, **VALID[variant])


@pytest.mark.parametrize("variant", VALID)
@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
@pytest.mark.parametrize("runs", regressions.RUNS)
def test_an_eighth_of_the_noise_does_not_hold(variant, runs):
    regressions.check_too_little_noise(unipac.AnytimeSupLinUCB, runs, **VALID[variant])


@pytest.mark.parametrize("radius", ["round", "both"])
def test_forgotten_decisions_count_where_the_radius_counts_rounds(radius):
    """Each of them had bounds, so each needs its share of δ: that of decision k is δ_l/(k(k+1))."""
    X, delta = np.eye(40), 0.05
    agent = unipac.AnytimeSupLinUCB(40, noise=1.0, radius=radius, nested=False, exploit="level", delta=delta)
    agent.play(X, np.zeros((300, 40)))
    part = delta / 2 / (2 if radius == "both" else 1)
    seen = []
    for k in (301, 1001):
        while agent._ledger.number() < k - 1:
            agent.forget(agent.choose(X))
        seen.append(agent._radius(1, 40))
        assert seen[-1] == pytest.approx(np.sqrt(2 * np.log(2 * 79 * k * (k + 1) / part)) + 1.0, rel=1e-12)
    assert seen[1] > seen[0] + 0.2
