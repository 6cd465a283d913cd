"""The protocol of searches: ask for samples until they suffice, then answer with a certificate.

An algorithm is a generator, written as its pseudo-code. It yields what to sample and what it would answer if it
had to stop now, receives the results, and at the end returns the answer::

    def _steps(self) -> Steps:
        while ...:
            sums = yield Request(arms, counts, index, certificate)
        return index, certificate

What it does is a function of its parameters and of these results. So the log of the results is its whole state: saving
keeps the log, loading and copying replay it.
"""

from __future__ import annotations

from typing import Any, ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check, _declarations as declare, _notebook as notebook
from unipac._agents import Agent, agent
from unipac._arrays import Integers
from unipac._atomic import commit
from unipac._inputs import LARGEST_REWARD, floats, read_only
from unipac.pac.protocol.records import Answer, Batch, Log, Moment, Steps


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
    """What ``tell`` takes: "rewards" of arms, "next states" of pairs, or "episodes" of policies."""

    delta: float = declare.delta()

    # -- what an algorithm writes --------------------------------------------------------------

    def _steps(self) -> Steps:
        raise NotImplementedError

    @property
    def _proven(self) -> bool:
        """Whether certificates are proven under the assumptions of the search."""
        return True

    # -- for users -----------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether it has stopped by itself: with an answer, or because it would need more pulls than can be counted."""
        return self._now.wanted is None

    @property
    def answer(self) -> Any:
        """The answer so far, with a certificate that holds at every moment: an ``Answer``, or a ``Solution``."""
        with self._lock:
            now = self._now
        return Answer(now.index, now.certificate, now.pulls, now.counts.copy())

    @property
    def pulls(self) -> int:
        """Samples so far."""
        return self._now.pulls

    def _summary(self) -> str:
        state = "done" if self.done else "searching"
        return f"{state}, {self._best()} up to {self._now.certificate:.3g} after {self.pulls:,} pulls"

    def _best(self) -> str:
        return f"arm {self._now.index}"

    def ask(self) -> Batch:
        """What to sample next, the same until ``tell`` is called. A ``ValueError`` if the search is done."""
        with self._lock:
            wanted = self._now.wanted
        if wanted is None:
            raise ValueError("ask must not follow the end of the search, got a search that is done")
        return wanted

    def tell(self, sums: ArrayLike) -> None:
        """Report the sum of the rewards of each arm of the batch that was asked for, (m,)."""
        with self._lock:
            wanted = self._now.wanted
            if wanted is None:
                raise ValueError("tell must follow ask, got a search that is done")
            self._learn(wanted, self._read(sums, wanted))

    def run(self, instance: Any, *, seed: int = 0, max_pulls: SupportsIndex = 10**7) -> Any:
        """Sample an instance until done, or until the next batch would exceed ``max_pulls`` in all.

        Batch k is a function of (seed, k): a run may be stopped and continued.

        Args:
            instance: with the arms of this search.
            seed: of the noise.
            max_pulls: the most samples in all, earlier ones included; the certificate is valid then too.
        """
        self._check_instance(instance)
        most = check.count("max_pulls", max_pulls, least=0)
        with self._lock:
            while (wanted := self._now.wanted) is not None and self.pulls + int(wanted.counts.sum()) <= most:
                self._learn(wanted, self._sample(instance, seed))
            return self.answer

    def plot(self) -> Any:
        """An Altair chart: the certificate over the pulls, and how often each arm was pulled.

        The search is computed once more, from its log. ``.save("search.svg")`` and ``.save("search.png")`` write it.
        """
        with self._lock:
            log, now = list(self.state), self._now
        running = self._steps()
        before = [
            request.certificate
            for request in (next(running) if k == 0 else running.send(log[k - 1][1]) for k in range(len(log)))
        ]
        pulls = np.cumsum([0, *(batch.counts.sum() for batch, _ in log)])
        return notebook.charts().search(
            repr(self).strip("<>"), pulls, [*before, now.certificate], now.counts, self.samples
        )

    def _repr_html_(self) -> str:
        with self._lock:
            facts = {name: getattr(self, name) for name in ("pulls", "done", "certified", "guarantee")}
            return notebook.agent_table(repr(self), {**facts, "certificate": self._now.certificate}, ())

    # -- what a search writes that does not sample arms ----------------------------------------

    def _check_instance(self, instance: Any) -> None:
        raise NotImplementedError

    def _sample(self, instance: Any, seed: int) -> Any:
        """The results of an instance for the batch that is asked for."""
        arms, counts = self.ask()
        return instance.pulls(arms, counts, batch=len(self.state), seed=seed)

    def _read(self, sums: Any, batch: Batch) -> Any:
        """The results as a new array with one row for each arm; a ``ValueError`` if they are impossible."""
        y = floats("sums", sums)
        check.require(y.shape == batch.arms.shape, "sums", f"of shape {batch.arms.shape}", y.shape)
        sound = bool((np.abs(y) <= LARGEST_REWARD * batch.counts).all())
        check.require(sound, "sums", f"finite, and rewards within ±{LARGEST_REWARD:g}", y)
        return y.copy()

    def _nothing(self) -> Any:
        """The results before the first batch: an array without rows."""
        return np.empty(0)

    def _found(self, index: Any) -> Any:
        """What the algorithm would answer, as ``answer`` keeps it."""
        return int(index)

    # -- state ---------------------------------------------------------------------------------

    def _n_arms(self) -> int:
        raise NotImplementedError

    def _begin(self) -> None:
        self._running: Steps | None = self._steps()
        self._now = self._advanced(self._running, None, 0, np.zeros(self._n_arms(), dtype=np.int64))

    def _empty(self) -> list[tuple[Batch, Any]]:
        return []

    def _learn(self, batch: Batch, sums: Any) -> None:
        """Prepare the next moment, then commit: an exception leaves the search before the batch or after it.

        What was sent to a generator cannot be taken back. So no generator is kept until the commit; if an
        exception prevents that, the next call makes one from the log.
        """
        running, self._running = self._replayed() if self._running is None else self._running, None
        counts = self._now.counts.copy()
        np.add.at(counts, batch.arms, batch.counts)
        now = self._advanced(running, sums, self.pulls + int(batch.counts.sum()), counts)
        moved = (setattr, self, "_running", running), (setattr, self, "_now", now)
        commit((*moved, (self.state.append, (batch, sums))))

    def _replayed(self) -> Steps:
        """A generator that has replayed the log."""
        running = self._steps()
        next(running)
        for _, sums in self.state:
            running.send(sums)
        return running

    def _advanced(self, running: Steps, sums: Any, pulls: int, counts: Integers) -> Moment:
        """The moment after these sums, which are None at the start."""
        try:
            request = next(running) if sums is None else running.send(sums)
        except StopIteration as end:
            return Moment(None, self._found(end.value[0]), float(end.value[1]), pulls, counts)
        arms, asked = (np.array(part, dtype=np.int64).reshape(-1) for part in request[:2])
        too_many = pulls + sum(asked.tolist()) > check.LARGEST_COUNT  # it stops with its present answer
        wanted = None if too_many else Batch(read_only(arms), read_only(asked))
        return Moment(wanted, self._found(request.index), float(request.certificate), pulls, counts)

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
            batch = self._now.wanted
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
