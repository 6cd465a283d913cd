"""What the examples in docstrings take for granted: ``tables`` of an experiment, the ``folder`` of a finished run."""

from __future__ import annotations

import pytest

collect_ignore_glob = [
    "src/unipac/cli/template/*"
]  # what `unipac new` copies; tests/cli/test_new.py runs a copy

TABLES = {
    "rounds": 50,
    "seeds": 1,
    "agents": {"ours": {"agent": "NestedOFUL"}},
    "instances": {"arms": {"instance": "sphere", "dim": 2}},
}
"""As in the example of ``unipac.experiments.parse``."""


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory):
    """The folder of a small run."""
    from unipac.experiments import parse, run

    folder = tmp_path_factory.mktemp("run")
    run([(parse(TABLES, name="mine"), folder)])
    return folder


@pytest.fixture(autouse=True)
def _given_to_examples(request):
    """Give examples what they take for granted; tests do not get it."""
    example = getattr(request.node, "dtest", None)
    if example is None:
        return
    sources = [line.source for line in example.examples]
    if any("(tables" in source for source in sources):
        example.globs.setdefault("tables", TABLES)
    if any("(folder" in source for source in sources):
        example.globs.setdefault("folder", request.getfixturevalue("finished_run"))
