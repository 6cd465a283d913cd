"""E14: agents for linear mixture MDPs side by side, at several horizons and dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unipac.experiments.experiment import Experiment
from unipac.experiments.findings import Finding
from unipac.experiments.paper.measures import exponent, mean_regret, numbers, within
from unipac.experiments.results import Results

_SAME = {"agent": "UCRLVTR", "radius": "mixture", "scaling": "span"}
_SWIM, _CUBE = "mixture swim", "hypercube mixture"
_HORIZONS, _DIMS = (4, 8, 16), (2, 4, 6)


def _e14(full: bool) -> Mapping[str, Any]:
    agents = {
        "NestedVTR": {"agent": "NestedVTR"},
        "UCRLVTR (same radius)": _SAME,
        "UCRLVTR": {"agent": "UCRLVTR"},
        "UPACVTR": {"agent": "UPACVTR"},
    }
    pooled = {f"{name} (pooled)": {**given, "homogeneous": True} for name, given in agents.items()}
    likely = {
        "NestedVTR + likelihood": {"agent": "NestedVTR", "likelihood": True},
        "NestedVTR + likelihood (pooled)": {"agent": "NestedVTR", "likelihood": True, "homogeneous": True},
        "CertVI (pooled)": {"agent": "CertVI", "homogeneous": True},
    }
    return {
        "seeds": 20 if full else 5,
        "rounds": 10**4 if full else 2000,
        "agents": {**agents, **pooled, **likely},
        "instances": {
            _SWIM: {"instance": "mixture_swim", "agents": [*agents, *pooled, *likely]},
            _CUBE: {"instance": "hypercube_mixture", "agents": [*agents]},
            "horizons": {
                "instance": "mixture_swim",
                "agents": ["NestedVTR + likelihood (pooled)", "CertVI (pooled)"],
                "sweep": {"horizon": list(_HORIZONS)},
            },
            "dimensions": {
                "instance": "hypercube_mixture",
                "agents": ["NestedVTR", "UCRLVTR (same radius)"],
                "sweep": {"dim": list(_DIMS)},
            },
        },
    }


def _e14_predictions(results: Results) -> list[Finding]:
    def ratio(agent: str, against: str, instance: str = _SWIM) -> float:
        return mean_regret(results, agent, instance) / mean_regret(results, against, instance)

    def compared(claim: str, ratios: list[float], most: float) -> Finding:
        return Finding(
            f"Expected from pilot runs: {claim}.", max(ratios) <= most, f"{numbers(ratios)} times."
        )

    same = [
        ratio("NestedVTR", "UCRLVTR (same radius)"),
        ratio("NestedVTR (pooled)", "UCRLVTR (same radius) (pooled)"),
        ratio("NestedVTR", "UCRLVTR (same radius)", _CUBE),
    ]
    growth = exponent(_DIMS, [mean_regret(results, "NestedVTR", f"dimensions dim={dim}") for dim in _DIMS])
    return [
        compared("NestedVTR has at most 1.3 times the regret of UCRL-VTR with the same radius", same, 1.3),
        compared(
            "UCRL-VTR as printed has more than 1.5 times the regret of NestedVTR",
            [ratio("NestedVTR", "UCRLVTR"), ratio("NestedVTR (pooled)", "UCRLVTR (pooled)")],
            1 / 1.5,
        ),
        compared(
            "the likelihood of given kernels leaves NestedVTR at most 0.9 of its regret",
            [
                ratio("NestedVTR + likelihood", "NestedVTR"),
                ratio("NestedVTR + likelihood (pooled)", "NestedVTR (pooled)"),
            ],
            0.9,
        ),
        compared(
            "disjoint levels cost UPAC-VTR more: NestedVTR has at most 0.8 of its regret",
            [ratio("NestedVTR", "UPACVTR"), ratio("NestedVTR (pooled)", "UPACVTR (pooled)")],
            0.8,
        ),
        compared(
            "knowing the kernels is worth it: at most half the regret of CertVI, which knows the tables' sizes only",
            [ratio("NestedVTR + likelihood (pooled)", "CertVI (pooled)")],
            0.5,
        ),
        Finding(
            "On the hard instance the regret of NestedVTR grows with the dimension, less than d² at this length.",
            within(growth, 0.0, 2.0),
            f"exponent {growth:.2f} over d = {numbers(_DIMS)}.",
        ),
    ]


E14 = Experiment(
    "e14-mixtures",
    "E14. Linear mixture MDPs",
    "Mixture swim (four kernels, H = 8), the hard instance of Zhou, Gu and Szepesvári as a mixture, and both with"
    " other horizons and dimensions. All agents are certified; rewards are known to all but CertVI. Pooled agents"
    " know that all stages are alike. Gaps are exact.",
    _e14,
    _e14_predictions,
)
