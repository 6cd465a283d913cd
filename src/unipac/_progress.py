"""A progress bar for long work."""

from __future__ import annotations

import sys
from collections.abc import Iterator


def shown(numbers: range, what: str, visible: bool) -> Iterator[int]:
    """Yield the numbers, and show a bar on the terminal with the speed and the time left."""
    if not visible:
        yield from numbers
        return
    try:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            ProgressColumn,
            Task,
            TimeRemainingColumn,
        )
        from rich.text import Text
    except ImportError:  # rich comes with unipac[experiments]
        yield from _with_lines(numbers, what)
        return

    class Speed(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "")

    with Progress(what, BarColumn(), MofNCompleteColumn(), Speed(), TimeRemainingColumn()) as bar:
        yield from bar.track(numbers, description=what)


def _with_lines(numbers: range, what: str) -> Iterator[int]:
    """Yield the numbers, and print a line for each tenth of them."""
    step = max(1, len(numbers) // 10)
    for done, number in enumerate(numbers, start=1):
        yield number
        if done % step == 0 or done == len(numbers):
            print(f"{what} {done:,}/{len(numbers):,}", file=sys.stderr, flush=True)
