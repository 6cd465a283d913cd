"""A bar for long work."""

from __future__ import annotations

from collections.abc import Iterator


def shown(numbers: range, what: str, visible: bool) -> Iterator[int]:
    """The numbers, with a bar on the terminal that tells the speed and the time left."""
    if not visible:
        yield from numbers
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Speed(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "")

    with Progress(what, BarColumn(), MofNCompleteColumn(), Speed(), TimeRemainingColumn()) as bar:
        yield from bar.track(numbers, description=what)
