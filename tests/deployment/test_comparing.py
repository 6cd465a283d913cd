"""Policies beside what is decided: the advantage by weights, and the audit of certificates."""

import json
import math
import warnings

import numpy as np
import pytest

from unipac import OFUL, Deployment, Guarded, LinTS, LinUCB
from unipac.deployment import Conflict, Unknown
from unipac.deployment.comparing import AUDIT

ARMS = np.eye(3)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def guarded(dim=3, **more):
    told = {"noise": 0.5, "norm": 2.0, "reward_range": (0.0, 1.0), **more}
    return Guarded(LinUCB(dim), **told)


def lived(rounds=200, window=None, seed=3, reward_range=(0.0, 1.0), **more):
    """A deployment with three policies; with windows, every fifth reward does not come."""
    clock, rng, (low, high) = Clock(), np.random.default_rng(seed), reward_range
    d = Deployment(
        guarded(noise=0.5 * (high - low), norm=2.0 * high, reward_range=reward_range),
        window=window,
        default=low,
        holdout=0.3,
        seed=5,
        clock=clock,
        **more,
    )
    d.compare("first", 0)
    d.compare("uniform", "uniform")
    d.compare("own", lambda context, offered: context["k"] % 3 if context["k"] % 4 else None)
    for k in range(rounds):
        clock.now += 1.0
        decision = d.decide({"k": k}, ARMS, id=k)
        if window is None or k % 5:
            d.reward(k, low + (high - low) * float(rng.random() < [0.2, 0.5, 0.7][decision.index]))
    return d


# -- the slow truth --------------------------------------------------------------------------------


def judged(events, name, low, high):
    """(w, r, c, n/h) of the decisions that count, from the log alone; plain."""
    spec, rows, held, at_last = events[0], [], {}, {}
    for event in events[1:]:
        if event["kind"] == "decide":
            held[event["seq"]] = event
            at_last[event["id"]] = [event["seq"], None]
        elif event["kind"] == "reward":
            at_last[event["id"]][1] = event["value"]
    released = [event["through"] for event in events if event["kind"] == "release"]
    for seq, value in at_last.values():
        if spec["window"] is not None and seq not in released:
            continue
        event, n = held[seq], len(held[seq]["actions"])
        value = spec["default"] if value is None else value
        p, k = event["propensity"], event["index"]
        if name == "first":
            w, largest = (k == 0) / p, n / spec["holdout"]
        elif name == "uniform":
            w, largest = 1 / n / p, 1 / spec["holdout"]
        elif event["policies"]["own"] is None:
            continue
        else:
            w, largest = (k == event["policies"]["own"]) / p, n / spec["holdout"]
        answer = event["answer"]
        c = answer["certificate"] / (high - low) if answer["certified"] else math.nan
        rows.append((w, (value - low) / (high - low), min(c, 1.0), largest))
    return rows


def judged_interval(rows, alpha):
    """The interval of the mean of v(π) − v(p), by sums over all rounds for each bet; bisection."""
    depth = np.linspace(0.0, 6.0, 32)
    bets = 0.98 / 2 * 10.0**-depth
    prior = 1.0 / (1.0 + 2.0 * np.maximum(0.0, depth - 2.0) ** 2)
    prior /= prior.sum()
    bounds = []
    for side in (0, 1):
        logs, centres = np.zeros(32), 0.0
        earned = weights = other = 0.0
        for t, (w, r, _, largest) in enumerate(rows):
            f = (earned + other + 0.5) / (weights + t + 1)
            centre = (earned + 0.5) / (weights + 1) + 1 - (other + 0.5) / (t + 1)
            centre = min(max(centre, 0.0), 2.0)
            y, g = (r, f) if side == 0 else (1 - r, 1 - f)
            centre = centre if side == 0 else 2 - centre
            u = w * y + (1 - y)
            z = (g - w * g) + ((1 - g) - (1 - g))
            share = np.minimum(1.0, (0.98 / bets - 2.0) / max(largest, 1.0))
            logs += np.log(1 + bets * (u + share * z - centre))
            centres += centre
            earned, weights, other = earned + w * r, weights + w, other + r
        low, high = 0.0, 2.0 * len(rows)
        for _ in range(200):
            middle = (low + high) / 2
            wealth = np.logaddexp.reduce(np.log(prior) + logs + bets * (centres - middle))
            low, high = (middle, high) if wealth >= math.log(2 / alpha) else (low, middle)
        bounds.append(low / len(rows) - 1)
    return bounds[0], -bounds[1]


