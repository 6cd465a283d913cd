# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.experiments.builtin import EXPERIMENTS as EXPERIMENTS
from unipac.experiments.findings import Finding as Finding
from unipac.experiments.reading import parse as parse
from unipac.experiments.reading import read as read
from unipac.experiments.registry import SpecError as SpecError
from unipac.experiments.results import Results as Results
from unipac.experiments.runner import Failure as Failure
from unipac.experiments.runner import Outcome as Outcome
from unipac.experiments.runner import Progress as Progress
from unipac.experiments.runner import run as run
from unipac.experiments.spec import Spec as Spec
from unipac.experiments.store import Store as Store
from unipac.experiments.store import StoreError as StoreError
