"""The ledger of a bandit agent: which decisions wait for a reward, under which ids, and how many had theirs.

All of it is counted, not learned: an algorithm does not see it. It goes to files beside the state.
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from unipac import _checks as check
from unipac import _storage as storage
from unipac._actions import label
from unipac._agents import Agent, described
from unipac._inputs import action_array, check_norms, floats, read_only
from unipac._warnings import warn
from unipac.bandits.protocol.records import Decision

LARGEST_LEVEL = 2**31


class Ledger(Agent):
    """Decisions and their ids, counters, and whether the assumptions still stand."""

    dim: int
    action_norm: float

    def _begin(self) -> None:
        self._pending: dict[int, Decision] = {}
        self._first_id = self._next_id = secrets.randbits(62)  # two agents share an id as good as never
        self._rounds = 0
        self._surplus = 0  # decisions made, less rounds and pending: some were forgotten, some count as many
        self._consistent = True

    @property
    def consistent(self) -> bool:
        """False once a lower bound exceeded an upper one, or what the norms allow: then an assumption does not hold."""
        return self._consistent

    @property
    def rounds(self) -> int:
        """Rewards received so far, each counted ``times``."""
        return self._rounds

    def _summary(self) -> str:
        waiting = f", {len(self._pending):,} pending" if self._pending else ""
        refuted = "" if self._consistent else ", assumptions refuted"
        return f"{self._rounds:,} rounds{waiting}{refuted}"

    @property
    def pending(self) -> Mapping[int, Decision]:
        """The decisions that wait for a reward at this moment, by id, oldest first."""
        with self._lock:
            return MappingProxyType(dict(self._pending))

    def digest(self) -> str:
        """SHA-256 of parameters, what was learned and what is pending; equal for agents that are equal.

        Ids of decisions do not count, nor how many were forgotten: copies have the same digest.
        """
        with self._lock:
            header, arrays = described(self)
        progress = dict(header["progress"])
        progress["pending"] = [row[1:] for row in progress["pending"]]
        del progress["surplus"]
        return storage.digest({**header, "progress": progress}, arrays)

    # -- decisions -----------------------------------------------------------------------------

    def forget(self, decision: Decision | SupportsIndex) -> None:
        """Give up waiting for the reward of a decision."""
        with self._lock:
            del self._pending[self._waiting(decision).id]
            self._surplus += 1

    def _waiting(self, decision: Decision | SupportsIndex) -> Decision:
        id_ = decision.id if type(decision) is Decision else check.count("decision", decision, least=0)
        waiting = self._pending.get(id_)
        if waiting is None:
            why = (
                "rewarded or forgotten before"
                if self._first_id <= id_ < self._next_id
                else ("not one of this agent's, or no longer: a copy or an older file does not know it")
            )
            raise ValueError(f"decision must be waiting for a reward, got {id_}, which was {why}")
        return waiting

    def _number(self) -> int:
        """Counts decisions: the draws of each come from (seed, number)."""
        return self._rounds + len(self._pending) + self._surplus

    def _adopt(self, decision: Decision) -> int:
        """Take over a decision that an equal agent made, as if it had been made here; its id here."""
        if self.certified and not decision.certified and self._consistent:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._refute()  # known since then
        id_ = self._next_id
        self._pending[id_] = decision._replace(id=id_)
        self._next_id += 1
        return id_

    def _check_total(self, name: str, count: int) -> None:
        if self._rounds + count > check.LARGEST_COUNT:
            raise ValueError(
                f"{name} must keep the number of rounds within {check.LARGEST_COUNT}, "
                f"got {count} after {self._rounds}"
            )

    def _refute(self) -> None:
        if self._consistent:
            self._consistent = False
            warn(
                f"{type(self).__name__}: a lower bound exceeds an upper bound or what norm and action_norm allow, "
                "so an assumption does not hold (noise, norm, linear rewards); nothing is certified from here on",
                RuntimeWarning,
            )

    # -- files ---------------------------------------------------------------------------------

    def _progress(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        waiting = list(self._pending.values())
        values = [[d.mean, d.width, d.ucb, d.lcb, d.certificate] for d in waiting]
        progress = {
            "rounds": self._rounds,
            "surplus": self._surplus,
            "consistent": self._consistent,
            "pending": [[d.id, d.index, d.level, d.certified, d.label] for d in waiting],
        }
        arrays = {
            "pending.actions": np.array([d.action for d in waiting]).reshape(-1, self.dim),
            "pending.values": np.array(values, dtype=np.float64).reshape(-1, 5),
        }
        return progress, arrays

    @classmethod
    def _foresee(cls, parameters: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        dim = arrays["pending.actions"].shape[1]
        if "dim" in parameters:
            check.require(
                parameters["dim"] == dim, "dim", f"{dim}, as that of the actions", parameters["dim"]
            )

    def _resume(self, progress: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self._rounds = check.count("rounds", progress["rounds"], least=0, most=check.LARGEST_COUNT)
        most = check.LARGEST_COUNT
        self._surplus = check.count("surplus", progress["surplus"], least=-self._rounds, most=most)
        self._consistent = check.flag("consistent", progress["consistent"])
        waiting = progress["pending"]
        X = action_array("pending.actions", arrays["pending.actions"], self.dim, least=0)
        check_norms("pending.actions", X, self.action_norm)
        values = floats("pending.values", arrays["pending.values"])
        check.require(
            len(X) == len(waiting) == len(values), "pending", "as many actions as decisions", len(X)
        )
        check.require(values.shape[1:] == (5,), "pending.values", "of shape (n, 5)", values.shape)
        self._pending = {}
        for (id_, index, level, certified, named), x, row in zip(waiting, X, values.tolist(), strict=True):
            mean, width, ucb, lcb, certificate = row
            number = check.count("id", id_, least=0)
            check.require(number not in self._pending, "id", "of one decision only", number)
            self._pending[number] = Decision(
                number,
                check.count("index", index, least=0, most=2**62),
                read_only(x.copy()),
                check.count("level", level, least=0, most=LARGEST_LEVEL),
                mean,
                width,
                ucb,
                lcb,
                certificate,
                # What was claimed then must still be so under these parameters.
                check.flag("certified", certified) and self.certified,
                None if named is None else label("label", named),
            )

    def _resumed(self) -> None:
        for decision in self._pending.values():
            check.require(self._has_level(decision.level), "level", "one of the agent's", decision.level)

    def _has_level(self, level: int) -> bool:
        """Whether a decision that waits for its reward can have this level."""
        return True
