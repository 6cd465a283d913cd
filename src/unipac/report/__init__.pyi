# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.experiments.options import Options
from unipac.report import figures, predictions
from unipac.report.content import Section, findings
from unipac.report.folders import section, sections
from unipac.report.tables import summary
from unipac.report.writing import build

__all__ = [
    "Options", "Section", "build", "figures", "findings", "predictions", "section", "sections", "summary"
]
