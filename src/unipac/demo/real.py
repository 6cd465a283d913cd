"""Real data: certificates under what the data allow, beside a comparison that assumes nothing about rewards."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import unipac
from unipac import data
from unipac.demo import drawing as d
from unipac.demo.part import Chart, Part, grouped, rounded
from unipac.experiments.findings import Finding

ALLOWED = (0.0, 0.05, 0.1)
"""How far rewards may be from linear; the agent moves on when the data refute one."""
HOLDOUT = 0.05
BEFORE = {"one number": "“one number decides”", "benign": "“benign for everybody”"}
"""The rules that were used before, by name, and in words."""
CUT = 0.5
"""The rule of one number: malignant above it. It is right in 88.8 percent of all cases."""
WRONG = 0.05
"""At most this share of decisions should lose more than was promised, although no linear model is true."""
CODE = """\
agent = Guarded(LinUCB(12), noise=0.5, norm=8.7, reward_range=(0, 1), blocks=2, misspecification=(0, 0.05, 0.1))
clinic = Deployment(agent, holdout=0.05)                    # one of 20 decisions is drawn at random
clinic.compare("benign", 1)                                 # what was done before
clinic.compare("one number", lambda patient, rows: 0 if patient["component"] > 0.5 else 1)
...
clinic.advantage("one number").upper                        # below 0: what was done before earns less, proven"""


def one_number(patient: Mapping[str, float], rows: Sequence[int]) -> int:
    """What another rule would say: 0 is malignant, 1 benign."""
    return 0 if patient["component"] > CUT else 1


