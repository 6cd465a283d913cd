"""How long a new user waits: a fresh clone, a fresh environment, ``pip install .``, the first code of the README.

    python benchmarks/first.py

Writes ``first.json``. The first decision (``import``, ``choose``, ``update``) is timed in a process that finds nothing
compiled, and in later ones, which read what it compiled: the difference is compiling. Times on the clock, and of the
processor, which other work on the machine does not change much.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
WRITTEN = Path(__file__).with_suffix(".json")
LATER = 5
"""Later processes."""
ENDS = "agent.update(decision, reward)"
"""The line of the README's first code with which the first decision has been made and learned."""

TIMED = """
import json, time
begin, spent = time.perf_counter(), time.process_time()
{code}
print(json.dumps([time.perf_counter() - begin, time.process_time() - spent]))
"""


def first_code(text: str) -> str:
    """The first code of a page, up to its first decision: a loop is left after one round."""
    block = text.partition("```python\n")[2].partition("```")[0]
    lines = [line[4:] for line in block.splitlines() if line.startswith((">>> ", "... "))]
    ends = next(k for k, line in enumerate(lines) if ENDS in line)
    indent = lines[ends][: len(lines[ends]) - len(lines[ends].lstrip())]
    return "\n".join([*lines[: ends + 1], *([f"{indent}break"] if indent else [])])


def run(code: str, python: Path, cache: Path) -> dict[str, float]:
    """Seconds of a program in a fresh process."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "NUMBA_CACHE_DIR")
    }
    environment["NUMBA_CACHE_DIR"] = str(cache)
    command = [str(python), "-c", TIMED.format(code=code)]
    done = subprocess.run(command, env=environment, cwd=cache, capture_output=True, text=True, check=True)
    clock, processor = json.loads(done.stdout.splitlines()[-1])
    return {"clock": clock, "processor": processor}


def main() -> None:
    code = first_code((ROOT / "README.md").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder / "clone")], check=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        python = folder / "venv" / "bin" / "python"
        begin = time.perf_counter()
        subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "."], cwd=folder / "clone", check=True
        )
        installed = time.perf_counter() - begin
        listed = subprocess.run(
            [str(python), "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True
        )
        (folder / "cache").mkdir()
        cold = run(code, python, folder / "cache")
        later = [run(code, python, folder / "cache") for _ in range(LATER)]
    found = {
        "processor": _processor(),
        "python": platform.python_version(),
        "packages": len(json.loads(listed.stdout)),
        "install": {"clock": installed},
        "first": cold,
        "later": {kind: statistics.median(one[kind] for one in later) for kind in ("clock", "processor")},
    }
    WRITTEN.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(WRITTEN.read_text(encoding="utf-8"))


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


if __name__ == "__main__":
    main()
