"""What agents with such sets share: their parameters, and the ζ under which they answer."""

from __future__ import annotations

from typing import Any, TypeVar

from unipac import _checks as check
from unipac._arrays import Array
from unipac.bandits.sets.state import answered, empty, in_force, make_rules
from unipac.linalg.blocks import first_across

T = TypeVar("T")

NARROWEST = 1e-50
"""The narrowest range of rewards that is accepted: the square of a narrower one would underflow."""


def told(agent: Any) -> tuple[float, ...]:
    """All values of ζ that the user gave, increasing."""
    value = agent._given("misspecification")
    return value if isinstance(value, tuple) else (value,)


def assumes(cls: T) -> T:
    """Make ``misspecification`` of a class's agents the ζ in force; users pass one number or several."""
    made: Any = cls
    otherwise = made._given

    def get(agent: Any) -> Any:
        """The ζ in force: certificates hold if rewards are linear within it."""
        value = agent._misspecification
        if type(value) is float:
            return value
        state = agent.__dict__.get("state")
        return value[0] if state is None else in_force(state.sets)

    def assign(agent: Any, value: Any) -> None:
        agent._misspecification = value

    def tell(agent: Any, name: str) -> Any:
        return agent._misspecification if name == "misspecification" else otherwise(agent, name)

    def under(agent: Any) -> float:
        value = agent._misspecification
        return value if type(value) is float else answered(agent.state.sets)

    made.misspecification, made._given, made._answered = property(get, assign), tell, under
    made._several = property(lambda agent: type(agent._misspecification) is tuple)
    return cls


def no_data(agent: Any, share: float) -> Array:
    """The sets of an agent before its first round; A and B have ``share`` of δ each."""
    names = ("noise", "norm", "regularization", "action_norm", "reward_range", "rewards_within")
    assumed = {name: getattr(agent, name) for name in names}
    assumed["misspecification"] = told(agent)
    return empty(agent.dim, agent.blocks, make_rules(agent.dim, agent.blocks, share, **assumed))


def check_parameters(agent: Any, kept: bool) -> None:
    """Refuse blocks of unequal length, and parameters that only sets use if none are ``kept``."""
    dim, zetas = agent.dim, told(agent)
    check.require(dim % agent.blocks == 0, "blocks", f"a divisor of dim = {dim}", agent.blocks)
    check.require(kept or zetas == (0.0,), "misspecification", "0 without the sets of tight=True", zetas)
    check_blocks("fixed_actions", agent._arms, agent.blocks)
    within = agent.rewards_within
    if within is not None:
        check.require(kept, "rewards_within", "None without the sets of tight=True", within)
        check.require(zetas == (0.0,), "rewards_within", "None with misspecification above 0", within)
        low, high = within
        check.require(high - low >= NARROWEST, "rewards_within", f"wider than {NARROWEST:g}", within)
        agent.reward_range = own = agent.reward_range or within
        inside = low <= own[0] and own[1] <= high
        check.require(inside, "reward_range", f"within rewards_within = {within}", own)
        agent._least_reward, agent._largest_reward = within


def check_blocks(name: str, X: Array, blocks: int) -> None:
    """Refuse actions (rows along the last axis) that have entries in two blocks."""
    if blocks > 1:
        rows = X.reshape(-1, X.shape[-1])
        bad = first_across(rows, X.shape[-1] // blocks)
        if bad >= 0:
            used = int(rows[bad].reshape(blocks, -1).any(axis=1).sum())
            words = f"zero outside of one of {blocks} blocks (blocks=1 serves columns that actions share)"
            check.require(False, name, words, f"row {bad} with entries in {used} blocks")
