"""E18: linear MDPs whose states are not counted."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from unipac.experiments.experiment import Experiment
from unipac.experiments.findings import Finding
from unipac.experiments.paper.measures import compared_regret, late_share, numbers
from unipac.experiments.results import Results

_RUNS = ("simplex dim=4", "simplex dim=6", "RiverSwim 3 x 3")


def _e18(full: bool) -> Mapping[str, Any]:
    star = {"agent": "StarLSVI", "mixture": True, "terminates": False}
    return {
        "seeds": 20 if full else 5,
        "rounds": 10**5 if full else 10**4,
        "agents": {
            "UPACLSVI (knows the states)": {"agent": "UPACLSVI", "terminates": False},
            "LSVIUCB (scaled)": {"agent": "LSVIUCB", "radius": "mixture", "bonus_scale": 0.3},
            "StarLSVI": star,
            "StarLSVI (scaled)": {**star, "bonus_scale": 0.3},
            "NestedFLUTE (explicit)": {"agent": "NestedFLUTE", "radius": "explicit"},
        },
        "instances": {
            "simplex": {"instance": "random_simplex", "sweep": {"dim": [4, 6]}},
            "RiverSwim 3 x 3": {"instance": "river_swim", "n_states": 3, "horizon": 3},
        },
    }


def _e18_predictions(results: Results) -> list[Finding]:
    compared = functools.partial(compared_regret, results, _RUNS)
    late = [late_share(results, "StarLSVI", instance) for instance in _RUNS]
    return [
        compared(
            "StarLSVI has at most a tenth of the regret of NestedFLUTE, of what is certified without counting states",
            "StarLSVI",
            "NestedFLUTE (explicit)",
            0.1,
        ),
        compared(
            "not to know the states costs StarLSVI at most 40 times the regret of UPACLSVI",
            "StarLSVI",
            "UPACLSVI (knows the states)",
            40.0,
        ),
        compared("a scaled bonus leaves half of the regret", "StarLSVI (scaled)", "StarLSVI", 0.5),
        compared(
            "certificates cost StarLSVI at most 3 times the regret of LSVI-UCB, both scaled by .3",
            "StarLSVI (scaled)",
            "LSVIUCB (scaled)",
            3.0,
        ),
        Finding(
            "Expected from pilot runs: StarLSVI has converged for the most part at this length.",
            all(share <= 0.5 for share in late),
            f"mean gap in the second half of the run / in the first: {numbers(late)}, on {', '.join(_RUNS)}.",
        ),
    ]


E18 = Experiment(
    "e18-any-states",
    "E18. Linear MDPs whose states are not counted",
    "Random MDPs with features in a simplex, and RiverSwim with one-hot features. StarLSVI takes nothing from the"
    " number of states: it would do the same with infinitely many. So does NestedFLUTE with explicit radii. UPACLSVI"
    " counts states. LSVI-UCB has 0.3 times the mixture radius and certifies nothing. Rewards are learned; StarLSVI is"
    " told that features are mixtures. Gaps are exact.",
    _e18,
    _e18_predictions,
)
