"""UPACLSVI and MonotoneLSVI, held against their slow judge on random linear MDPs."""

import numpy as np

import unipac
from helpers.judges import upac_lsvi as judge
from unipac.mdp.protocol.plan import Episode

TIE = 1e-8
"""Actions whose values differ by less may be taken for each other: the last digits are not the same."""


class Linear:
    """A random linear MDP whose features are laws over the coordinates of one block each; episodes may end."""

    def __init__(self, S, A, H, blocks, *, seed, ends=True, concentration=1.0, norm=1.0, collinear=0.0):
        rng = np.random.default_rng(seed)
        starts = np.concatenate([[0], np.cumsum(blocks)])
        d = int(starts[-1])
        self.features = np.zeros((S, A, d))
        for s in range(S):
            for a in range(A):
                b = rng.integers(len(blocks))
                x = rng.dirichlet(np.full(blocks[b], concentration))
                if collinear:
                    x = collinear * x + (1 - collinear) / blocks[b]
                self.features[s, a, starts[b] : starts[b + 1]] = norm * x
        self.S, self.A, self.H = S, A, H
        self.measures = rng.dirichlet(np.full(S + ends, 0.5), size=(H, d)) / norm
        self.weights = rng.random((H, d)) / norm
        self.rng = rng

    def play(self, action):
        """An episode of a policy (H, S): states, actions, rewards, following; -1 after the end."""
        steps, s = [], int(self.rng.integers(self.S))
        for h in range(self.H):
            x = self.features[s, action[h, s]]
            law = np.maximum(x @ self.measures[h], 0)
            t = int(self.rng.choice(len(law), p=law / law.sum()))
            t = -1 if t == self.S else t
            steps.append((s, int(action[h, s]), float(x @ self.weights[h]), t))
            if t < 0:
                break
            s = t
        return [np.array(column) for column in zip(*steps, strict=True)]


CASES = {
    "one block": {"blocks": [3]},
    "one block, vertex": {"blocks": [3], "radius": "vertex"},
    "other regularization": {"blocks": [3], "regularization": 0.3, "delta": 0.5},
    "always": {"blocks": [2], "replan": "always"},
    "scaled": {"blocks": [3], "bonus_scale": 0.2},
    "collinear": {"blocks": [3], "collinear": 1e-4},
    "alone": {"blocks": [1, 1, 1, 1]},
    "alone, vertex": {"blocks": [1, 1, 1, 1], "radius": "vertex"},
    "short": {"blocks": [1, 1, 1], "norm": 0.7, "regularization": 2.0},
    "mixed": {"blocks": [3, 1, 2], "replan": "always"},
    "mixed, vertex": {"blocks": [3, 1, 2], "replan": "always", "radius": "vertex"},
    "auto": {"blocks": [4, 1], "sizes": (3, 2, 3), "replan": "always", "radius": "auto"},
    "without end": {"blocks": [3], "ends": False, "terminates": False},
    "one dimension": {"blocks": [1]},
    "one of each": {"blocks": [1], "sizes": (1, 1, 1)},
    "one state": {"blocks": [2], "sizes": (1, 3, 4), "ends": False, "terminates": False},
    "one action": {"blocks": [2, 2], "sizes": (4, 1, 3), "replan": "always"},
    "one stage": {"blocks": [3], "sizes": (4, 3, 1)},
}


def made(cls, *arguments, **parameters):
    """One of both agents; MonotoneLSVI with the defaults of the other."""
    if cls is unipac.MonotoneLSVI:
        parameters = {"replan": "lazy", "replan_factor": 1.05, **parameters}
    return cls(*arguments, **parameters)


def check_is_its_pseudo_code(cls, case, episodes):
    """At all of the first plans and then at fewer and fewer, over some hundred episodes."""
    told, levelled = dict(CASES[case]), cls is unipac.UPACLSVI
    S, A, H = told.pop("sizes", (4, 2, 3))
    world = {name: told.pop(name) for name in ("blocks", "ends", "norm", "collinear") if name in told}
    mdp = Linear(S, A, H, seed=3, **world)
    agent = made(cls, mdp.features, horizon=H, **told)
    slow = judge.Judge(mdp.features, H, levelled=levelled, **told)
    always = told.get("replan") == "always"
    for k in range(episodes):
        plan = agent._plan()
        if not always or k < 50 or k % 50 == 0:
            assert plan.fresh == slow.plan()
        if plan.fresh and (not always or k < 50 or k % 50 == 0):
            taken = np.take_along_axis(slow.Q, plan.action[:, 0, :, None], axis=2)[:, :, 0]
            assert (taken >= slow.Q.max(axis=2) - TIE).all()
            slow.certify(plan.action[:, 0])  # of the actions of the agent, in case of ties
            np.testing.assert_allclose(plan.bound, slow.bound, rtol=0, atol=1e-7)
            np.testing.assert_allclose(plan.lower, slow.lower_values, rtol=0, atol=1e-7)
        episode = mdp.play(plan.action[:, 0])
        states, actions, rewards, following = episode
        agent._commit(agent._learn(Episode(states, actions, np.zeros_like(states), rewards, following)), 0)
        slow.learn(*episode)
    if world["blocks"] == [3] and H > 1:
        assert levelled == (agent.state.data.open.max() >= 3)  # several levels took part


VARIANTS = {
    "monotone": {},
    "vertex": {"radius": "vertex"},
    "auto": {"radius": "auto"},
    "scaled": {"bonus_scale": 0.2},
    "always": {"replan": "always"},
}


def assert_same(one, other):
    for field in ("gap", "reward", "bound", "certificate", "replanned", "level"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
