"""How the command ``unipac`` ends: its exit codes, and an exception for signals."""

from __future__ import annotations

import signal
from types import FrameType

FAILED, USAGE, NOT_SEEN = 1, 2, 3
SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


class Stopped(BaseException):
    """A signal asked the command to stop; the message says which signal, and what is kept."""

    def __init__(self, number: int) -> None:
        self.code = 128 + number
        super().__init__(SIGNALS[signal.Signals(number)])


def listen() -> None:
    """Let signals raise ``Stopped``; a signal that the shell set to be ignored, as under nohup, stays ignored."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)
