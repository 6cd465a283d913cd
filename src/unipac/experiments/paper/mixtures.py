"""E14 compares agents for mixtures, features and tables, the growth of regret with H and d, and the VTR killer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from unipac.experiments.experiment import Experiment
from unipac.experiments.findings import Finding
from unipac.experiments.paper.measures import (
    exponent,
    late_share,
    mean_curve,
    mean_regret,
    mistakes_by_forced,
    numbers,
    within,
)
from unipac.experiments.results import Results

_SAME = {"agent": "UCRLVTR", "radius": "mixture", "scaling": "span"}
_SWIM, _CUBE, _SIMPLEX, _RIVER = "mixture swim", "hypercube mixture", "simplex", "RiverSwim 6 x 20"
_SHORT, _KILLER = "simplex, short", "VTR killer"
_SWIMS, _HORIZONS, _DIMS = (4, 8, 16), (2, 4, 8), (3, 4, 5, 6)
_FORCED = (10**3, 10**6, 10**9, 10**12)
_DELTA, _FEW = 0.05, 3


def _e14(full: bool) -> Mapping[str, Any]:
    mixture = {
        "NestedVTR": {"agent": "NestedVTR"},
        "UCRLVTR (same radius)": _SAME,
        "UCRLVTR": {"agent": "UCRLVTR"},
        "UPACVTR": {"agent": "UPACVTR"},
    }
    pooled = {f"{name} (pooled)": {**table, "homogeneous": True} for name, table in mixture.items()}
    likely = {
        "NestedVTR + likelihood": {"agent": "NestedVTR", "likelihood": True},
        "NestedVTR + likelihood (pooled)": {"agent": "NestedVTR", "likelihood": True, "homogeneous": True},
    }
    linear = {
        "UPACLSVI": {"agent": "UPACLSVI", "terminates": False},
        "NestedFLUTE": {"agent": "NestedFLUTE"},
    }
    tables = {
        "CertVI": {"agent": "CertVI"},
        "CertVI (pooled)": {"agent": "CertVI", "homogeneous": True},
        "UBEV": {"agent": "UBEV"},
        "PSRL": {"agent": "PSRL"},
        "QLearning": {"agent": "QLearning"},
    }
    weighted = {"UCRLVTRPlus": {"agent": "UCRLVTRPlus"}}
    references = {
        "CertLSVIUCB": {"agent": "CertLSVIUCB"},
        "ELEANOR": {"agent": "ELEANOR"},
        "UCMatrixRL": {"agent": "UCMatrixRL"},
        "LSVIUCB (finite)": {"agent": "LSVIUCB", "radius": "finite"},
    }
    every = [name for name in (*linear, *tables) if "pooled" not in name]  # stages differ on cube and simplex
    long = {"rounds": 30_000} if full else {}
    return {
        "seeds": 20 if full else 5,
        "rounds": 10**4 if full else 2000,
        "agents": {**mixture, **pooled, **likely, **linear, **tables, **weighted, **references},
        "instances": {
            _SWIM: {
                "instance": "mixture_swim",
                "agents": [*mixture, *pooled, *likely, *linear, *tables, *weighted],
            },
            _CUBE: {"instance": "hypercube_mixture", "agents": [*mixture, *every, *weighted]},
            _SIMPLEX: {"instance": "random_simplex", "dim": 4, "agents": every},
            _RIVER: {
                "instance": "river_swim",
                "n_states": 6,
                "horizon": 20,
                "agents": [*linear, *tables, "NestedVTR (pooled)"],
            },
            _SHORT: {
                "instance": "random_simplex",
                "dim": 4,
                "rounds": 500 if full else 200,
                "agents": [*references, "UPACLSVI"],
            },
            "swim": {
                "instance": "mixture_swim",
                "agents": ["NestedVTR + likelihood (pooled)", "NestedVTR (pooled)", "CertVI (pooled)"],
                "sweep": {"horizon": list(_SWIMS)},
            },
            "dimensions": {
                "instance": "hypercube_mixture",
                "agents": ["NestedVTR"],
                "sweep": {"dim": list(_DIMS)},
                **long,
            },
            "horizons": {
                "instance": "hypercube_mixture",
                "dim": _FEW,
                "agents": ["NestedVTR"],
                "sweep": {"horizon": list(_HORIZONS)},
                **long,
            },
            _KILLER: {
                "instance": "vtr_killer",
                "rounds": 3000,
                "agents": ["NestedVTR", "UPACVTR", "UCRLVTR (same radius)"],
                "sweep": {"forced": list(_FORCED)},
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

    likely, tabular = "NestedVTR + likelihood (pooled)", "CertVI (pooled)"
    same = [
        ratio("NestedVTR", "UCRLVTR (same radius)"),
        ratio("NestedVTR (pooled)", "UCRLVTR (same radius) (pooled)"),
        ratio("NestedVTR", "UCRLVTR (same radius)", _CUBE),
    ]
    findings = [
        compared("NestedVTR has at most 1.3 times the regret of UCRL-VTR with the same radius", same, 1.3),
        compared(
            "UCRL-VTR as printed has more than 1.5 times the regret of NestedVTR",
            [ratio("NestedVTR", "UCRLVTR"), ratio("NestedVTR (pooled)", "UCRLVTR (pooled)")],
            1 / 1.5,
        ),
        compared(
            "the likelihood of given kernels leaves NestedVTR at most 0.9 of its regret",
            [ratio("NestedVTR + likelihood", "NestedVTR"), ratio(likely, "NestedVTR (pooled)")],
            0.9,
        ),
        compared(
            "disjoint levels cost UPAC-VTR more: NestedVTR has at most 0.8 of its regret",
            [ratio("NestedVTR", "UPACVTR"), ratio("NestedVTR (pooled)", "UPACVTR (pooled)")],
            0.8,
        ),
        compared(
            "knowing the kernels is worth it at every horizon: at most half the regret of CertVI, which knows the"
            f" sizes of the tables only (mixture swim, H = {numbers(_SWIMS)})",
            [ratio(likely, tabular, f"swim horizon={H}") for H in _SWIMS],
            0.5,
        ),
        compared(
            "not knowing them costs: where the features only name the triples (s, a, s'), on RiverSwim, CertVI has"
            " at most a tenth of the regret of NestedVTR, both pooled",
            [ratio(tabular, "NestedVTR (pooled)", _RIVER)],
            0.1,
        ),
        compared(
            "where the features of a linear MDP are few, UPACLSVI has at most a tenth of the regret of CertVI, which"
            " does not see them, and of NestedFLUTE",
            [ratio("UPACLSVI", against, _SIMPLEX) for against in ("CertVI", "NestedFLUTE")],
            0.1,
        ),
        compared(
            "references are far from use: the agents that we recommend have at most half the regret of UCRL-VTR+ on"
            " both mixtures, and of Cert-LSVI-UCB and ELEANOR on the simplex",
            [
                ratio("NestedVTR", "UCRLVTRPlus"),
                ratio("NestedVTR", "UCRLVTRPlus", _CUBE),
                ratio("UPACLSVI", "CertLSVIUCB", _SHORT),
                ratio("UPACLSVI", "ELEANOR", _SHORT),
            ],
            0.5,
        ),
        _same_algorithm(results),
    ]
    return [*findings, *_scaling(results), *_killed(results)]


def _same_algorithm(results: Results) -> Finding:
    both = [mean_regret(results, agent, _SHORT) for agent in ("UCMatrixRL", "LSVIUCB (finite)")]
    return Finding(
        "UC-MatrixRL with one-hot ψ is LSVI-UCB with the radius for finite states.",
        math.isclose(*both, rel_tol=1e-9),
        f"regret {both[0]:.9g} and {both[1]:.9g}.",
    )


def _order(dim: int, horizon: int, episodes: float) -> float:
    """The regret, up to a constant, that theory allows a run that has learned the hard instance.

    If two actions differ in one sign, their chances to reach the goal differ by D = 2·gap/(d − 1), gap = 1/(2H), and
    the goal is worth at most H − h. The worse action is chosen only while D is below 2β times its width w, so the
    differences sum to at most Σ (2βw)²/D ≤ 8 β² log det(Σ)/D at each stage.
    """
    logdet = dim * math.log(1 + episodes / dim)
    radius2 = (logdet + 2 * math.log(2 * max(horizon - 1, 1) / _DELTA)) / 4 + 1
    gap = 1 / (horizon * (dim - 1))
    return horizon * (horizon - 1) / 2 * radius2 * logdet / gap


def _scaling(results: Results) -> list[Finding]:
    def grown(what: str, label: str, values: Sequence[int], allowed: Sequence[float]) -> Finding:
        names = [f"{label}={value}" for value in values]
        regret = [mean_regret(results, "NestedVTR", name) for name in names]
        curves = [mean_curve(results, "NestedVTR", name) for name in names]
        middle = len(curves[0][0]) // 2
        early = exponent(values, [curve[1][middle] for curve in curves])
        late = [late_share(results, "NestedVTR", name) for name in names]
        growth, most = exponent(values, regret), exponent(values, allowed)
        return Finding(
            f"On the hard instance the regret of NestedVTR grows with {what} no faster than what theory allows a run"
            " that has learned: Σ_h (H − h) β² log det(Σ)/D, where actions that differ in one sign differ by"
            " D = 1/(H(d − 1)).",
            within(growth, 0.0, most),
            f"exponent {growth:.2f} over {numbers(values)}, the bound's is {most:.2f}; after"
            f" {curves[0][0][middle]:,} episodes, when little is learned, {early:.2f}. Mean gap in the second half of"
            f" the run / in the first: {numbers(late)}.",
        )

    length = mean_curve(results, "NestedVTR", f"dimensions dim={_DIMS[0]}")[0][-1]
    return [
        grown(
            f"the dimension (H = 4, d = {numbers(_DIMS)})",
            "dimensions dim",
            _DIMS,
            [_order(d, 4, length) for d in _DIMS],
        ),
        grown(
            f"the horizon (d = {_FEW}, H = {numbers(_HORIZONS)})",
            "horizons horizon",
            _HORIZONS,
            [_order(_FEW, H, length) for H in _HORIZONS],
        ),
    ]


def _killed(results: Results) -> list[Finding]:
    def mistakes(agent: str) -> list[float]:
        return list(mistakes_by_forced(results, agent, 0.25, _KILLER).values())

    plain, nested, disjoint = (mistakes(name) for name in ("UCRLVTR (same radius)", "NestedVTR", "UPACVTR"))
    steps = [after - before for before, after in pairwise(plain)]
    after = " after 10^3, 10^6, 10^9, 10^12 forced episodes"
    return [
        Finding(
            "The VTR killer: the mistakes of UCRL-VTR grow with log K, the number of forced episodes, without end.",
            min(steps) >= 1,
            f"{numbers(plain)}{after}.",
        ),
        Finding(
            "Those of NestedVTR and UPAC-VTR have stopped: from 10^9 to 10^12 they change by less than 1.",
            max(abs(counts[-1] - counts[-2]) for counts in (nested, disjoint)) < 1,
            f"NestedVTR {numbers(nested)}, UPACVTR {numbers(disjoint)}{after}.",
        ),
        Finding(
            "In the end NestedVTR errs less often than UCRL-VTR with the same radius.",
            nested[-1] < plain[-1],
            f"{numbers([nested[-1], plain[-1]])} mistakes.",
        ),
    ]


E14 = Experiment(
    "e14-mixtures",
    "E14. Mixtures, features and tables",
    "Mixture swim (four kernels, H = 8), the hard instance of Zhou, Gu and Szepesvári as a mixture, random MDPs with"
    " features in a simplex, RiverSwim with 6 states and H = 20, and the first two with other horizons and dimensions."
    " Agents for mixtures, for features and for tables play where they make sense: what an agent is not told (kernels,"
    " features) it does without, on one-hot features or a table. Mixture agents know the rewards, the others"
    " learn them. Pooled agents know that all stages are alike. UCRL-VTR+, ELEANOR, PSRL and Q-learning prove nothing;"
    " the others are certified. The VTR killer: K forced episodes, taken in one exact step, then 3,000 choices of two"
    " actions. Gaps are exact.",
    _e14,
    _e14_predictions,
)