def play(decisions: int = 15_000, seed: int = 0) -> dict[str, Any]:
    """Decide, learn and compare."""
    instance = data.breast_cancer()
    told: dict[str, Any] = {
        "noise": 0.5,
        "norm": instance.norm,
        "reward_range": (0, 1),
        "blocks": instance.blocks,
    }
    agent = unipac.Guarded(unipac.LinUCB(instance.dim), misspecification=ALLOWED, **told)
    clinic = unipac.Deployment(agent, holdout=HOLDOUT, seed=seed)
    clinic.compare("benign", 1)
    clinic.compare("one number", one_number)
    batch = instance.rounds(0, decisions, seed=seed)
    width = instance.dim // 2
    component = batch.actions[:, 0, 0] / batch.actions[:, 0, width - 1]
    chosen: dict[str, list[Any]] = {"certificate": [], "lost": [], "assumed": [], "drawn": []}
    compared: dict[str, Any] = {"at": [], **{name: {"low": [], "high": []} for name in BEFORE}}
    places = {part.stop for part in grouped(range(decisions), 60)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the chart shows where the data refute a misspecification
        for k in range(decisions):
            decision = clinic.decide({"component": float(component[k])}, batch.actions[k], id=k)
            reward = float(batch.rewards[k, decision.index])
            clinic.reward(k, reward)
            chosen["certificate"].append(decision.certificate)
            chosen["lost"].append(1.0 - reward)
            chosen["assumed"].append(decision.misspecification)
            chosen["drawn"].append(decision.holdout)
            if k + 1 in places:
                compared["at"].append(k + 1)
                for name in BEFORE:
                    found = clinic.advantage(name)
                    compared[name]["low"] += rounded([-found.upper])
                    compared[name]["high"] += rounded([-found.lower])
    return {**_summed(chosen), "compared": compared, "certified": clinic.consistent, "dim": instance.dim}


def _summed(chosen: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Certificates and losses of the decisions that were not drawn, in groups."""
    free = ~np.array(chosen["drawn"])
    certificate, lost = np.array(chosen["certificate"])[free], np.array(chosen["lost"])[free]
    at = np.flatnonzero(free) + 1
    parts = grouped(at.tolist(), 60)
    assumed = np.array(chosen["assumed"])
    moves = np.flatnonzero(np.diff(assumed)) + 1
    return {
        "decisions": len(free),
        "at": [int(at[part][-1]) for part in parts],
        "certificate": rounded(np.median(certificate[part]) for part in parts),
        "lost": rounded(lost[part].mean() for part in parts),
        "more than promised": float((lost > certificate + 1e-9).mean()),
        "right": float(1.0 - np.array(chosen["lost"]).mean()),
        "moves": [[int(k) + 1, float(assumed[k])] for k in moves],
    }


def tell(found: Mapping[str, Any]) -> Part:
    """What came out."""
    compared, count = found["compared"], found["decisions"]
    wrong = found["more than promised"]
    assumed = found["moves"][-1][1] if found["moves"] else ALLOWED[0]
    said = f"the certificates assume rewards within {assumed:g} of linear"
    if not found["certified"]:
        said = "the data have refuted all assumptions, and nothing is certified any more"
    findings = [_beats(compared, name) for name in BEFORE]
    findings.append(
        Finding(
            f"Certificates are claims here, not proofs: no linear model is true. Still at most {WRONG:.0%} of decisions"
            " lose more than was promised.",
            wrong <= WRONG,
            f"{wrong:.1%} do; {said}. The comparison does not rest on that.",
        )
    )
    least = compared["one number"]["low"][-1]
    return Part(
        name="data",
        question="Did it help? On real data, where no model is exactly true",
        setting="Each patient's tumour is called malignant or benign; the reward is 1 if that was right (569 patients"
        f" of Wisconsin, drawn again and again, {found['dim']} features). The label is not linear in the features,"
        " so the agent is told how far from linear rewards may be, and moves on when the data refute it. Beside it a"
        " comparison with two rules of before, which assumes nothing about rewards: it weighs the decisions that were"
        f" drawn at random, one of 20. The rule {BEFORE['one number']} says malignant if the first principal component"
        f" is above {CUT}.",
        number=f"{least:+.3f}",
        meaning="reward a decision, at least, above the rule of before: proven without any model"
        if least > 0
        else "reward a decision, at least, above the rule of before: that it helps is not proven yet",
        findings=findings,
        charts=[_certificates(found), _comparison(compared, count)],
        code=CODE,
    )


def _beats(compared: Mapping[str, Any], name: str) -> Finding:
    low, high = compared[name]["low"], compared[name]["high"]
    known = [at for at, least in zip(compared["at"], low, strict=True) if least > 0]
    last = f"between {low[-1]:+.3f} and {high[-1]:+.3f} a decision after {compared['at'][-1]:,}"
    since = f"; known since decision {known[0]:,}" if known else ""
    return Finding(
        f"What is decided earns more than the rule {BEFORE[name]}, whatever rewards are like.",
        True if low[-1] > 0 else False if high[-1] < 0 else None,
        f"The difference is {last}{since}.",
    )


def _certificates(found: Mapping[str, Any]) -> Chart:
    x, certificate, lost = found["at"], found["certificate"], found["lost"]
    count = found["decisions"]
    layers = [
        d.line(x, certificate, d.PROMISED),
        d.line(x, lost, d.TRUE),
        d.words(
            0.98 * count,
            0.45,
            "promised, if rewards are nearly linear",
            d.PROMISED,
            fontWeight=600,
            align="right",
        ),
        d.words(0.98 * count, 0.1, "lost in truth, on average", d.TRUE, fontWeight=600, align="right"),
    ]
    for k, (at, assumed) in enumerate(found["moves"]):
        text = (
            f"decision {at:,}: the data refute exact linearity,\nfrom here on rewards may be {assumed:g} off"
        )
        layers.append(d.moment(at, [0, 0.8 - 0.15 * k]))
        layers.append(d.words(at, 0.8 - 0.15 * k, text if k == 0 else f"now {assumed:g} off", dx=8))
    drawn = d.layered(*layers, x=d.across("decision", 0, count), y=d.upwards("reward", 0, 1))
    return Chart(
        "What a decision can lose, if rewards are nearly linear",
        drawn,
        f"The certificate falls from {certificate[0]} to {certificate[-1]}, the loss from {lost[0]} to {lost[-1]}.",
    )


def _comparison(compared: Mapping[str, Any], count: int) -> Chart:
    x = compared["at"]
    layers = [d.level(0.0, [0, count], d.TRUE)]
    for name, color in zip(BEFORE, (d.OTHER, d.PROVEN), strict=True):
        low, high = compared[name]["low"], compared[name]["high"]
        layers += [
            d.band(x, low, high, color, opacity=0.25),
            d.line(x, low, color, strokeWidth=2),
            d.words(
                0.98 * count,
                (low[-1] + high[-1]) / 2,
                f"than {BEFORE[name]}",
                color,
                fontWeight=600,
                align="right",
            ),
        ]
    layers.append(d.words(0.98 * count, -0.05, "↓ what was done before is better", d.TRUE, align="right"))
    drawn = d.layered(
        *layers, x=d.across("decision", 0, count), y=d.upwards("reward more a decision", -0.25, 0.45)
    )
    ends = "; ".join(
        f"{compared[name]['low'][-1]} to {compared[name]['high'][-1]}: {name}" for name in BEFORE
    )
    return Chart("Earned more than before, whatever rewards are like", drawn, f"At the end {ends}.")
