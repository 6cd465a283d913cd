"""Whatever is raised in the middle of a call, all of it has happened or nothing; so a "finally: save" loses nothing."""

import signal
import threading

import pytest

from helpers import deployment_interrupts as interrupts


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # archives that were half written
@pytest.mark.parametrize("total", [60, pytest.param(5000, marks=pytest.mark.slow)])
def test_interrupts(total, tmp_path):
    """Two agents, with and without windows; every third time two interrupts in a row, then one during ``save``.

    The control is an older commit: ``python tests/helpers/deployment_interrupts.py 1000 --plain`` over its sources.
    """
    assert threading.current_thread() is threading.main_thread()
    tried, wrong = interrupts.run(total, tmp_path, progress=total > 1000)
    assert tried >= total
    assert not wrong
