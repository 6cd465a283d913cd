"""The ledger of a bandit agent: which decisions wait for a reward, under which ids, and how many had theirs.

All of it is counted, not learned: an algorithm does not see it. It goes to files beside the state. The attributes are
plain, and the changes of ``BanditAgent`` set them.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping
from itertools import starmap
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac._actions import label
from unipac._atomic import commit
from unipac._inputs import action_array, check_norms, floats, read_only
from unipac.bandits.protocol.records import Decision

LARGEST_LEVEL = 2**31


def refutation(agent: Any) -> str:
    """The warning after a refutation: the assumptions, not all of which can be right, and what to do."""
    zeta, told = agent._answered(), agent.reward_range
    linear = "linear rewards" if not zeta else f"rewards that are linear within misspecification={zeta:g}"
    known = [f"{name}={getattr(agent, name):g}" for name in ("noise", "norm") if hasattr(agent, name)]
    known += [] if told is None else [f"reward_range=({told[0]:g}, {told[1]:g})"]
    within = getattr(agent, "rewards_within", None)
    known += [] if within is None else [f"rewards_within=({within[0]:g}, {within[1]:g})"]
    more = "" if zeta is None else "a larger misspecification, "
    return (
        f"{type(agent).__name__}: a lower bound exceeds an upper bound or what norm and action_norm allow, so an "
        f"assumption does not hold; nothing is certified from here on. Assumed are, all together: {linear}, "
        f"{', '.join(known)}, rewards learned in the order of decisions or with delays that do not depend on them, "
        f"and none left out because of its value. State {more}a larger noise or norm, or use features in which "
        "rewards are closer to linear"
    )


def _first_id() -> int:
    return secrets.randbits(62)  # collisions are negligible


class Ledger:
    """Decisions and their ids, counters, and whether the assumptions still stand."""

    __slots__ = (
        "_ranks", "counted", "first_id", "late", "newest", "next_id", "pending", "played", "sound", "surplus"
    )  # fmt: skip

    def __init__(self) -> None:
        self.pending: dict[int, Decision] = {}
        """The decisions that wait for a reward, by id, oldest first."""
        self.first_id = self.next_id = _first_id()
        self.counted = 0
        """Rewards received, each counted ``times``, without those of ``played``."""
        self.played: list[tuple[int, bool]] = []
        """Blocks of rounds played just now: how many, and whether bounds are refuted; ``book`` empties it."""
        self.surplus = 0
        """Decisions made, less rounds and pending: some were forgotten, some count as many."""
        self.sound = True
        """Whether no bounds have refuted the assumptions, those of ``played`` aside."""
        self.late = False
        """Whether the reward being learned comes after that of a younger decision."""
        self.newest: float = -math.inf
        """The place of the youngest decision whose reward was learned while others waited for theirs."""
        self._ranks: dict[int, int] = {}  # places, below 0, of decisions from a file or from before a fork

    def take_new_ids(self) -> None:
        """Take a new identity: no other ledger has the ids of decisions from here on; those that wait keep theirs."""
        overtaken = self._overtaken()
        self.first_id = self.next_id = _first_id()
        self._stand_first(overtaken)

    @property
    def rounds(self) -> int:
        """Rewards received, each counted ``times``."""
        return self.counted + sum(count for count, _ in self.played) if self.played else self.counted

    @property
    def consistent(self) -> bool:
        """Whether no bounds have refuted the assumptions."""
        return self.sound and not (self.played and any(refuted for _, refuted in self.played))

    def place(self, id_: int) -> int:
        """Where a decision stands in the order of decisions; comparable within one ledger."""
        return self._ranks.get(id_, id_ - self.first_id)

    def overtake(self) -> None:
        """Note that rewards were learned of decisions younger than all pending ones."""
        self.newest = self.next_id - self.first_id

    def run(self, kernel: Callable[..., Any], *arguments: Any) -> tuple[int, bool]:
        """Let a kernel play rounds, and count them at the same moment: it returns (rounds, refuted).

        The list is extended in C, so nothing is raised between the last round and its count.
        """
        self.played.extend(starmap(kernel, (arguments,)))
        last = self.played[-1]
        self.book()
        return last

    def book(self) -> None:
        """Count the blocks that were played."""
        totals = (setattr, self, "counted", self.rounds), (setattr, self, "sound", self.consistent)
        commit((*totals, (self.played.clear,)))

    def copy(self) -> Ledger:
        """Another ledger of the same decisions and counts."""
        other = Ledger()
        other.pending, other.first_id, other.next_id = self.pending.copy(), self.first_id, self.next_id
        other.counted, other.surplus, other.sound = self.rounds, self.surplus, self.consistent
        other.late, other.newest, other._ranks = self.late, self.newest, self._ranks
        return other

    def number(self) -> int:
        """How many decisions were made; the draws of the next one come from (seed, number)."""
        return self.rounds + len(self.pending) + self.surplus

    def waiting(self, decision: Decision | SupportsIndex) -> Decision:
        """The decision, if it waits for a reward."""
        id_ = decision.id if type(decision) is Decision else check.identity("decision", decision)
        waiting = self.pending.get(id_)
        if waiting is None:
            why = (
                "rewarded or forgotten before"
                if self.first_id <= id_ < self.next_id
                else "not one of this agent's, or no longer: a copy or an older file does not know it"
            )
            raise ValueError(f"decision must be waiting for a reward, got {id_}, which was {why}")
        return waiting

    def enter(self, decision: Decision, refutes: bool) -> None:
        """Let the next decision wait; from the first change to the last there is no call, so nothing is raised."""
        id_ = decision.id
        after, sound = id_ + 1, self.sound and not refutes
        self.pending[id_], self.next_id, self.sound = decision, after, sound

    def adopt(self, decision: Decision, certified: bool) -> int:
        """Take over a decision of an equal agent, certified unless refuted, and return its id here."""
        if certified and not decision.certified:
            self.sound = False
        id_ = self.next_id
        self.pending[id_] = decision._replace(id=id_).under(decision.misspecification)
        self.next_id = id_ + 1
        return id_

    def check_total(self, name: str, count: int) -> None:
        """Refuse more rounds than can be counted."""
        if self.rounds + count > check.LARGEST_COUNT:
            raise ValueError(
                f"{name} must keep the number of rounds within {check.LARGEST_COUNT}, "
                f"got {count} after {self.rounds}"
            )

    # -- files ---------------------------------------------------------------------------------

    def saved(self, dim: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Counters and pending decisions for a file."""
        waiting = list(self.pending.values())
        values = [[d.mean, d.width, d.ucb, d.lcb, d.certificate] for d in waiting]
        progress = {
            "rounds": self.rounds,
            "surplus": self.surplus,
            "consistent": self.consistent,
            "overtaken": self._overtaken(),
            "pending": [[d.id, d.index, d.level, d.certified, d.label] for d in waiting],
        }
        zetas = [d.misspecification for d in waiting]
        if zetas.count(None) < len(zetas):
            progress["misspecification"] = zetas
        arrays = {
            "pending.actions": np.array([d.action for d in waiting]).reshape(-1, dim),
            "pending.values": np.array(values, dtype=np.float64).reshape(-1, 5),
        }
        return progress, arrays

    def restore(
        self,
        progress: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        dim: int,
        action_norm: float,
        certified: bool,
    ) -> None:
        """Take over what was saved; raise a ``ValueError`` or ``KeyError`` if nothing could have led to it."""
        self.counted = check.count("rounds", progress["rounds"], least=0)
        self.surplus = check.count("surplus", progress["surplus"], least=-self.counted)
        self.sound = check.flag("consistent", progress["consistent"])
        waiting = progress["pending"]
        X = action_array("pending.actions", arrays["pending.actions"], dim, least=0)
        check_norms("pending.actions", X, action_norm)
        values = floats("pending.values", arrays["pending.values"])
        check.require(
            len(X) == len(waiting) == len(values), "pending", "as many actions as decisions", len(X)
        )
        check.require(values.shape[1:] == (5,), "pending.values", "of shape (n, 5)", values.shape)
        self.pending = {}
        zetas = progress.get("misspecification", [None] * len(X))
        for (id_, index, level, was_certified, named), x, row, zeta in zip(
            waiting, X, values.tolist(), zetas, strict=True
        ):
            mean, width, ucb, lcb, certificate = row
            number = check.identity("id", id_)
            check.require(number not in self.pending, "id", "of one decision only", number)
            self.pending[number] = Decision(
                number,
                check.count("index", index, least=0),
                read_only(x.copy()),
                check.count("level", level, least=0, most=LARGEST_LEVEL),
                mean,
                width,
                ucb,
                lcb,
                certificate,
                # What was claimed then must still be so under these parameters.
                check.flag("certified", was_certified) and certified,
                None if named is None else label("label", named),
            ).under(None if zeta is None else check.nonnegative("misspecification", zeta))
        self._stand_first(check.count("overtaken", progress["overtaken"], least=0, most=len(self.pending)))

    def _overtaken(self) -> int:
        """How many decisions wait although the reward of a younger one was learned; they are the first in order."""
        return sum([self.place(id_) < self.newest for id_ in self.pending])

    def _stand_first(self, overtaken: int) -> None:
        """Let the decisions that wait stand before all that this ledger will number, so many of them overtaken."""
        count = len(self.pending)
        self._ranks = {id_: place - count for place, id_ in enumerate(self.pending)}
        self.newest = overtaken - count if overtaken else -math.inf
