"""Mixture MDPs, and how agents are held against their slow judge."""

import math

import numpy as np

from helpers.judges import mixture as judge
from unipac.envs import hypercube_mixture, mixture_swim, random_mixture, vtr_killer
from unipac.envs.mdps.mixture_mdp import MixtureMDP
from unipac.mdp.protocol.plan import Episode

CLOSE = 1e-8
"""Actions whose values differ by less may be taken for each other: the last digits are not the same."""


def small(seed=3, S=4, A=2, d=3, H=3, homogeneous=True):
    return random_mixture(S, A, d, H, seed=seed, homogeneous=homogeneous)


def signed():
    """Features of both signs, tiny and collinear: those of a mixture in other coordinates."""
    mdp = small(seed=5)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0] @ np.diag([1.0, 1e-3, 1.0])
    return MixtureMDP(mdp.features @ turn, np.linalg.solve(turn, mdp.weights[0]), mdp.rewards[0], horizon=3)


MDPS = {
    "mixture": small(),
    "per stage": small(homogeneous=False),
    "swim": mixture_swim(3, 4),
    "hypercube": hypercube_mixture(3, 3),
    "signed": signed(),
    "one dimension": small(d=1),
    "one state": small(S=1),
    "one action": small(A=1),
    "one stage": small(H=1),
    "killer": vtr_killer(),
}


def named(cases):
    """Names of cases (world, parameters)."""
    return [f"{world}-{'-'.join(map(str, told.values()))}" for world, told in cases]


def check_is_its_pseudo_code(cls, rule, world, told, **defaults):
    """Values, actions and levels over some episodes; ``defaults`` are what the class is but the judge is not."""
    mdp = MDPS[world]
    agent = cls.made_for(mdp, **told)
    given = {"norm": agent.norm, **defaults, **told}
    slow = judge.Judge(mdp.features, mdp.rewards, mdp.horizon, rule=rule, **given)
    rng = np.random.default_rng(0)
    for k in range(40 if told.get("likelihood") else 120):  # the judge is slow with a likelihood
        plan = agent._plan()
        action = plan.action[:, 0]
        slow.theta = agent.state.theta
        slow.plan()
        taken = np.take_along_axis(slow.Q, action[:, :, None], axis=2)[:, :, 0]
        assert (taken >= slow.Q.max(axis=2) - CLOSE).all()
        raw = np.where(slow.Q.max(axis=2, keepdims=True) - 1e-13 <= slow.Q, slow.raw, -math.inf).max(axis=2)
        assert (np.take_along_axis(slow.raw, action[:, :, None], axis=2)[:, :, 0] >= raw - 1e-6 - CLOSE).all()
        slow.certify(action)
        np.testing.assert_allclose(plan.bound, slow.bound, rtol=0, atol=1e-7)
        np.testing.assert_allclose(plan.lower, np.minimum(slow.lower[0], slow.bound), rtol=0, atol=1e-7)
        slow.upper, slow.lower = (
            agent.state.upper.copy(),
            agent.state.lower.copy(),
        )  # the same V to the last bit
        states, actions, following = [], [], []
        s = int(rng.choice(mdp.n_states))
        for h in range(mdp.horizon):
            a = int(rng.integers(mdp.n_actions)) if k % 3 == 0 else int(action[h, s])
            t = int(rng.choice(mdp.n_states, p=mdp.transitions[h, s, a]))
            states.append(s), actions.append(a), following.append(t)
            s = t
        columns = (np.array(column) for column in (states, actions, following))
        visited, chosen, after = columns
        agent._commit(
            agent._learn(Episode(visited, chosen, np.zeros_like(visited), np.zeros(mdp.horizon), after)), 0
        )
        slow.learn(states, actions, following)
        sizes = [len([level for level in agent.levels() if level.stage == m + 1]) for m in range(slow.M)]
        assert sizes == [len(stack) for stack in slow.stacks]
