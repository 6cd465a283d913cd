"""Have mypy and pyright check ``usage.py``, which must pass, and ``wrong.py``, which must fail where it says.

python tests/typing/check.py
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FILES = [str(HERE / "usage.py"), str(HERE / "wrong.py")]
Found = set[tuple[str, int, str]]


def expected(tool: str) -> Found:
    """File, line and kind of the errors that the comments ask for."""
    return {
        (Path(file).name, number, kind)
        for file in FILES
        for number, line in enumerate(Path(file).read_text(encoding="utf-8").splitlines(), 1)
        for kind in re.findall(rf"  # .*\b{tool}: ([\w-]+)", line)
    }


def by_mypy() -> Found:
    """What mypy says."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--no-pretty", *FILES]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    if said.returncode > 1:
        raise SystemExit(said.stdout + said.stderr)
    errors = re.findall(r"^(\S+?):(\d+): error: .*\[([\w-]+)\]$", said.stdout, flags=re.M)
    return {(Path(file).name, int(line), kind) for file, line, kind in errors}


def by_pyright() -> Found:
    """What pyright says."""
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", *FILES]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    if said.returncode > 1:
        raise SystemExit(said.stdout + said.stderr)
    return {
        (Path(error["file"]).name, error["range"]["start"]["line"] + 1, error["rule"])
        for error in json.loads(said.stdout)["generalDiagnostics"]
        if error["severity"] == "error"
    }


def main() -> int:
    """Say where checkers and comments differ."""
    differ = 0
    for tool, found in (("mypy", by_mypy()), ("pyright", by_pyright())):
        asked = expected(tool)
        for title, errors in (("did not find", asked - found), ("found", found - asked)):
            differ += len(errors)
            for name, line, kind in sorted(errors):
                print(f"{tool} {title} {kind} in tests/typing/{name}:{line}")
        print(f"{tool}: {len(asked & found)} of {len(asked)} expected errors, {len(found - asked)} others")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
