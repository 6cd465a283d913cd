"""`logs.value` and `logs.compare`: intervals that hold for policies chosen after looking; `logs.replay` is unbiased."""

import math
from typing import NamedTuple

import numpy as np
import pytest

import unipac
from unipac import logs
from unipac.logs import Log

DELTA = 0.05


def synthetic(seed, rounds, *, dim=3, n=4, noise=0.5, bend=0.0):
    """A log of a policy that never takes the last two positions, and the expected rewards of all actions."""
    rng = np.random.default_rng((17, seed))
    X = rng.standard_normal((rounds, n, dim))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    theta = rng.standard_normal(dim)
    theta /= np.linalg.norm(theta)
    means = X @ theta + bend * X[:, :, 0] ** 2
    index = rng.integers(n - 2, size=rounds)
    rewards = means[np.arange(rounds), index] + noise * rng.choice([-1.0, 1.0], size=rounds)
    return Log(X, index, rewards), means, theta


def earns(means, policy):
    return float(means[np.arange(len(means)), policy].mean())


def covered(seed, rounds, agent, **options):
    """Whether the intervals hold for the policy that looks best in the log, the worst, and their difference."""
    log, means, _ = synthetic(seed, rounds, **options)
    knows = agent(log.dim)
    knows.absorb(log.actions, log.rewards)
    sees = np.stack([knows.bounds(log.offered(t)).mean for t in range(len(log))])
    best, worst = sees.argmax(axis=1), sees.argmin(axis=1)
    # Nobody could choose this one: where estimate and truth differ most, known only to who knows the truth.
    unfair = (sees - means).argmax(axis=1)
    hold = []
    for policy in (best, worst, unfair):
        interval = logs.value(knows, log, policy, learned=True)
        hold.append(interval.lower <= earns(means, policy) <= interval.upper)
    difference = logs.compare(knows, log, unfair, worst, learned=True).difference
    hold.append(difference.lower <= earns(means, unfair) - earns(means, worst) <= difference.upper)
    return all(hold), difference.width


def oful(dim, **told):
    return unipac.OFUL(dim, **{"delta": DELTA, "noise": 0.5, **told})


def nested(dim):
    return unipac.NestedOFUL(dim, delta=DELTA, noise=0.5)


@pytest.mark.parametrize("agent", [oful, nested])
def test_intervals_hold_for_policies_chosen_after_looking(agent):
    """Null: all four hold with probability at least 0.95; 40 logs, 7 misses have a chance below 0.4 percent."""
    misses = sum(not covered(seed, 60, agent)[0] for seed in range(40))
    assert misses <= 6


@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
def test_intervals_with_understated_noise_do_not_hold():
    """Negative control: the same count, for an agent that was told a fiftieth of the noise."""

    def bold(dim):
        return oful(dim, noise=0.01, regularization=0.01)

    misses = sum(not covered(seed, 200, bold)[0] for seed in range(20))
    assert misses > 10


@pytest.mark.slow
def test_coverage_over_a_thousand_seeds():
    """Coverage at least 1 − δ over 1,000 logs of 400 rounds, of four intervals each, three of policies chosen after."""
    outcomes = [covered(seed, 400, oful) for seed in range(1000)]
    misses = sum(not hold for hold, _ in outcomes)
    print(f"{misses} of 1,000 missed; median width {np.median([width for _, width in outcomes]):.3f}")
    assert misses <= DELTA * 1000


def test_a_curved_truth_is_flagged():
    """Negative control of the assumption: with curved rewards intervals may fail, and the log is flagged."""
    log, means, _ = synthetic(3, 6000, noise=0.1, bend=1.0)
    assert logs.misfit(log, noise=0.1).found
    assert [finding.name for finding in logs.check(log, noise=0.1)] == ["linearity"]
    knows = unipac.OFUL(log.dim, delta=DELTA, noise=0.1)
    knows.absorb(log.actions, log.rewards)
    sees = np.stack([knows.bounds(log.offered(t)).mean for t in range(len(log))])
    unfair = (sees - means).argmax(axis=1)
    interval = logs.value(knows, log, unfair, learned=True)
    assert not interval.lower <= earns(means, unfair) <= interval.upper  # nothing is proven here
    straight, _, _ = synthetic(3, 6000, noise=0.1)
    assert not logs.check(straight, noise=0.1)


