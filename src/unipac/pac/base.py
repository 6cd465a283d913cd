"""The protocol of searches: ask for samples until enough is known, then answer with a certificate.

An algorithm is a generator, written as its pseudo-code. It yields what it wants sampled and what it would answer if it
had to stop now, is sent what came, and returns the answer::

    def _steps(self) -> Steps:
        while ...:
            sums = yield Request(arms, counts, index, certificate)
        return index, certificate

It is a function of its parameters and of what it was told. So the log of that is its whole state: saving keeps the log,
loading and copying replay it.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar, NamedTuple, Self, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac import _declarations as declare
from unipac._agents import Agent, accepted, agent, parameter
from unipac._arrays import Integers
from unipac._inputs import LARGEST_REWARD, check_norms, floats, read_only
from unipac._parameters import OptionalArrayParameter
from unipac.envs import BanditInstance

LARGEST_BATCH = 2**53
"""Counts up to here are exact as float64."""


class Batch(NamedTuple):
    """What to sample.

    >>> from unipac import LinGapE
    >>> batch = LinGapE([[1.0, 0.0], [0.0, 1.0]]).ask()
    >>> batch.arms.tolist(), batch.counts.tolist()
    ([0, 1], [1, 1])
    """

    arms: Integers
    """(m,): which ones."""
    counts: Integers
    """(m,): how often each."""


class Answer(NamedTuple):
    """What a search has found so far.

    >>> from unipac import LinGapE, envs
    >>> LinGapE([[1.0, 0.0], [0.0, 1.0]], noise=0.0).run(envs.fixed_arms([[1, 0], [0, 1]], [0.2, 0.7])).index
    1
    """

    index: int  # type: ignore[assignment]  # it hides a method of tuples
    """The arm."""
    certificate: float
    """With probability 1 − δ, at every moment, nothing is better by more than this."""
    pulls: int
    """How many samples it took."""
    counts: Integers
    """(n,): how many of each arm."""


class Request(NamedTuple):
    """What an algorithm yields."""

    arms: Any
    counts: Any
    index: Any
    """What it would answer now: an arm, or whatever ``_found`` takes, ..."""
    certificate: float
    """... and how much worse than the best that can be."""


Steps = Generator[Request, Any, tuple[Any, float]]
"""Yields requests, is sent what ``tell`` was told, for arms the sums of their rewards; returns arm and certificate."""


class Log(NamedTuple):
    """All that a search was told: the state on disk."""

    lengths: Integers
    """(batches,): the arms of each batch."""
    arms: Integers
    counts: Integers
    sums: Any
    """What came, one row for each arm of each batch."""


@agent
class Search(Agent):
    """A search that asks for samples and stops; the algorithms derive from it.

    {parameters}

    >>> from unipac import LinGapE
    >>> search = LinGapE([[1.0, 0.0], [0.0, 1.0]], noise=0.1, eps=0.5)
    >>> while not search.done:
    ...     batch = search.ask()
    ...     search.tell(batch.counts * np.array([0.2, 0.7])[batch.arms])      # sums of rewards
    >>> search.answer.index, search.answer.certificate <= 0.5
    (1, True)
    """

    kind: ClassVar[str] = "search"
    theorem: ClassVar[str] = "PAC"
    samples: ClassVar[str] = "rewards"
    """What it is told: "rewards" of arms, "next states" of pairs, or "episodes" of policies."""

    delta: float = declare.delta()

    # -- what an algorithm writes --------------------------------------------------------------

    def _steps(self) -> Steps:
        raise NotImplementedError

    @property
    def certified(self) -> bool:
        """Whether certificates are proven under the assumptions given."""
        return True

    # -- for users -----------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether it has stopped by itself: with an answer, or as it would need more pulls than can be counted."""
        return self._wanted is None

    @property
    def answer(self) -> Any:
        """The answer so far, with a certificate that holds at every moment: an ``Answer``, or a ``Solution``."""
        with self._lock:
            return Answer(self._index, self._certificate, self._pulls, self._counts.copy())

    @property
    def pulls(self) -> int:
        """Samples so far."""
        return self._pulls

    def _summary(self) -> str:
        state = "done" if self.done else "searching"
        return f"{state}, {self._best()} up to {self._certificate:.3g} after {self._pulls:,} pulls"

    def _best(self) -> str:
        return f"arm {self._index}"

    def ask(self) -> Batch:
        """What to sample next; asked twice, the same. A ``ValueError`` if the search is done."""
        with self._lock:
            if self._wanted is None:
                raise ValueError("ask must not follow the end of the search, got a search that is done")
            return self._wanted

    def tell(self, sums: ArrayLike) -> None:
        """The sums of the rewards of each arm of the batch that was asked for, (m,)."""
        with self._lock:
            if self._wanted is None:
                raise ValueError("tell must follow ask, got a search that is done")
            self._told(self._wanted, self._read(sums, self._wanted))

    def run(self, instance: Any, *, seed: int = 0, max_pulls: SupportsIndex = 10**7) -> Any:
        """Sample an instance until done, or until the next batch would exceed ``max_pulls`` in all.

        Batch k is a function of (seed, k): a run may be stopped and continued.

        Args:
            instance: with the arms of this search.
            seed: of the noise.
            max_pulls: the most samples, those of before included; the certificate is valid then too.
        """
        self._check_instance(instance)
        most = check.count("max_pulls", max_pulls, least=0)
        with self._lock:
            while self._wanted is not None and self._pulls + int(self._wanted.counts.sum()) <= most:
                self._told(self._wanted, self._sample(instance, seed))
            return self.answer

    # -- what a search of another kind than arms writes ----------------------------------------

    def _check_instance(self, instance: Any) -> None:
        raise NotImplementedError

    def _sample(self, instance: Any, seed: int) -> Any:
        """What an instance brings for the batch that is asked for."""
        arms, counts = self.ask()
        return instance.pulls(arms, counts, batch=len(self.state), seed=seed)

    def _read(self, sums: Any, batch: Batch) -> Any:
        """What was told, as an array of its own with one row for each arm; a ``ValueError`` if it cannot be."""
        y = floats("sums", sums)
        check.require(y.shape == batch.arms.shape, "sums", f"of shape {batch.arms.shape}", y.shape)
        sound = bool((np.abs(y) <= LARGEST_REWARD * batch.counts).all())
        check.require(sound, "sums", f"finite, and rewards within ±{LARGEST_REWARD:g}", y)
        return y.copy()

    def _nothing(self) -> Any:
        """The rows that were told, if there are none."""
        return np.empty(0)

    def _found(self, index: Any) -> Any:
        """What the algorithm would answer, as ``answer`` keeps it."""
        return int(index)

    # -- state ---------------------------------------------------------------------------------

    def _n_arms(self) -> int:
        raise NotImplementedError

    def _empty(self) -> list[tuple[Batch, Any]]:
        self._pulls = 0
        self._counts = np.zeros(self._n_arms(), dtype=np.int64)
        self._search = self._steps()
        self._wanted: Batch | None = None
        self._advance(None)
        return []

    def _told(self, batch: Batch, sums: Any) -> None:
        self.state.append((batch, sums))
        self._pulls += int(batch.counts.sum())
        np.add.at(self._counts, batch.arms, batch.counts)
        self._advance(sums)

    def _advance(self, sums: Any) -> None:
        try:
            request = next(self._search) if sums is None else self._search.send(sums)
        except StopIteration as end:
            self._wanted = None
            self._index, self._certificate = self._found(end.value[0]), float(end.value[1])
            return
        self._index, self._certificate = self._found(request.index), float(request.certificate)
        arms, counts = (np.array(part, dtype=np.int64).reshape(-1) for part in request[:2])
        if self._pulls + sum(counts.tolist()) > check.LARGEST_COUNT:  # what is known now is all that can be
            self._wanted = None
            return
        self._wanted = Batch(read_only(arms), read_only(counts))

    def _saved(self) -> Log:
        batches = [batch for batch, _ in self.state]
        nothing: Integers = np.empty(0, dtype=np.int64)
        return Log(
            np.array([len(batch.arms) for batch in batches], dtype=np.int64),
            np.concatenate([nothing, *(batch.arms for batch in batches)]),
            np.concatenate([nothing, *(batch.counts for batch in batches)]),
            np.concatenate([self._nothing(), *(sums for _, sums in self.state)]),
        )

    def _restored(self, saved: Any) -> list[tuple[Batch, Any]]:
        """Replay the log; a ``ValueError`` where the search would have asked for something else."""
        self.state = []
        begin = 0
        for length in saved.lengths.tolist():
            part = slice(begin, begin + check.count("lengths", length, least=0))
            batch = self._wanted
            same = (
                batch is not None
                and np.array_equal(batch.arms, saved.arms[part])
                and np.array_equal(batch.counts, saved.counts[part])
                and len(saved.sums[part]) == length
            )
            check.require(same, "log", "that of this search", f"batch {len(self.state)}")
            self.tell(saved.sums[part])
            begin = part.stop
        check.require(begin == len(saved.arms) == len(saved.sums), "log", "complete", begin)
        replayed: list[tuple[Batch, Any]] = self.state
        return replayed


