"""Which agents and instances can be played on many seeds, and their form as arguments of kernels."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from unipac import _checks as check
from unipac._arrays import Array
from unipac._constants import NEGLIGIBLE, TIE
from unipac._inputs import largest_norm
from unipac.bandits.guarded.guarded import Guarded
from unipac.bandits.guarded.learning import Rules
from unipac.bandits.guarded.state import _capacity as guarded_capacity
from unipac.bandits.levelled.confidence import Confidence
from unipac.bandits.linucb import LinUCB
from unipac.bandits.nested_oful import NestedOFUL
from unipac.bandits.oful import OFUL
from unipac.bandits.upac_oful import UPACOFUL
from unipac.envs import BanditInstance
from unipac.envs.bandits.arms import _FixedArms
from unipac.envs.bandits.contexts import _Sphere
from unipac.envs.bandits.killers import SwitchingArms
from unipac.linalg.levels import SINGLE
from unipac.many.worlds import World

OPTIMISTIC = UPACOFUL, NestedOFUL, OFUL, LinUCB
PLAIN = {"tight": False, "blocks": 1, "misspecification": 0.0, "bonus_scale": 1.0, "fixed_actions": None}
"""What these parameters must be, where an agent has them."""


class Player(NamedTuple):
    """An agent, as numbers."""

    confidence: Confidence
    """That of the agent, or of the heuristic of a guard."""
    rules: Rules | None
    """Those of a guard; None for other agents."""
    dim: int
    regularization: float
    action_norm: float


def player_of(agent: Any) -> Player:
    """The numbers of an agent; a ``ValueError`` says why it cannot be played on many seeds."""
    names = ", ".join(kind.__name__ for kind in OPTIMISTIC)
    known = type(agent) in (*OPTIMISTIC, Guarded)
    check.require(known, "agent", f"a fresh {names}, or Guarded over LinUCB", agent)
    fresh = agent.rounds == 0 and not agent.pending
    check.require(fresh, "agent", "fresh: every seed begins without data", agent)
    for name, value in PLAIN.items():
        if hasattr(agent, name):
            given = agent._given(name)
            same = given is None if value is None else given == value
            check.require(same, "agent", f"one with {name}={value}, as play_many knows no other", given)
    rules = None
    if type(agent) is Guarded:
        heuristic = agent.heuristic
        words = f"Guarded over LinUCB with regularization={agent.regularization:g}, as that of the guard"
        check.require(type(heuristic) is LinUCB and agent._shared, "agent", words, heuristic)
        rules = agent._rules
    confidence = agent._confidence if rules is None else agent.heuristic._confidence
    return Player(confidence, rules, agent.dim, agent.regularization, agent.action_norm)


def world_of(instance: BanditInstance, dim: int, action_norm: float) -> World:
    """The arrays and numbers of an instance; a ``ValueError`` says why it cannot be played on many seeds."""
    words = "a sphere, an instance with fixed arms, or a killer"
    known = type(instance) is _Sphere or isinstance(instance, (_FixedArms, SwitchingArms))
    check.require(known, "instance", words, instance)
    check.require(instance.dim == dim, "instance", f"one with dim {dim}, as the agent", instance.dim)
    n = instance.n_actions
    runs = np.zeros((0, 2), dtype=np.int64)
    shortest = 1.0
    if isinstance(instance, SwitchingArms):
        sets = np.stack((instance._forced_arms, instance._free_arms))
        bounded = [(min(begin, 2**62), min(end, 2**62)) for begin, end in instance._runs]
        runs = np.array(bounded, dtype=np.int64).reshape(-1, 2)
    elif isinstance(instance, _Sphere):
        sets, shortest = np.zeros((1, n, dim)), instance.shortest
    else:
        sets = np.array(instance.actions)[None]
    drawn = isinstance(instance, _Sphere)
    longest = 1.0 if drawn else float(np.sqrt((sets**2).sum(axis=2)).max())
    allowed = largest_norm(action_norm)
    check.require(longest <= allowed, "instance", f"one with actions of norm {action_norm:g}", longest)
    theta = np.array(instance.theta, dtype=np.float64)
    return World(theta, sets, runs, drawn, float(instance.noise), instance.noise_kind == "gaussian", shortest)


def capacity(player: Player, world: World, rounds: int) -> int:
    """How many levels so many rounds can open."""
    if player.rules is not None:
        return guarded_capacity(player.rules, rounds)
    if player.confidence.rule == SINGLE:
        return 1
    # An action that passes the test of level S has ‖x‖²/(λ + T L²) ≤ width² ≤ 4^-S, and opens level S + 1.
    longest = (player.regularization + rounds * player.action_norm**2) * (1.0 + 2.0 * TIE)
    return max(0, math.floor(math.log(longest / shortest2(player, world), 4.0))) + 1


def shortest2(player: Player, world: World) -> float:
    """A lower bound on the squared lengths of the actions that are stored."""
    least = (NEGLIGIBLE * player.action_norm) ** 2
    if world.drawn:
        return max(world.shortest**2 * (1.0 - 1e-9), least)
    lengths: Array = (world.sets**2).sum(axis=2)
    stored = lengths[lengths >= least]
    return float(stored.min()) if stored.size else 1.0
