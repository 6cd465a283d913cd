"""Random calls of a deployment of any agent, held against the model and against the fold of its log."""

from __future__ import annotations

import copy
import json

import pytest

import unipac
from helpers import registry_cases
from helpers.deployment_model import Model, Refused
from unipac.deployment import fold, offering


class Clock:
    """Seconds that the test moves."""

    def __init__(self, now=0.0):
        self.now = now

    def __call__(self):
        return self.now


SETTINGS = (
    {"window": 5.0, "default": 0.0},
    {"window": 5.0, "default": None, "holdout": 0.3, "seed": 0},
    {"window": None, "default": 0.0},
    {"window": None, "default": 0.0, "holdout": 0.3, "seed": 0},
    {"window": 2.0, "default": 0.25, "max_pending": 3},
)


def cases():
    """Every bandit agent, and one that draws under a guard."""
    found = [registry_cases.bandit_case(unipac.AGENTS[name], name) for name in registry_cases.names("bandit")]
    sphere = unipac.envs.sphere(3, 5, noise=0.25, seed=2)
    guarded = registry_cases.Case(
        "Guarded LinTS", unipac.AGENTS["Guarded"], sphere, {"heuristic": {"agent": "LinTS"}, "gate": 0.05}
    )
    return [*found, guarded]


class Machine:
    """A deployment and its model, side by side."""

    def __init__(self, case, settings, folder):
        self.case, self.folder = case, folder
        self.clock, self.offset = Clock(), 0.0
        self.deployment = unipac.Deployment(case.make(), clock=self.clock, **settings)
        self.model = Model(settings["window"], settings["default"], settings.get("max_pending", 100_000))
        self.made = {}
        self.steps = 0

    def offered(self, body):
        if self.case.fixed:
            return None
        X = self.case.instance.rounds(body, 1, 3).actions
        return X if X.ndim == 2 else X[0]

    def both(self, call, expected):
        """The same answer, or the same refusal, which changes nothing."""
        self.deployment.close()
        self.model.close()
        before = (self.deployment.agent.digest(), len(self.deployment._events))
        self.steps += 1
        try:
            right = expected()
        except Refused as refused:
            with pytest.raises(getattr(unipac.deployment, str(refused))):
                call()
            assert (self.deployment.agent.digest(), len(self.deployment._events)) == before
            return None
        found = call()
        assert right is None or found == right or isinstance(found, unipac.Decision), (found, right)
        return found

    def decide(self, id_, body):
        known = id_ in self.model.status
        # Whether it belongs to the holdout is drawn by the deployment, from (seed, number): told to the model.
        d = self.deployment
        drawn = None if known else offering.drawn(d.holdout, d.seed, d._decided, 5)
        decision = self.both(
            lambda: self.deployment.decide({"round": body}, self.offered(body), id_),
            lambda: self.model.decide(id_, 0 if self.case.fixed else body, drawn is not None),
        )
        if decision is not None:
            assert self.made.setdefault(id_, decision) is decision or self._same(self.made[id_], decision)
            assert decision.holdout == (not self.model.taught[id_]) or known
            self.made[id_] = decision

    def _same(self, one, other):
        return one.to_dict() == other.to_dict()

    def reward(self, id_, value):
        self.both(lambda: self.deployment.reward(id_, value), lambda: self.model.reward(id_, value))

    def forget(self, id_):
        self.both(lambda: self.deployment.forget(id_), lambda: self.model.forget(id_))

    def wait(self, seconds):
        self.clock.now += seconds
        self.model.now += seconds
        assert self.deployment.close() == self.model.close()
        self.steps += 1

    def restart(self):
        self.both(self.deployment.restart, self.model.restart)

    def reload(self):
        """Saved and loaded, with a clock that starts elsewhere."""
        path = self.folder / "deployment.npz"
        self.deployment.save(path, replace=True)
        self.clock = Clock(self.clock.now + 1e6)
        before = self.deployment
        self.deployment = unipac.Deployment.load(path, clock=self.clock)
        assert self.deployment.agent.digest() == before.agent.digest()
        assert self.deployment.events() == before.events()
        self.steps += 1

    def check(self, going_on=True):
        """Counts are those of the model; the fold of the log, as lines of JSON, is the agent, and goes on alike."""
        self.model.close()
        self.deployment.close()
        assert self.deployment.pending == len(self.model.order)
        assert self.deployment.agent.rounds == len(self.model.learned)
        lines = [json.dumps(event, allow_nan=False) for event in self.deployment.events()]
        folded = fold([json.loads(line) for line in lines])
        assert folded.digest() == self.deployment.agent.digest()
        if going_on:
            agent = copy.copy(self.deployment.agent)
            for k in range(3):
                X = self.offered(50 + k)
                one, other = agent.choose(X), folded.choose(X)
                assert one.to_dict() | {"id": 0} == other.to_dict() | {"id": 0}

    def step(self, rng):
        """One random call."""
        ids = [f"r{k}" for k in range(len(self.made) + 2)]
        recent = ids[max(0, len(ids) - 8) :]
        kind = rng.choice(
            ["decide", "again", "reward", "old", "forget", "wait", "restart", "reload"],
            p=[0.32, 0.06, 0.28, 0.1, 0.05, 0.155, 0.01, 0.025],
        )
        value = float(rng.choice([0.0, 0.25, -0.5]))
        if kind == "decide":
            self.decide(ids[len(self.made)], int(rng.integers(40)))
        elif kind == "again":
            self.decide(str(rng.choice(recent)), int(rng.integers(3)))
        elif kind == "reward":
            self.reward(str(rng.choice(recent)), value)
        elif kind == "old":
            self.reward(str(rng.choice(ids)), value)
        elif kind == "forget":
            self.forget(str(rng.choice(recent)))
        elif kind == "wait":
            self.wait(float(rng.exponential(2.0)))
        elif kind == "restart":
            self.restart()
        else:
            self.reload()