@agent
class BestArm(Search):
    """The best of some arms, up to ε; the algorithms derive from it.

    {parameters}

    >>> from unipac import RAGE, envs
    >>> instance = envs.fixed_arms([[1.0, 0.0], [0.0, 1.0]], [0.2, 0.7], noise=0.1)
    >>> search = RAGE.made_for(instance, eps=0.1)
    >>> isinstance(search, BestArm), search.run(instance, seed=0).index
    (True, 1)
    """

    arms: OptionalArrayParameter = parameter(default=None, words="(n, d), the arms", kw_only=False)
    eps: float = parameter(
        default=0.0, check=check.nonnegative, words="ε ≥ 0, how much worse than the best the answer may be"
    )
    noise: float = declare.noise()
    norm: float = declare.norm()

    def _check_parameters(self) -> None:
        X = floats("arms", self.arms).copy()
        check.require(X.ndim == 2 and X.size > 0, "arms", "of shape (n, d), not empty", X.shape)
        check_norms("arms", X, check.LARGEST)
        self.arms = read_only(X)
        self._X = X

    @classmethod
    def made_for(
        cls, instance: BanditInstance, *, rounds: int | None = None, seed: int = 0, **parameters: Any
    ) -> Self:
        """A search that fits an instance with fixed arms: its noise and norm, unless they are given.

        Args:
            instance: from ``unipac.envs``.
            rounds: not needed; searches stop by themselves.
            seed: for algorithms that break ties at random.
            parameters: further arguments of the search.
        """
        fits = isinstance(instance, BanditInstance) and instance.actions is not None
        check.require(fits, "instance", "a BanditInstance with fixed actions", instance)
        told = accepted(cls, noise=instance.noise, norm=instance.norm, seed=seed)
        return cls(**{"arms": instance.actions, **told, **parameters})

    def _n_arms(self) -> int:
        return len(self._X)

    def _largest_gap(self, index: int) -> float:
        """No arm is better than this one by more, whatever was seen: S max ‖y − x‖."""
        return self.norm * float(np.linalg.norm(self._X - self._X[index], axis=1).max())

    def _check_instance(self, instance: Any) -> None:
        arms = instance.actions if isinstance(instance, BanditInstance) else None
        fits = arms is not None and np.array_equal(arms, self._X)
        check.require(fits, "instance", "a BanditInstance with the arms of this search", instance)
