"""Experiments: agents × instances × seeds, run in parallel, resumed after any interruption, kept on disk."""

from unipac.experiments.builtin import EXPERIMENTS
from unipac.experiments.findings import Finding
from unipac.experiments.reading import parse, read
from unipac.experiments.registry import SpecError
from unipac.experiments.results import Results
from unipac.experiments.runner import Failure, Outcome, Progress, run
from unipac.experiments.spec import Spec
from unipac.experiments.store import Store, StoreError

__all__ = [
    "EXPERIMENTS",
    "Failure",
    "Finding",
    "Outcome",
    "Progress",
    "Results",
    "Spec",
    "SpecError",
    "Store",
    "StoreError",
    "parse",
    "read",
    "run",
]
