"""The agent is the fold of its log, for every bandit agent, whatever is called in which order."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import unipac
from helpers import deployment_machine as machine
from unipac.deployment import fold

CASES = machine.cases()
IDS = st.sampled_from([f"r{k}" for k in range(8)])
VALUES = st.sampled_from([0.0, 0.25, -0.5])
REFUTED = pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")


def walked(case, told, steps, seed, folder, every):
    rng = np.random.default_rng(seed)
    walker = machine.Machine(case, told, folder)
    while walker.steps < steps:
        walker.step(rng)
        if walker.steps % every == 0:
            walker.check()
    walker.check()
    return walker


@REFUTED
@pytest.mark.parametrize("case", CASES, ids=str)
def test_random_walks(case, tmp_path):
    """Random calls for every agent and every kind of window."""
    for k, told in enumerate(machine.SETTINGS):
        walked(case, told, 50, k, tmp_path, every=25)


@REFUTED
@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_long_random_walks(case, tmp_path):
    """10^5 steps, over all agents and kinds of windows."""
    total = 0
    runs = 4
    steps = -(-100_000 // (len(CASES) * len(machine.SETTINGS) * runs))
    for k, told in enumerate(machine.SETTINGS):
        for seed in range(runs):
            total += walked(case, told, steps, 100 + runs * k + seed, tmp_path, every=100).steps
    assert total >= 100_000 / len(CASES)


class Deployed(RuleBasedStateMachine):
    """Hypothesis looks for the shortest sequence of calls that goes wrong."""

    @initialize(case=st.sampled_from(CASES), told=st.sampled_from(machine.SETTINGS))
    def begin(self, case, told):
        self.machine = machine.Machine(case, told, self.folder)

    @rule(id_=IDS, body=st.integers(0, 2))
    def decide(self, id_, body):
        self.machine.decide(id_, body)

    @rule(id_=IDS, value=VALUES)
    def reward(self, id_, value):
        self.machine.reward(id_, value)

    @rule(id_=IDS)
    def forget(self, id_):
        self.machine.forget(id_)

    @rule(seconds=st.sampled_from([0.5, 2.0, 5.0]))
    def wait(self, seconds):
        self.machine.wait(seconds)

    @rule()
    def restart(self):
        self.machine.restart()

    @rule()
    def reload(self):
        self.machine.reload()

    def teardown(self):
        if hasattr(self, "machine"):
            self.machine.check()


@pytest.mark.parametrize("sequences", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_state_machine(sequences, tmp_path):
    """So many sequences of 25 calls."""
    Deployed.folder = tmp_path
    case = Deployed.TestCase
    case.settings = settings(
        max_examples=sequences, stateful_step_count=25, deadline=None, database=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        case("runTest").runTest()


def test_the_fold_notices(tmp_path):
    """Negative control: a log with one reward changed, left out or moved leads elsewhere."""
    clock = machine.Clock()
    deployment = unipac.Deployment(unipac.NestedOFUL(2, noise=0.1), window=1.0, clock=clock)
    for k in range(6):
        deployment.decide(None, [[1.0, 0.0], [0.6, 0.8]], id=k)
        deployment.reward(k, 0.1 * k + 0.05)
        clock.now += 0.3
    clock.now += 5.0
    deployment.close()
    events, right = deployment.events(), deployment.agent.digest()
    assert fold(events).digest() == right
    changed = [
        dict(event, value=0.9) if event.get("id") == 2 and "value" in event else event for event in events
    ]
    without = [event for event in events if not (event.get("id") == 2 and "value" in event)]
    unreleased = [event for event in events if event["kind"] != "release"]
    assert fold(changed).digest() != right
    for wrong in (without, unreleased):
        with pytest.raises(ValueError, match="seq must be"):
            fold(wrong)
    renumbered = [{**event, "seq": k} for k, event in enumerate(without)]
    with pytest.raises(ValueError, match="through must be"):
        fold(renumbered)


def test_levels_are_needed():
    """What Guarded explored cannot be told from actions and rewards: without the levels another agent comes out."""
    case = next(case for case in CASES if case.label == "Guarded LinTS")
    deployment = unipac.Deployment(case.make())
    for k in range(60):
        decision = deployment.decide(None, case.instance.rounds(k, 1, 3).actions[0], id=k)
        deployment.reward(k, 0.1 * (k % 3))
    events = deployment.events()
    assert sum(event.get("level", 0) > 0 for event in events) >= 5, decision
    assert fold(events).digest() == deployment.agent.digest()
    flat = [{**event, "level": 0} if event["kind"] == "decide" else event for event in events]
    assert fold(flat).digest() != deployment.agent.digest()


def test_an_agent_that_had_learned_before():
    start = unipac.NestedOFUL(2, noise=0.1)
    start.absorb([[1.0, 0.0]], [0.5])
    deployment = unipac.Deployment(start)
    deployment.decide(None, [[1.0, 0.0], [0.0, 1.0]], id=1)
    deployment.reward(1, 0.25)
    with pytest.raises(ValueError, match="start"):
        fold(deployment.events())
    assert fold(deployment.events(), start=start).digest() == deployment.agent.digest()
    assert start.rounds == 1  # the deployment has a copy
