"""What the agents with such sets share: parameters, and under which ζ they answer."""

from __future__ import annotations

from typing import Any, TypeVar

from unipac import _checks as check
from unipac._arrays import Array
from unipac.bandits.sets.state import answered, empty, in_force, make_rules
from unipac.linalg.blocks import first_across

T = TypeVar("T")


def told(agent: Any) -> tuple[float, ...]:
    """The values of ζ, increasing, as they were told."""
    value = agent._given("misspecification")
    return value if isinstance(value, tuple) else (value,)


def assumes(cls: T) -> T:
    """Let ``misspecification`` of the agents of a class be the ζ in force; it is told as one number or as several."""
    made: Any = cls
    otherwise = made._given

    def get(agent: Any) -> Any:
        """ζ in force: certificates hold if rewards are linear within this."""
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
    names = ("noise", "norm", "regularization", "action_norm", "reward_range")
    assumed = {name: getattr(agent, name) for name in names}
    assumed["misspecification"] = told(agent)
    return empty(agent.dim, agent.blocks, make_rules(agent.dim, agent.blocks, share, **assumed))


def check_parameters(agent: Any, kept: bool) -> None:
    """Refuse blocks of unequal length, and ζ > 0 where no sets are ``kept`` that know it."""
    dim, zetas = agent.dim, told(agent)
    check.require(dim % agent.blocks == 0, "blocks", f"a divisor of dim = {dim}", agent.blocks)
    check.require(kept or zetas == (0.0,), "misspecification", "0 without the sets of tight=True", zetas)
    check_blocks("fixed_actions", agent._arms, agent.blocks)


def check_blocks(name: str, X: Array, blocks: int) -> None:
    """Refuse actions, the rows along the last axis, with entries in two blocks."""
    if blocks > 1:
        rows = X.reshape(-1, X.shape[-1])
        bad = first_across(rows, X.shape[-1] // blocks)
        if bad >= 0:
            used = int(rows[bad].reshape(blocks, -1).any(axis=1).sum())
            words = f"zero outside of one of {blocks} blocks (blocks=1 serves columns that actions share)"
            check.require(False, name, words, f"row {bad} with entries in {used} blocks")
