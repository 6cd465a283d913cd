# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.experiments.builtin import EXPERIMENTS
from unipac.experiments.findings import Finding
from unipac.experiments.reading import parse, read
from unipac.experiments.registry import SpecError
from unipac.experiments.results import Results
from unipac.experiments.runner import Failure, Outcome, Progress, run
from unipac.experiments.spec import Spec
from unipac.experiments.store import Store, StoreError

__all__ = [
    "EXPERIMENTS", "Failure", "Finding", "Outcome", "Progress", "Results", "Spec", "SpecError", "Store",
    "StoreError", "parse", "read", "run"
]
