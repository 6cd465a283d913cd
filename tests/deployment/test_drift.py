"""The drift alarm: rings for a turned parameter, falsely with probability at most α."""

import ast
import math
from pathlib import Path

import numpy as np
import pytest

import unipac
from helpers.any_checks import few_enough
from unipac.deployment import drift
from unipac.deployment.drift import EVERY, FLOOR, Alarm

D, R, ALPHA, CHANGE = 5, 0.5, 0.05, 3000


def rings_at(seed, rounds, *, noise=R, told=None, turn=0.0, change=CHANGE, alpha=ALPHA):
    """After how many rounds it rings, or None; actions are the best of ten for the first parameter, of norm 1."""
    rng = np.random.default_rng(seed)
    told = noise if told is None else told
    before = np.eye(D)[0]
    after = math.cos(turn) * before + math.sin(turn) * np.eye(D)[1]
    alarm = Alarm(D, told, 1.0, alpha)
    for first in range(0, rounds, 500):
        X = rng.standard_normal((500, 10, D))
        X /= np.linalg.norm(X, axis=2, keepdims=True)
        X = X[np.arange(500), (X @ before).argmax(axis=1)]
        means = np.where(np.arange(first, first + 500) < change, X @ before, X @ after)
        y = means + noise * rng.standard_normal(500)
        for k in range(500):
            alarm.learn(X[k], y[k], first + k)
        if alarm.state.alarm:
            return alarm.state.seq + 1
    return None


@pytest.mark.parametrize("seeds", [25, pytest.param(1000, marks=pytest.mark.slow)])
def test_false_alarms(seeds):
    """Null: it rings within 10^4 rounds in at most α of the runs."""
    false = sum(rings_at(seed, 10_000) is not None for seed in range(seeds))
    print(f"false alarms {false} of {seeds}")
    assert false <= ALPHA * seeds
    few_enough(false, seeds, ALPHA, "false alarms")


@pytest.mark.parametrize("seeds", [25, pytest.param(400, marks=pytest.mark.slow)])
def test_turns_are_found(seeds):
    """A turn by 60° in at least 95 % within 500 rounds."""
    found = [rings_at(10**4 + seed, 3500, turn=math.pi / 3) for seed in range(seeds)]
    delays = [at - CHANGE for at in found if at is not None]
    print(f"60° found {len(delays)} of {seeds}, median delay {np.median(delays)}, least {min(delays)}")
    assert min(delays) > 0  # not before
    assert len(delays) >= 0.95 * seeds


@pytest.mark.boundscheck
def test_understated_noise_rings():
    """Negative control: told 0.4 of the noise, it rings in more than half of the runs without any change."""
    false = sum(rings_at(2 * 10**4 + seed, 10_000, told=0.4 * R) is not None for seed in range(20))
    print(f"understated noise: {false} of 20")
    assert false > 10


