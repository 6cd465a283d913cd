# Written by `make pages` from the names in __init__.py and the agents in registry.py.

from unipac.experiments.options import Options as Options
from unipac.report import figures as figures
from unipac.report import predictions as predictions
from unipac.report.content import findings as findings
from unipac.report.content import Section as Section
from unipac.report.folders import section as section
from unipac.report.folders import sections as sections
from unipac.report.tables import summary as summary
from unipac.report.writing import build as build
