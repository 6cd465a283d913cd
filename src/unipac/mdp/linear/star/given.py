"""The parameters of StarLSVI: their words, checks, and numbers for kernels; and the policies it returns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from unipac import _checks as check
from unipac._agents import parameter
from unipac._arrays import Array, Integers
from unipac._inputs import floats, read_only
from unipac._warnings import warn
from unipac.envs import FiniteMDP
from unipac.envs.play.simulation import World
from unipac.mdp.linear.features import check_lengths, check_regularization, check_same, checked_features
from unipac.mdp.linear.star import episodes as kernels
from unipac.mdp.linear.star.chains import Rules
from unipac.mdp.linear.star.memory import END, OTHER
from unipac.mdp.linear.star.planning.evaluate import CURRENT, fill_planned
from unipac.mdp.linear.star.state import with_room
from unipac.mdp.protocol.inputs import check_fit
from unipac.mdp.protocol.ledger import Step
from unipac.mdp.protocol.plan import Change, Episode, Plan
from unipac.mdp.protocol.play import play_in_turn, room_for
from unipac.mdp.protocol.records import EpisodeTrace

if TYPE_CHECKING:
    from unipac.mdp.linear.star.star_lsvi import StarLSVI

SMALL = 0.2
"""A certificate below this share of the bound on V* is small: a new plan waits until its own is lower."""
NOT_NEGATIVE, SUM = 1e-12, 1e-9
LINEAR = 1e-8


def _rewards(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return check.one_of(name, value, ("deterministic", "noisy"))
    return read_only(floats(name, value).copy())


FEATURES = "φ, (states, actions, d), norms at most 1, for finitely many states"
FEATURE_MAP = parameter(
    default=None, words="instead, a function from observations to φ, (actions, d), for any state space"
)
N_ACTIONS = parameter(default=None, words="A, if the feature map does not state it")
DIM = parameter(default=None, words="d, if the feature map does not state it")
MIXTURE = parameter(
    default=False,
    check=check.flag,
    words="your promise that every coordinate of φ is a law of next states, at every stage, with an expected reward in "
    "``reward_range``: one-hot features, aggregation, mixtures of known laws; RBF, softmax or interpolation only if "
    "nature mixes so",
)
REWARDS = parameter(
    default="deterministic",
    check=_rewards,
    words='"deterministic": learned, always the same for a feature and stage; "noisy": learned, with noise; or known: '
    "an array (H, states, actions), or weights (H, d)",
)
TERMINATES = parameter(
    default=True, check=check.flag, words="whether episodes may end before H; bounds are smaller if not"
)
BONUS_SCALE = parameter(
    default=1.0,
    check=check.nonnegative,
    words="multiplies the bonus used to choose; certificates stay proven",
)
EXPLORE = parameter(
    default=0,
    check=lambda name, value: check.count(name, value, least=0),
    words="every so many episodes one is played by the newest plan with the full bonus; 0: none",
)
WAIT = parameter(
    default=True,
    check=check.flag,
    words="whether a new plan waits, while the certificate of the one in use is small, until its own is lower",
)
FALLBACK = parameter(
    default=None,
    check=check.optional_choice("NestedFLUTE"),
    words='"NestedFLUTE": it plays episodes whose certificate is too large for their number, which makes the agent '
    "uniform-PAC and halves δ; it never acts before 10^8 episodes",
)
REPLAN_FACTOR = parameter(
    default=2.0,
    check=check.at_least_one,
    words="plan anew when some Σ has grown by this factor in some direction",
)


def checked(agent: StarLSVI) -> tuple[Array, Rules]:
    """The table of features (S, A, d), S = 0 with a feature map, and the rules; a ``ValueError`` for bad parameters."""
    if (agent.features is None) == (agent.feature_map is None):
        raise ValueError("features must be given, or else a feature_map, got both or none")
    if agent.features is not None:
        agent.features = checked_features(agent.features)
        if agent.mixture:
            check_mixture("features", agent.features)
        table = np.array(agent.features)
    else:
        check.require(callable(agent.feature_map), "feature_map", "a function", agent.feature_map)
        names = ("n_actions", "dim")
        values = (getattr(agent.feature_map, name, getattr(agent, name)) for name in names)
        table = np.zeros((0, *map(check.count, names, values)))
    check_regularization(agent.regularization)
    agent.n_actions, agent.dim = table.shape[1:]
    check.require(agent.replan_factor > 1.0, "replan_factor", "above 1", agent.replan_factor)
    low, high = agent.reward_range
    plain = agent.fallback is None or (low, high) == (0.0, 1.0)
    check.require(plain, "reward_range", "(0, 1) with a fallback", agent.reward_range)
    noisy = isinstance(agent.rewards, str) and agent.rewards == "noisy"
    end = min(max(-low / (high - low), 0.0), 1.0)
    rules = Rules(
        horizon=agent.horizon,
        stages=agent.horizon if noisy else agent.horizon - 1,
        dim=agent.dim,
        n_actions=agent.n_actions,
        regularization=agent.regularization,
        mixture=agent.mixture,
        noisy=noisy,
        learned=isinstance(agent.rewards, str) and not noisy,
        terminates=agent.terminates,
        counted=agent.features is not None,
        scale=agent.bonus_scale,
        growth=agent.replan_factor,
        threshold=SMALL if agent.wait else -1.0,
        explore=agent.explore,
        delta=agent.delta if agent.fallback is None else 0.5 * agent.delta,
        low=low,
        unit=high - low,
        ends=end * np.arange(agent.horizon, -1, -1.0),
        weights=_weights(agent, table),
        inflation=1.0,
    )
    return table, rules


def check_mixture(name: str, phi: Array) -> None:
    """Refuse features that cannot be weights of laws."""
    smallest = float(phi.min())
    check.require(smallest >= -NOT_NEGATIVE, name, "non-negative if mixture=True", smallest)
    wrong = float(np.abs(phi.sum(axis=-1) - 1.0).max())
    check.require(wrong <= SUM, name, "such that each sums to 1 if mixture=True", f"an error of {wrong:g}")


def _weights(agent: StarLSVI, table: Array) -> Array:
    """μ (H, d) of known rewards on the scale from 0 to 1; zeros if they are not known."""
    (S, A, d), H, (low, high) = table.shape, agent.horizon, agent.reward_range
    if isinstance(agent.rewards, str):
        return np.zeros((H, d))
    given = np.array(agent.rewards)
    scaled = (given - low) / (high - low)
    if given.shape == (H, d):
        plain = low == 0.0 or agent.mixture
        check.require(plain, "reward_range", "(0, high) with weights, unless mixture", agent.reward_range)
        weights = scaled
    else:
        expected = f"({H}, {d})" + (f" or ({H}, {S}, {A})" if S else "")
        check.require(given.shape == (H, S, A) and S > 0, "rewards", f"of shape {expected}", given.shape)
        weights = np.asarray(np.linalg.lstsq(table.reshape(-1, d), scaled.reshape(H, -1).T)[0].T, np.float64)
        wrong = float(np.abs(np.einsum("sad,hd->hsa", table, weights) - scaled).max())
        check.require(wrong <= LINEAR, "rewards", "linear in the features", f"an error of {wrong:g}")
    if S:
        paid = np.einsum("sad,hd->hsa", table, weights)
        inside = paid.min() >= -LINEAR and paid.max() <= 1.0 + LINEAR
        check.require(bool(inside), "rewards", "in reward_range", (paid.min(), paid.max()))
    return np.ascontiguousarray(weights)


def seen(agent: StarLSVI, name: str, observation: Any) -> Array:
    """The features of an observation, checked; those of a file are features already."""
    phi = observation if name in ("seen", "following") else agent.feature_map(observation)  # type: ignore[misc]
    phi = floats(f"feature_map({name})", phi)
    if phi.shape != (agent.n_actions, agent.dim):
        raise ValueError(
            f"feature_map({name}) must have shape ({agent.n_actions}, {agent.dim}), got {phi.shape}"
        )
    check_lengths(f"feature_map({name})", phi)
    if agent.mixture:
        check_mixture(f"feature_map({name})", phi)
    return phi.copy()


def check_end(agent: StarLSVI, h: int, terminated: bool) -> None:
    """Refuse an end before H where none was announced, or where 0 is not in the range of rewards."""
    if not terminated or h == agent.horizon - 1:
        return
    check.require(agent.terminates, "terminates", "True if episodes end before H", False)
    low, high = agent.reward_range
    around = "(low, high) around 0 if episodes terminate"
    check.require(low <= 0.0 <= high, "reward_range", around, agent.reward_range)


def check_mdp(agent: StarLSVI, mdp: Any) -> None:
    """Refuse an MDP with other features, or with rewards of another kind."""
    check.require(agent.features is not None, "feature_map", "absent for play; use learn or act", "one")
    check.require(isinstance(mdp, FiniteMDP), "mdp", "a FiniteMDP", mdp)
    check_same(mdp, agent.features)
    expected = "one whose rewards depend on (s, a) only, or rewards='noisy'"
    check.require(agent._rules.noisy or mdp.arrival_rewards is None, "mdp", expected, mdp)
    check_end(agent, -1, bool(mdp.terminal.any()))
    check_fit(mdp, (agent.horizon, agent.n_states, agent._rules.n_actions), agent.reward_range)


def largest_loss(rules: Rules) -> float:
    """Σ_h (hi_h − lo_h) of the first plan; Σ f of an episode is never larger."""
    if not rules.mixture or rules.learned or rules.noisy:
        return 0.5 * rules.horizon * (rules.horizon + 1.0)
    low = high = total = 0.0
    for h in range(rules.horizon - 1, -1, -1):
        if rules.terminates:
            low, high = min(low, rules.ends[h + 1]), max(high, rules.ends[h + 1])
        low, high = low + float(rules.weights[h].min()), high + float(rules.weights[h].max())
        total += high - low
    return total


def tables_of(features: Array, horizon: int) -> kernels.Tables:
    """Room for the plans as tables."""
    S = len(features)
    action = np.zeros((2, horizon, S), dtype=np.int64)
    room = np.zeros(S), np.zeros((2, S)), np.zeros(action.shape)
    return kernels.Tables(np.array(features), action, np.full(S, math.nan), *room)


class PlannedPolicy:
    """The policy of a plan: (observation, stage) to action; ``np.asarray`` is the table (H, S) of numbered states."""

    def __init__(self, agent: StarLSVI) -> None:
        self._agent = agent

    def __call__(self, observation: Any, stage: int) -> int:
        """The action for an observation."""
        phi = features_of(self._agent, self._agent._seen("observation", observation))
        return int(self.many(phi[None], stage)[0])

    def many(self, features: Array, stage: int) -> Integers:
        """The actions at many states, given by their features (n, A, d)."""
        agent = self._agent
        h = check.count("stage", stage, most=agent.horizon) - 1
        chosen, lost = np.zeros(len(features), dtype=np.int64), np.zeros(len(features))
        phi = np.array(features, dtype=np.float64)
        fill_planned(agent.state.chains, agent._rules, CURRENT, agent._rules.scale, h, phi, chosen, lost)
        return chosen

    def certificate(self, observation: Any) -> float:
        """How much worse than the best this policy can be from a first observation; NaN if nothing is proven."""
        agent = self._agent
        phi = features_of(agent, agent._seen("observation", observation))
        told = agent._rules.unit * kernels.told_of(agent.state, agent._rules, phi)[0]
        return told if agent.certified else math.nan

    def __repr__(self) -> str:
        return f"<policy of plan {self._agent.state.counters[kernels.NUMBER]}: {self._agent.horizon} stages>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        agent = self._agent
        check.require(agent.n_states > 0, "policy", "one with numbered states for a table", self)
        tables = tables_of(agent._table, agent.horizon)
        kernels.fill_tables(agent.state, agent._rules, tables, 0)
        return tables.action[0].astype(dtype or np.int64)


# -- between the protocol and the kernels ----------------------------------------------------------


def features_of(agent: StarLSVI, observed: Any) -> Array:
    """Features (A, d) of an observation that was seen."""
    return np.array(agent._table[observed] if agent.n_states else observed)


def action(agent: StarLSVI, h: int, level: int | None, seen: Any) -> tuple[int, int]:
    """The action at entry h, and the level to remember: above 0 in episodes of the fallback."""
    if agent._guard is not None and (level if h else is_theirs(agent, seen)):
        return agent._guard.action(h, level, seen)
    return int(kernels.act(agent.state, agent._rules, h, features_of(agent, seen))), 0


def explores(agent: StarLSVI) -> bool:
    """Whether the next episode explores."""
    return bool(kernels.explores(agent.state.counters, agent._rules))


def certificate(agent: StarLSVI, s: Any) -> float:
    """The certificate of the next episode; a trivial one if it explores or falls back, as these have no share of δ."""
    own, trivial, theirs = _told(agent, s)
    return trivial if theirs else own


def is_theirs(agent: StarLSVI, observed: Any) -> bool:
    """Whether the fallback plays the next episode, from this first state."""
    return _told(agent, observed)[2]


def _told(agent: StarLSVI, observed: Any) -> tuple[float, float, bool]:
    """The certificate of the next episode, the trivial one, and whether the fallback plays it."""
    told = kernels.told_of(agent.state, agent._rules, features_of(agent, observed))
    own, trivial = (agent._rules.unit * told[i] for i in (3 if explores(agent) else 0, 3))
    allowed = math.inf if agent._guard is None else agent._guard.allowed(agent.episodes + 1)
    return own, trivial, allowed < (own if agent.consistent else math.inf)


def regret_certificate(agent: StarLSVI, failure: float) -> float:
    """e/(e − 1) (Σ f + b log(1/failure)), b a bound on Σ f of an episode."""
    total = float(agent.state.lost[0]) - largest_loss(agent._rules) * math.log(failure)
    return agent._rules.unit * total * math.e / (math.e - 1.0) if agent.certified else math.nan


def plan_of(agent: StarLSVI) -> Plan:
    """The plan of the next episode as a table."""
    tables, state, exploring = tables_of(agent._table, agent.horizon), agent.state, explores(agent)
    live = int(exploring)
    kernels.fill_tables(state, agent._rules, tables, live)
    for s in range(agent.n_states):
        kernels.fill_bound(state, agent._rules, tables, s)
    action = tables.action[live][:, None]
    fresh = bool(state.counters[kernels.FRESH] == 1) and not exploring
    lower = tables.value if not exploring else tables.lower[1]
    plan = Plan(action, np.zeros_like(action), tables.bound, lower, fresh)
    if agent._guard is None or not may_fall_back(agent, 1):
        return plan
    theirs = np.array([is_theirs(agent, s) for s in range(agent.n_states)])
    return agent._guard.plan(plan, theirs, tables.lower[1])


def may_fall_back(agent: StarLSVI, episodes: int) -> bool:
    """Whether the fallback may play some of the next episodes."""
    return agent._guard is not None and agent._guard.allowed(agent.episodes + episodes) < math.inf


def learn(agent: StarLSVI, episode: Episode) -> Change:
    """What an episode of numbered states changes."""
    state, action, _, reward, following = episode
    steps = [Step(*step) for step in zip(*(part.tolist() for part in episode), strict=True)]
    phi, after = agent._table[state], agent._table[np.maximum(following, 0)]
    return change(agent, steps, phi, action, reward, after, state, following)


def change(agent: StarLSVI, steps: list[Step], phi: Array, *episode: Any) -> Change:
    """What an episode changes; ``steps`` are read if it is one of the fallback."""
    agent.state = with_room(agent.state)
    state, rules, guard = agent.state, agent._rules, agent._guard
    if guard is None or steps[0].level == 0:
        return kernels.learn, (state, rules, phi, *episode, kernels.lost_in(state, rules, phi))
    return guard.change(steps, (kernels.learn, (state, rules, phi, *episode, largest_loss(rules))))


def play(agent: StarLSVI, world: World, starts: Integers, uniforms: Array, trace: EpisodeTrace) -> None:
    """Play in parts: each time more room is needed, continue where it stopped."""
    if may_fall_back(agent, len(starts)):
        for k, s in enumerate(starts.tolist()):
            trace.explored[k] = explores(agent) and not is_theirs(agent, s)
            play_in_turn(agent, world, starts[k : k + 1], uniforms[k : k + 1], trace.part(k, k + 1))
        return
    tables, played = tables_of(agent._table, agent.horizon), room_for(trace, agent.horizon, agent.n_states)
    done = 0
    while done < len(starts):
        sure, agent.state = agent.consistent, with_room(agent.state)
        rest = (world, tables, starts, uniforms, done, played, trace.explored)
        done += agent._ledger.run(kernels.play, agent.state, agent._rules, *rest)
        if sure and not agent.consistent:
            warn(agent.refutation, RuntimeWarning)


def walked(steps: list[Step]) -> tuple[Any, ...]:
    """An episode of observations without numbers, for ``change``."""
    ended = isinstance(steps[-1].following, int)
    last = np.zeros_like(steps[-1].seen) if ended else steps[-1].following
    number = np.full(len(steps), OTHER, dtype=np.int64)
    number[-1] = END if ended else OTHER
    return (
        steps,
        np.array([step.seen for step in steps]),
        np.array([step.action for step in steps]),
        np.array([step.reward for step in steps]),
        np.array([*(step.following for step in steps[:-1]), last]),
        np.zeros(len(steps), dtype=np.int64),
        number,
    )