def test_value_by_hand():
    """One arm, λ = 1, n rewards of 1: θ = n/(n+1), width 1/√(n+1)."""
    n, noise = 99, 0.5
    log = Log([[1.0]], [0] * n, [1.0] * n)
    beta = noise * math.sqrt(math.log(n + 1) + 2 * math.log(1 / DELTA)) + 1.0
    found = logs.value(oful(1, tight=False), log, [0] * n)
    assert found.estimate == pytest.approx(0.99)
    assert found.lower == pytest.approx(0.99 - beta / 10)
    assert found.upper == pytest.approx(1.0)  # ‖μ*‖ ≤ 1
    assert found.width == pytest.approx(found.upper - found.lower)
    assert found.certified


def test_forms_of_a_policy_are_one():
    log, _, _ = synthetic(0, 50)
    first = np.array([0, 1, 2, 3, 0] * 10)
    by_index = logs.value(oful(3), log, first)
    assert logs.value(oful(3), log, np.eye(4)[first]) == pytest.approx(by_index)
    steps = iter(first.tolist())
    assert logs.value(oful(3), log, lambda actions: next(steps)) == pytest.approx(by_index)
    half = logs.value(oful(3), log, lambda actions: [0.5, 0.5, 0.0, 0.0])
    mean = log.vectors.reshape(50, 4, 3)[:, :2].mean(axis=(0, 1))
    agent = oful(3)
    agent.absorb(log.actions, log.rewards)
    assert half.estimate == pytest.approx(float(agent.bounds(mean[None]).mean[0]))


def test_differences_may_be_longer_than_any_action():
    """Of norm 2 here; the difference knows more than the two intervals tell."""
    log = Log([[1.0, 0.0], [-1.0, 0.0]], [0] * 50, [0.3] * 50)
    found = logs.compare(oful(2, tight=False), log, [0] * 50, [1] * 50)
    assert found.difference.estimate == pytest.approx(0.6 * 50 / 51)
    assert found.difference.width == pytest.approx(2 * found.first.width)
    assert found.winner is None
    same = logs.compare(oful(2), log, [0] * 50, [0] * 50)
    assert same.difference[:3] == (0.0, 0.0, 0.0)
    long = Log([[1.0, 0.0], [-1.0, 0.0]], [0] * 5000, [0.4] * 5000)
    assert logs.compare(oful(2), long, [0] * 5000, [1] * 5000).winner == "first"
    assert logs.compare(oful(2), long, [1] * 5000, [0] * 5000).winner == "second"


def test_reward_range_bounds_values_and_differences():
    agent = unipac.OFUL(2, noise=0.5, norm=5.0, reward_range=(0.0, 1.0))
    log = Log([[1.0, 0.0], [0.0, 1.0]], [0, 1], [1.0, 0.0])
    found = logs.compare(agent, log, [0, 0], [1, 1])
    assert found.first[1:3] == (0.0, 1.0)
    assert found.difference[1:3] == (-1.0, 1.0)


def test_guarded_learns_a_log_of_its_own():
    """An agent that made the log is asked as it is; learning the log twice is refused."""
    instance = unipac.envs.sphere(3, 4, noise=0.1)
    agent = unipac.Guarded(unipac.LinUCB(3), noise=0.1)
    drawn = instance.rounds(0, 300, seed=1)
    index = agent.play(drawn.actions, drawn.rewards).index
    log = Log(drawn.actions, index, drawn.rewards[np.arange(300), index])
    with pytest.raises(ValueError, match="agent must be fresh; pass learned=True"):
        logs.value(agent, log, index)
    found = logs.value(agent, log, index, learned=True)
    assert found.lower <= earns(drawn.means, index) <= found.upper
    fresh = unipac.Guarded(unipac.LinUCB(3), noise=0.1)
    assert logs.value(fresh, log, index).certified
    assert fresh.rounds == 0


def test_heuristics_estimate_and_certify_nothing():
    log, _, _ = synthetic(0, 50)
    found = logs.value(unipac.LinUCB(3), log, log.index)
    assert math.isfinite(found.estimate)
    assert math.isnan(found.lower)
    assert math.isnan(found.upper)
    assert not found.certified