def judged_wealth(rows):
    depth = np.linspace(0.0, 4.0, 32)
    bets = 0.98 / 2 * 10.0**-depth
    logs, total = np.zeros(32), 0.0
    for t, (w, r, c, largest) in enumerate(rows):
        if not math.isnan(c):
            z = -(w - 1) * (total + 0.5) / (t + 1)
            share = np.minimum(1.0, (0.98 / bets - 2.0) / largest)
            logs += np.log(1 + bets * ((w - 1) * r - c + share * z))
        total += r
    return logs


@pytest.mark.parametrize("reward_range", [(0.0, 1.0), (-2.0, 6.0)])
@pytest.mark.parametrize("window", [None, 7.0])
@pytest.mark.parametrize("name", ["first", "uniform", "own"])
def test_advantage_and_audit_are_what_the_log_says(name, window, reward_range):
    d = lived(window=window, reward_range=reward_range)
    low, high = reward_range
    rows = judged(d.events(), name, low, high)
    found = d.advantage(name, 0.1)
    lower, upper = judged_interval(rows, 0.1)
    assert found.rounds == len(rows) > 100
    assert (found.lower, found.upper) == pytest.approx(((high - low) * lower, (high - low) * upper), abs=1e-9)
    assert found.lower < found.estimate < found.upper
    np.testing.assert_allclose(
        d._comparisons.policies[name].wealth, judged_wealth(rows), rtol=1e-10, atol=1e-10
    )


# -- order -----------------------------------------------------------------------------------------


@pytest.mark.boundscheck
def test_a_decision_without_reward_holds_up_those_after_it():
    d = Deployment(guarded(), holdout=0.5, seed=0)
    d.decide(None, ARMS, id="before")  # not compared
    d.compare("first", 0)
    for k in range(6):
        d.decide(None, ARMS, id=k)
    for k in (5, 1, 3):
        d.reward(k, 1.0)
    assert d.advantage("first").rounds == 0
    d.reward(0, 0.5)
    assert d.advantage("first").rounds == 2
    d.forget(2)  # it does not count, and holds up nothing
    assert d.advantage("first").rounds == 3
    d.reward(4, 0.0)
    assert d.advantage("first").rounds == 5
    assert not d._comparisons.queue


def test_an_action_that_is_not_offered_does_not_count():
    d = Deployment(guarded(), holdout=0.5, seed=0)
    d.compare("third", 2)
    for k in range(10):
        d.decide(None, ARMS if k % 2 else ARMS[:2], id=k)
        d.reward(k, 1.0)
    assert d.advantage("third").rounds == 5


# -- the log, copies and files -----------------------------------------------------------------------


@pytest.mark.parametrize("window", [None, 7.0])
def test_the_log_tells_comparisons(window, tmp_path):
    d = lived(window=window)
    again = Deployment.replay(json.loads(json.dumps(d.events())))
    d.save(tmp_path / "d")
    for other in (again, Deployment.load(tmp_path / "d")):
        assert other.digest() == d.digest()
        assert [other.advantage(n) for n in ("first", "own")] == [d.advantage(n) for n in ("first", "own")]
    events = d.events()
    del events[[event["kind"] for event in events].index("compare")]  # control: it is noticed
    for number, event in enumerate(events):
        event["seq"] = number
        if "through" in event:
            event["through"] -= 1
    assert Deployment.replay(events).digest() != d.digest()


def test_a_log_on_disk_has_comparisons(tmp_path):
    d = lived(100, log=tmp_path / "log")
    d.checkpoint()
    d.decide({"k": 1}, ARMS, id="last")
    d.reward("last", 1.0)
    told, known = d.digest(), d.advantage("own")
    d.shut()
    again = Deployment.open(tmp_path / "log")
    assert again.digest() == told
    assert again.advantage("own") == known
    again.decide({"k": 1}, ARMS, id="without")  # nobody knows the function: the decision does not count
    again.reward("without", 1.0)
    assert again.advantage("own").rounds == known.rounds
    again.compare("own", lambda context, offered: 1)
    again.decide({"k": 1}, ARMS, id="with")
    again.reward("with", 1.0)
    assert again.advantage("own").rounds == known.rounds + 1
    again.shut()


