"""The time of a deployment: seconds while it ran, so that downtime and the clock on the wall do not count."""

from __future__ import annotations

from collections.abc import Callable

from unipac import _checks as check
from unipac._atomic import Change

LATEST = 1e11
"""The latest time, in seconds, about 3,000 years: beyond it a double could hardly resolve the end of a window."""


class Uptime:
    """The time at the last call, and what the clock said then."""

    __slots__ = ("clock", "mark", "time")

    def __init__(self, clock: Callable[[], float], time: float = 0.0) -> None:
        self.clock, self.time, self.mark = clock, time, check.real("clock", clock())

    def now(self, at: float | None = None, name: str = "at") -> tuple[float, float]:
        """The time, and what the clock says; nothing changes. With ``at``, the time is ``at``, which may be ahead."""
        mark = self.clock()
        if not (type(mark) is float and -LATEST < mark < LATEST):  # the usual case needs no further check
            mark = check.real("clock", mark)
        time = self.time + (mark - self.mark if mark > self.mark else 0.0)
        if at is not None:
            time = check.real(name, at)
            check.require(time >= self.time, name, f"at least {self.time:g}, the time of the last call", at)
        if time > LATEST:
            check.require(False, "clock" if at is None else name, f"at most {LATEST:g} seconds", time)
        return time, mark

    def moved(self, now: tuple[float, float]) -> tuple[Change, ...]:
        """The changes that make this the time of the last call."""
        return (setattr, self, "time", now[0]), (setattr, self, "mark", now[1])

    def __copy__(self) -> Uptime:
        """A copy that starts from the same time, and advances by itself."""
        return Uptime(self.clock, self.now()[0])
