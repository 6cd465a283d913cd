"""The progress of a run on the screen."""

from __future__ import annotations

import time
from typing import Any

from rich.markup import escape

from unipac.cli.console import err, out, safe, seconds


class Screen:
    """The progress bar of a run, and lines for the first results; without a terminal, a line every 30 s."""

    FIRST_LINES = 12
    SECONDS_BETWEEN_LINES = 30.0

    def __init__(self, cells: int) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.fields[cells]} cells"),
            BarColumn(),
            TextColumn("{task.fields[pace]}"),
            console=err,
            transient=True,
            disable=not err.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, cells=f"0/{cells:,}", pace="")
        self._last_line = time.perf_counter()
        self._warm = (time.perf_counter(), 0)
        """When kernels were last compiled, and the rounds played until then; the speed is measured from there."""
        self._pairs: set[tuple[str, str, str]] = set()
        self._compiling = False

    def __enter__(self) -> Screen:
        self._bar.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)

    def watch(self, progress: Any) -> None:
        """Show the progress of the run."""
        now = time.perf_counter()
        cells, pace = f"{progress.finished:,}/{progress.cells:,}", ""
        if progress.compiling or (progress.latest is not None and progress.latest[2].compiling > 0):
            self._warm = (now, progress.played)
        if progress.compiling:
            pace = "compiling kernels, once per installation"
            if not self._compiling:
                out.print(f"[{cells}] {pace} ...", markup=False, soft_wrap=True)
            self._compiling = True
        elif progress.played > self._warm[1]:
            speed = (progress.played - self._warm[1]) / (now - self._warm[0])
            left = (progress.rounds - progress.played) / speed
            pace = f"{speed:,.0f} rounds/s, {seconds(left)} left"
        self._bar.update(
            self._task, total=max(progress.rounds, 1), completed=progress.played, cells=cells, pace=pace
        )
        if progress.latest is None:
            return
        experiment, cell, computed = progress.latest
        pair = (experiment, cell.agent.label, cell.instance.label)
        if pair not in self._pairs and len(self._pairs) < self.FIRST_LINES:
            self._pairs.add(pair)
            counted = {"mdp": "episodes", "search": "pulls at most"}.get(cell.agent.kind, "rounds")
            result = f"{cell}: {cell.instance.rounds:,} {counted} in {seconds(computed.seconds - computed.compiling)}"
            if computed.compiling >= 0.1:
                result += f", after {seconds(computed.compiling)} of compiling"
            out.print(escape(f"[{cells}] ") + safe(result), soft_wrap=True)
        elif pace and not err.is_terminal and now - self._last_line > self.SECONDS_BETWEEN_LINES:
            out.print(f"[{cells}] {pace}", markup=False, soft_wrap=True)
            self._last_line = now