def test_a_file_with_another_wealth_is_refused(tmp_path):
    d = lived(60)
    d._comparisons.policies["first"].wealth[3] += 1.0
    with pytest.raises(ValueError, match="comparisons must be those that the log leads to"):
        d.save(tmp_path / "d")


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "settings", "words"),
    [
        (guarded(), {}, "holdout must be above 0"),
        (guarded(), {"holdout": 0.1, "window": 1.0, "default": None}, "default must be a number"),
        (guarded(), {"holdout": 0.1, "window": 1.0, "default": 2.0}, "reward_range must be with the default"),
        (
            LinTS(3, reward_range=(0.0, 1.0)),
            {"holdout": 0.1},
            "agent must be one whose choices are not drawn",
        ),
        (guarded(reward_range=None), {"holdout": 0.1}, "reward_range must be two numbers"),
    ],
)
def test_comparisons_that_would_not_be_valid_are_refused(agent, settings, words):
    d = Deployment(agent, **settings)
    before = d.digest()
    with pytest.raises(ValueError, match=words):
        d.compare("first", 0)
    assert d.digest() == before


def test_bad_input_changes_nothing():
    d = Deployment(guarded(), holdout=0.1, seed=0)
    d.compare("first", 0)
    d.compare("first", 0)  # the same again
    d.decide(None, ARMS, id="a")
    before = d.digest()
    with pytest.raises(Conflict, match="name must be new"):
        d.compare("first", 1)
    with pytest.raises(ValueError, match="value must be from 0 to 1"):
        d.reward("a", 1.5)
    with pytest.raises(ValueError, match="reward_range"):
        d.compare("second", 0, reward_range=(1.0, 0.0))
    with pytest.raises(ValueError, match="policy"):
        d.compare("second", 1.5)
    with pytest.raises(ValueError, match="name must be text"):
        d.compare(3, 0)
    with pytest.raises(Unknown, match="name must be that of a compared policy"):
        d.advantage("second")
    with pytest.raises(ValueError, match="alpha"):
        d.advantage("first", 0.0)
    assert d.digest() == before
    d.compare("lost", lambda context, offered: 7)
    before = d.digest()
    with pytest.raises(ValueError, match="policy must be an action that is offered"):
        d.decide(None, ARMS, id="b")
    assert d.digest() == before


def test_nobody_foresees_the_draws():
    one, two = (Deployment(guarded(), holdout=0.5) for _ in range(2))
    assert one.seed != two.seed > 0
    assert one.events()[0]["seed"] == one.seed
    assert Deployment(guarded()).seed == 0  # nothing is drawn


# -- measured --------------------------------------------------------------------------------------


def wrong(rounds, seed, holdout=0.1):
    """One column, and a second action that is better by more than a linear model allows; when it is refuted."""
    rng = np.random.default_rng(seed)
    d = Deployment(
        OFUL(1, noise=0.05, norm=1.0, reward_range=(0.0, 1.0), tight=False),
        holdout=holdout,
        seed=seed,
        drift=0.0,
    )
    d.compare("second", 1)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for k in range(rounds):
            decision = d.decide(None, [[1.0], [0.9]], id=k)
            d.reward(k, float(np.clip([0.5, 0.8][decision.index] + 0.05 * rng.standard_normal(), 0.0, 1.0)))
            if not d.consistent:
                break
    return d, k, [str(one.message) for one in said]


def test_certificates_that_are_wrong_on_average_are_refuted():
    d, k, said = wrong(4000, seed=0)
    assert not d.consistent
    assert k < 3999
    assert any("policy 'second' earns more than certificates allow" in words for words in said)
    assert not d.decide(None, [[1.0], [0.9]]).certified
    again = Deployment.replay(d.events())
    assert again.digest() == d.digest()
    assert not again.consistent
    d.restart()
    assert d.consistent
    assert not d._comparisons.policies["second"].wealth.any()


def linear(rounds, seed, holdout):
    """A linear truth whose certificates are right; whether the audit refutes them."""
    rng = np.random.default_rng(seed)
    theta = np.array([0.3, 0.5, 0.4])
    d = Deployment(guarded(), holdout=holdout, seed=seed, drift=0.0)
    d.compare("second", 1)
    d.compare("uniform", "uniform")
    for k in range(rounds):
        decision = d.decide(None, ARMS, id=k)
        d.reward(k, float(rng.random() < theta[decision.index]))
    return d._comparisons.refuted_by is not None