def test_bounds_that_contradict_each_other_certify_nothing():
    """Rewards of 1 from an arm whose mean can be 0.1 at most."""
    log = Log([[0.1]], [0] * 10_000, [1.0] * 10_000)
    found = logs.value(unipac.OFUL(1, noise=0.1), log, [0] * 10_000)
    assert not found.certified
    assert math.isnan(found.lower)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda log: logs.value(3, log, [0] * 50), "agent must be a bandit agent, got 3"),
        (lambda log: logs.value(oful(3), log[:0], []), "log must be a Log with at least one round"),
        (lambda log: logs.value(oful(2), log, [0] * 50), "log must be of dimension 2"),
        (lambda log: logs.value(oful(3), log, [0] * 49), "policy must be of length 50, as the log, got 49"),
        (
            lambda log: logs.value(oful(3), log, [4] * 50),
            r"policy\[0\] must be an integer >= 0 and <= 3, got 4",
        ),
        (
            lambda log: logs.value(oful(3), log, lambda X: [0.5, 0.6, 0, 0]),
            "policy in round 0 must be an index or 4",
        ),
        (lambda log: logs.compare(oful(3), log, [0] * 50, [0.5] * 50), r"second\[0\] must be an integer"),
        (
            lambda log: logs.value(unipac.DisjointLinUCB(3, n_actions=4), log, [0] * 50),
            "agent must be one with a model for all actions together",
        ),
        (
            lambda log: logs.replay(oful(3), log),
            "log must be one of uniform choices.* got 'unknown",
        ),
        (lambda log: logs.replay(3, log), "agent must be a bandit agent, got 3"),
    ],
)
def test_bad_arguments_are_named(call, message):
    log, _, _ = synthetic(0, 50)
    with pytest.raises(ValueError, match=message):
        call(log)


# -- replay --------------------------------------------------------------------------------------------


class Nothing(NamedTuple):
    """A state without anything."""


class Fixed(unipac.bandits.BanditAgent):
    """Takes the action with the largest first entry, and learns nothing."""

    def _empty(self):
        return Nothing()

    def _bounds(self, X):
        zeros = np.zeros(len(X))
        return zeros, zeros, zeros, zeros

    def _choose(self, X):
        return int(X[:, 0].argmax()), 0

    def _learn(self, x, y, level, times):
        return Nothing()


def test_replay_of_a_policy_is_unbiased():
    """Null: the mean over the rounds that count is the policy's value. 3 standard errors: 0.3 percent false alarms."""
    instance = unipac.envs.sphere(3, 4, noise=0.3, seed=2)
    log = logs.uniform(instance, 8000, seed=1)
    played = logs.replay(Fixed(3), log)
    drawn = instance.rounds(0, 8000, seed=1)
    # The rounds that count are a random quarter of all.
    value = earns(drawn.means, drawn.actions[:, :, 0].argmax(axis=1))
    assert abs(len(played.rounds) - 2000) < 4 * math.sqrt(8000 * 3 / 16)
    assert abs(played.mean - value) <= 3 * played.standard_error
    # Negative control: an estimate from all rounds, as if their actions were the policy's, is far off.
    assert abs(log.rewards.mean() - value) > 10 * log.rewards.std() / math.sqrt(8000)


def test_replay_of_a_learning_agent_is_what_it_earns_live():
    """Null: 40 replays of 100 counted rounds earn what 40 live runs do; 3 standard errors of the difference."""
    instance = unipac.envs.sphere(3, 4, noise=0.3, seed=2)
    offline, live = [], []
    for seed in range(40):
        log = logs.uniform(instance, 520, seed=seed)
        offline.append(logs.replay(unipac.LinUCB(3), log).rewards[:100].mean())
        live.append(unipac.LinUCB(3).play(instance, rounds=100, seed=1000 + seed).reward.mean())
    error = math.hypot(np.std(offline, ddof=1), np.std(live, ddof=1)) / math.sqrt(40)
    assert abs(np.mean(offline) - np.mean(live)) <= 3 * error


def test_replay_of_nothing():
    played = logs.replay(unipac.LinUCB(2), Log([[1.0, 0.0]], [], [], []))
    assert math.isnan(played.mean)
    assert math.isnan(played.standard_error)
