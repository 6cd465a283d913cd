"""The experiments that come with the library, by name."""

from __future__ import annotations

from collections.abc import Mapping

from unipac.experiments.experiment import Experiment
from unipac.experiments.paper import PAPER
from unipac.experiments.quickstart import QUICKSTART

EXPERIMENTS: Mapping[str, tuple[Experiment, ...]] = {
    "quickstart": (QUICKSTART,),
    "paper": PAPER,
    **{experiment.name: (experiment,) for experiment in PAPER},
}
"""For each name, one experiment, or several that are run together.

>>> [experiment.name for experiment in EXPERIMENTS["quickstart"]]
['quickstart']
"""