def test_right_certificates_are_not_refuted():
    """Null: the audit refutes in at most α = 1 % of runs; 20 runs of 150 rounds, two would have chance 1.7 %."""
    assert sum(linear(150, seed, 0.2) for seed in range(20)) <= 1


@pytest.mark.slow
def test_right_certificates_are_refuted_in_at_most_alpha_of_the_runs():
    """Null: at most δ + α = 6 % of 1,000 runs; 80 or more have chance below 1 %."""
    assert sum(linear(300, seed, 0.2) for seed in range(1000)) < 1000 * (0.05 + AUDIT) + 20


def against_incumbent(rounds, seed, holdout):
    """The agent learns to be better by about .3 than the incumbent, action 0; when its upper bound is below 0."""
    rng = np.random.default_rng(seed)
    means = np.array([0.4, 0.3, 0.5, 0.7, 0.2])
    d = Deployment(guarded(5), holdout=holdout, seed=seed, drift=0.0)
    d.compare("incumbent", 0)
    for k in range(rounds):
        decision = d.decide(None, np.eye(5), id=k)
        d.reward(k, float(rng.random() < means[decision.index]))
        if k % 500 == 499 and d.advantage("incumbent").upper < 0.0:
            return k + 1
    return None


def test_an_incumbent_is_ruled_out():
    assert against_incumbent(10_000, 0, 0.1) is not None


@pytest.mark.slow
def test_an_incumbent_is_ruled_out_in_most_runs():
    when = [against_incumbent(10_000, seed, 0.1) for seed in range(100)]
    print(sorted(k or 0 for k in when))
    assert sum(k is not None for k in when) >= 95


def left(rounds, seed, alphas, shift=0.0):
    """An adversary who sees the agent's state pays most for what it does not choose; which intervals are ever left?

    ``shift`` is added to the truth, for the control.
    """
    rng, gone = np.random.default_rng(seed), np.zeros(len(alphas), dtype=bool)
    d = Deployment(guarded(), holdout=0.2, seed=seed, drift=0.0, linearity=0.0)
    d.compare("first", 0)
    truth, mean = 0.0, d._comparisons.policies["first"].mean
    for k in range(rounds):
        favourite = d.agent.choose(ARMS).index  # what the deployment takes, unless it draws
        r = np.where(np.arange(3) == favourite, 0.1, 0.9) * (0.5 + 0.5 * (k // 40 % 2))
        decision = d.decide(None, ARMS, id=k)
        p = np.full(3, 0.2 / 3)
        p[favourite] += 0.8
        assert decision.propensity == pytest.approx(p[decision.index])
        truth += r[0] - p @ r
        d.reward(k, float(rng.random() < r[decision.index]))
        if k % 5 == 4:
            for i, alpha in enumerate(alphas):
                lower, upper = mean.interval(alpha)
                gone[i] |= not lower <= truth / (k + 1) + shift <= upper
    return gone


@pytest.mark.slow
def test_the_interval_is_left_in_at_most_alpha_of_the_runs():
    """Null: at most α; 1,000 runs; three standard deviations above has chance 0.2 %."""
    runs, alphas = 1000, np.array([0.5, 0.05])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # his rewards refute the agent
        found = sum(left(300, seed, alphas).astype(int) for seed in range(runs))
    print("left:", found)
    assert (found <= runs * alphas + 3 * np.sqrt(runs * alphas * (1 - alphas))).all()


def test_the_interval_of_an_adversary():
    """Null: left in at most half of the runs; 20 runs, 17 or more have chance 0.13 %."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert sum(int(left(120, seed, [0.5])[0]) for seed in range(20)) < 17


@pytest.mark.slow
def test_another_truth_is_outside():
    """Control. That wrong propensities are noticed is shown in tests/weights."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = sum(int(left(800, seed, [0.5], shift=0.4)[0]) for seed in range(10))
    print("left:", found)
    assert found > 8


def test_provisional_certificates_are_not_audited():
    """Of an agent that was told several ζ, only claims under the last are audited; of one with a single ζ, all are."""
    for zetas, audited in (((0.0, 0.2), False), ((0.2,), True), (0.2, True), (0.0, True)):
        d = Deployment(guarded(misspecification=zetas), holdout=0.5, seed=0)
        d.compare("first", 0)
        d.decide(None, ARMS, id=0)
        d.reward(0, 1.0)
        assert d.advantage("first").rounds == 1
        assert d._comparisons.policies["first"].wealth.any() == audited
