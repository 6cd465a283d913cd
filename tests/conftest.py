"""``--every-kernel``: the tests of a run must have reached every compiled kernel of the package."""

from __future__ import annotations

from typing import Any

import pytest

REACHED = pytest.StashKey[set[str]]()


def pytest_addoption(parser: Any) -> None:
    parser.addoption(
        "--every-kernel", action="store_true", help="fail unless every compiled kernel is reached"
    )


def pytest_configure(config: Any) -> None:
    config.stash[REACHED] = set()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    told = getattr(node, "workeroutput", {})  # a worker that crashed has none
    node.config.stash[REACHED] |= set(told.get("kernels", ()))


def pytest_sessionfinish(session: Any) -> None:
    if not session.config.option.every_kernel:
        return
    from helpers import kernels

    found = session.config.stash[REACHED] | kernels.reached()
    if hasattr(session.config, "workeroutput"):  # a worker: the one who started it adds up
        session.config.workeroutput["kernels"] = sorted(found)
        return
    every, excused = set(kernels.kernels()), set(kernels.NOT_REACHED)
    lines = [f"not reached: {name}" for name in sorted(every - found - excused)]
    lines += [
        f"reached, or no kernel at all, yet excused: {name}" for name in sorted(excused - (every - found))
    ]
    report = session.config.pluginmanager.get_plugin("terminalreporter")
    report.ensure_newline()
    for line in [*lines, f"{len(every & found)} of {len(every)} kernels were reached"]:
        report.write_line(line)
    if lines:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
