"""How the command ``unipac`` ends: its exit codes, and signals as an exception."""

from __future__ import annotations

import signal
from types import FrameType

FAILED, USAGE, NOT_SEEN = 1, 2, 3
SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


class Stopped(BaseException):
    """A signal asks for an end; the message says which one, and what is kept."""

    def __init__(self, number: int) -> None:
        self.code = 128 + number
        super().__init__(SIGNALS[signal.Signals(number)])


def listen() -> None:
    """Let signals raise ``Stopped``, apart from those that shells have set aside for what runs unattended."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)
