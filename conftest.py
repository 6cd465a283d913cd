"""What the examples in docstrings of reports and results take for granted: the ``folder`` of a finished run."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory):
    """The folder of a small run."""
    from unipac.experiments import parse, run

    tables = {
        "rounds": 50,
        "seeds": 1,
        "agents": {"ours": {"agent": "NestedOFUL"}},
        "instances": {"arms": {"instance": "sphere", "dim": 2}},
    }
    folder = tmp_path_factory.mktemp("run")
    run([(parse(tables, name="mine"), folder)])
    return folder


@pytest.fixture(autouse=True)
def _folder_for_examples(request):
    """Give examples the folder; tests do not get it."""
    example = getattr(request.node, "dtest", None)
    if example is not None and any("(folder" in line.source for line in example.examples):
        example.globs.setdefault("folder", request.getfixturevalue("finished_run"))
