"""The way of a call through the source, for CONTRIBUTING.md: which functions run, in the order in which they are met.

    python docs/write_traces.py            writes the lists between their marks
    python docs/write_traces.py --check    exits with 1 if they are not up to date

Kernels run interpreted here, so that the profiler sees them. A function is listed once. Checks of arguments
(``_checks``, ``_inputs``) are left out: they come first everywhere.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- traces: written by docs/write_traces.py -->", "<!-- end of traces -->"
LEFT_OUT = ("_checks.py", "_inputs.py", "_lazy.py", "_jit.py", "_warnings.py")


def way(call: Callable[[], Any]) -> list[str]:
    """The functions of the package that a call reaches, as file:function."""
    source = ROOT / "src" / "unipac"
    seen: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        path, name = Path(frame.f_code.co_filename), frame.f_code.co_qualname.replace(".<locals>", "")
        if event == "call" and source in path.parents and path.name not in LEFT_OUT and "<" not in name:
            seen[f"{path.relative_to(source)}:{name}"] = None

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(seen)


def lists() -> str:
    """All lists, as Markdown."""
    import unipac

    sphere = unipac.envs.sphere(2, 3, noise=0.1)
    swim = unipac.envs.river_swim(3, 3)
    bandit = unipac.UPACOFUL.made_for(sphere)
    bandit.play(sphere, rounds=20)
    actions = next(iter(sphere.pieces(0, 1, 0))).actions[0]
    bandit.choose(actions)  # the first choice of an agent also looks up the kernel that it needs
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("UPACOFUL.choose", lambda: bandit.choose(actions)),
        ("UPACOFUL.play", lambda: bandit.play(sphere, rounds=3)),
    ]
    for cls in (unipac.CertVI, unipac.NestedFLUTE):
        agent = cls.made_for(swim)
        agent.play(swim, episodes=5)
        twin = cls.made_for(swim)
        calls += [
            (f"{cls.__name__}.act", lambda twin=twin: twin.act(0)),
            (f"{cls.__name__}.play", lambda agent=agent: agent.play(swim, episodes=3)),
        ]
    return "\n".join(f"**{title}**\n\n{numbered(way(call))}\n" for title, call in calls)


def numbered(steps: list[str]) -> str:
    """The list, one entry for consecutive functions of a file."""
    entries = []
    for path, group in itertools.groupby(steps, key=lambda step: step.partition(":")[0]):
        names = ", ".join(f"`{step.partition(':')[2]}`" for step in group)
        entries.append(f"{len(entries) + 1}. `{path}`: {names}")
    return "\n".join("\n".join(textwrap.wrap(entry, 116, subsequent_indent="   ")) for entry in entries)


def page() -> str:
    """CONTRIBUTING.md with the lists of now."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    if not rest:
        raise SystemExit(f"{PAGE.name} has no mark {BEGIN!r}")
    return f"{before}{BEGIN}\n\n{lists()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        interpreted = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
        raise SystemExit(subprocess.run([sys.executable, *sys.argv], env=interpreted).returncode)
    if "--check" in sys.argv:
        raise SystemExit(page() != PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page(), encoding="utf-8")