@pytest.mark.parametrize("noise", [1e-5, 1e-9])
@pytest.mark.parametrize("runs", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_false_alarms_with_little_noise(noise, runs):
    """Null: with R far below ‖μ*‖ = 1 it rings within 20,000 rounds in at most α = .01 of the runs.

    A floor of 1e-10 in normal equations rang in all runs with R = 1e-5, at the first look, after 525 rounds.
    """
    false = sum(
        rings_at(3 * 10**4 + seed, 20_000, noise=noise, alpha=0.01) is not None for seed in range(runs)
    )
    print(f"R = {noise}: false alarms {false} of {runs}")
    few_enough(false, runs, 0.01, "false alarms")


@pytest.mark.parametrize("noise", [1e-5, 1e-9])
@pytest.mark.parametrize("runs", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_turns_are_found_with_little_noise(noise, runs):
    """Control of the test above: a turn by 60° is found at the next look, and understated noise rings."""
    found = [
        rings_at(4 * 10**4 + seed, 3500, noise=noise, turn=math.pi / 3, alpha=0.01) for seed in range(runs)
    ]
    assert all(at is not None and CHANGE < at <= CHANGE + EVERY for at in found)
    wrong = [
        rings_at(5 * 10**4 + seed, 10_000, noise=noise, told=0.3 * noise, alpha=0.01) for seed in range(5)
    ]
    assert all(at is not None for at in wrong)


def test_the_floor_is_in_the_threshold():
    """The threshold has f S²/(2R²), which counts only where noise is absurdly small; then nothing rings."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.7, 0.7, (300, 2))
    for noise, norm in ((1e-12, 3.0), (1e-200, 1.0), (0.5, 1.0)):
        alarm = Alarm(2, noise, 1.0, ALPHA, norm)
        for k in range(300):
            alarm.learn(X[k], 0.6 * X[k, 0] + 0.8 * X[k, 1], k)
        floor = FLOOR * max(1.0, (X[:200] ** 2).sum() / 2)
        with np.errstate(over="ignore"):
            right = math.log(6 / ALPHA) + 0.5 * (math.sqrt(floor) * norm / np.float64(noise)) ** 2
        assert alarm.state.threshold == pytest.approx(right)
        assert not alarm.state.alarm


def test_a_change_in_a_few_directions():
    """Rounds span one line of twenty: what rounding leaves in the other directions explains no change."""
    x = np.random.default_rng(5).standard_normal(20)
    x /= np.linalg.norm(x)
    alarm, noise = Alarm(20, 0.1, 1.0, ALPHA), np.random.default_rng(6)
    for k in range(4000):
        alarm.learn(x, (1.0 if k < 2000 else -1.0) + 0.1 * noise.standard_normal(), k)
    assert 2000 <= alarm.state.seq < 2000 + 2 * EVERY


def test_nothing_is_learned_until_it_is_kept():
    """``after`` may be thrown away, at a test, too: the next round then counts as if it had not been."""
    rng = np.random.default_rng(1)
    one, other = Alarm(2, R, 1.0, ALPHA), Alarm(2, R, 1.0, ALPHA)
    for k in range(460):
        x, y = rng.uniform(-0.7, 0.7, 2), rng.standard_normal()
        one.learn(x, y, k)
        other.after(-x, 7.0, k)
        other.learn(x, y, k)
    numbers, arrays = one.saved()
    others, twins = other.saved()
    assert numbers == others
    assert all(np.array_equal(arrays[name], twins[name]) for name in arrays)
    again = Alarm(2, R, 1.0, ALPHA)
    again.restore(numbers, arrays)
    for k in range(460, 900):
        x, y = rng.uniform(-0.7, 0.7, 2), rng.standard_normal()
        one.learn(x, y, k)
        again.learn(x, y, k)
    assert one.state == again.state
    assert one.state.statistic > -100


def test_no_blas():
    """No product that may start threads: not in the kernels, nor around them."""
    nodes = list(ast.walk(ast.parse(Path(drift.__file__).read_text())))
    assert not [node for node in nodes if isinstance(node, ast.MatMult)]
    words = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    words |= {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert not words & {"dot", "matmul", "linalg", "einsum", "tensordot", "lapack", "blas"}


@pytest.mark.boundscheck
def test_statistic_is_its_definition():
    """Against a plain minimum over θ, and no more than at the truth."""
    rng = np.random.default_rng(0)
    alarm = Alarm(2, R, 0.7, ALPHA)
    X, y = rng.uniform(-0.7, 0.7, (300, 2)), rng.standard_normal(300)
    for k in range(300):
        alarm.learn(X[k], y[k], k)

    def at(theta):
        total = 0.0
        for part in (slice(0, 200), slice(200, 300)):
            G, b = X[part].T @ X[part], X[part].T @ y[part]
            V = G + 0.7 * np.eye(2)
            gap = b - G @ theta
            total += gap @ np.linalg.solve(V, gap) / (2 * R**2) - 0.5 * np.log(np.linalg.det(V / 0.7))
        return total

    grid = np.linspace(-3, 3, 121)
    least = min(at(np.array([a, b])) for a in grid for b in grid)
    assert alarm.state.statistic <= least + 1e-9
    assert alarm.state.statistic == pytest.approx(least, abs=0.05)
    assert alarm.state.threshold == pytest.approx(math.log(2 * 3 / ALPHA))


def test_directions_never_tried():
    alarm = Alarm(3, R, 1.0, ALPHA)
    for k in range(700):
        alarm.learn(np.array([0.6, 0.8, 0.0]), 0.5, k)
    assert alarm.state.statistic <= 0.0
    assert not alarm.state.alarm


def test_in_a_deployment(tmp_path):
    """The parameter is reversed; the alarm survives a file, and ends with a restart."""
    rng = np.random.default_rng(3)
    deployment = unipac.Deployment(unipac.Guarded(unipac.LinUCB(2), noise=0.2), drift=0.01)
    assert deployment.drift == (False, pytest.approx(math.nan, nan_ok=True), math.inf, None)
    for k in range(700):
        theta = np.array([0.6, 0.8]) * (1 if k < 400 else -1)
        X = rng.standard_normal((4, 2))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        decision = deployment.decide(None, X, id=k)
        deployment.reward(k, decision.action @ theta + 0.2 * rng.standard_normal())
        if k % 90 == 89:
            deployment.save(tmp_path / "d.npz")
            deployment = unipac.Deployment.load(tmp_path / "d.npz")
    told = deployment.drift
    assert told.alarm
    assert told.statistic >= told.threshold
    number = [event["id"] for event in deployment.events() if event["seq"] == told.seq and "x" in event]
    assert 400 < number[0] < 400 + 4 * EVERY
    deployment.restart()
    assert not deployment.drift.alarm
    off = unipac.Deployment(unipac.Guarded(unipac.LinUCB(2), noise=0.2), drift=0.0)
    assert off.drift.threshold == math.inf
