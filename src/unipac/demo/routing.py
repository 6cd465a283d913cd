"""Which of three models answers a request? Rewards are linear in the features, and the truth is known here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import unipac
from unipac import features
from unipac._arrays import Array
from unipac.demo import drawing as d
from unipac.demo.part import Chart, Part, grouped, rounded
from unipac.experiments.findings import Finding

MODELS = ("small", "code", "large")
LONGEST = 8000
NOISE = 0.1
SMALL = 0.1
"""A certificate below this, a tenth of the range of rewards, is small."""
FIRST = 1000
"""The number of decisions after which certificates should be small."""
QUESTION: dict[str, Any] = {"tokens": 7000.0, "code": False}
"""The kind of request that the second chart is about."""
TICKS: dict[str, Any] = {
    "shape": "stroke",
    "filled": False,
    "angle": 90,
    "size": 60,
    "strokeWidth": 0.5,
    "opacity": 0.9,
}
CODE = """\
columns = features.Columns(ranges={"tokens": (0, 8000)}, booleans=["code"], missing="error")
phi = features.Blocks(["small", "code", "large"], columns)                  # d = 9
agent = NestedOFUL(phi.dim, noise=0.1, norm=2.0, reward_range=(0, 1), blocks=phi.blocks)
router = Deployment(agent, phi)
decision = router.decide({"tokens": 7000, "code": False}, ["small", "code", "large"], id="request 1")
router.reward("request 1", 0.7)"""


def request(rng: np.random.Generator) -> dict[str, Any]:
    """What is known when a request comes: how long it is, and whether it is about code."""
    return {"tokens": float(rng.uniform(0, LONGEST)), "code": bool(rng.random() < 0.4)}


def expected(row: Mapping[str, Any]) -> Array:
    """The mean rating minus the price of each model; it is linear in the features, and the agent does not know it."""
    length, code = row["tokens"] / LONGEST, float(row["code"])
    return np.array(
        [0.80 - 0.45 * length - 0.30 * code, 0.40 - 0.15 * length + 0.42 * code, 0.60 + 0.05 * length]
    )


def router() -> unipac.Deployment:
    """The deployment that ``CODE`` makes."""
    columns = features.Columns(ranges={"tokens": (0, LONGEST)}, booleans=["code"], missing="error")
    phi = features.Blocks(MODELS, columns)
    agent = unipac.NestedOFUL(phi.dim, noise=NOISE, norm=2.0, reward_range=(0, 1), blocks=phi.blocks)
    return unipac.Deployment(agent, phi)


def play(decisions: int = 2000, seed: int = 0) -> dict[str, Any]:
    """Decide and learn: certificate and true loss of each decision, and what is known of one kind of request."""
    rng, deployment = np.random.default_rng(seed), router()
    assert deployment.features is not None
    asked = deployment.features(QUESTION, MODELS)
    certificate, lost = np.empty(decisions), np.empty(decisions)
    known: dict[str, list[Any]] = {"at": [], "best": [], "certificate": [], "low": [], "high": []}
    places = {part.stop for part in grouped(certificate.tolist(), 80)}
    for k in range(decisions):
        row = request(rng)
        decision = deployment.decide(row, MODELS, id=k)
        means = expected(row)
        certificate[k], lost[k] = decision.certificate, means.max() - means[decision.index]
        deployment.reward(k, float(means[decision.index] + NOISE * rng.standard_normal()))
        if k + 1 in places:
            agent = deployment.agent
            bounds, then = agent.bounds(asked.vectors), agent.choose(asked.vectors)
            known["at"].append(k + 1)
            known["best"].append(int(then.index))
            known["certificate"].append(float(f"{then.certificate:.4g}"))
            known["low"].append(rounded(bounds.lcb))
            known["high"].append(rounded(bounds.ucb))
    return {
        "certificate": rounded(certificate),
        "lost": rounded(lost),
        "broken": int((lost > certificate + 1e-9).sum()),
        "dim": deployment.features.dim,
        "known": known,
        "truth": rounded(expected(QUESTION)),
    }


def tell(found: Mapping[str, Any]) -> Part:
    """What came out."""
    certificate, lost = np.array(found["certificate"], dtype=float), np.array(found["lost"])
    count = len(certificate)
    late = certificate[FIRST:] if count > FIRST else certificate[count // 2 :]
    since = count - len(late)
    most, best = float(np.quantile(late, 0.9)), float((certificate[-count // 4 :] == 0).mean())
    mean_lost = float(lost[since:].mean())
    findings = [
        Finding(
            "No decision loses more than its certificate.",
            found["broken"] == 0,
            f"{found['broken']} of {count:,} did.",
        ),
        Finding(
            f"After {since:,} decisions certificates are small: nine of ten are below {SMALL}, where a reward lies"
            " between 0 and 1.",
            most < SMALL,
            f"Nine of ten are at most {most:.3f}, half {float(np.median(late)):.3f}; on average a decision loses"
            f" {mean_lost:.4f} in truth.",
        ),
        Finding(
            "For some requests every other model is ruled out: the choice is proven to be the best.",
            best > 0,
            f"So it is for {best:.0%} of the last {count // 4:,} decisions, and for"
            f" {float((certificate[: count // 4] == 0).mean()):.0%} of the first.",
        ),
    ]
    return Part(
        name="routing",
        question="Which model should answer this request?",
        setting="Requests come one by one; each goes to one of three models, and its reward, a rating minus the price,"
        f" comes back. Nobody tells the router which model is good at what. It has {found['dim']} features; that"
        " rewards are linear in them holds here, because we made them, and so the true loss of each decision is known.",
        number=f"{most:.2f}",
        meaning=f"is the most that nine of ten decisions can lose after the first {since:,}; rewards are between 0 and"
        f" 1 (in truth they lose {mean_lost:.4f} on average)",
        findings=findings,
        charts=[_all_decisions(certificate, lost), _one_request(found["known"], found["truth"])],
        code=CODE,
    )


def running_median(certificate: Array, width: int = 101) -> Array:
    """The median certificate of the ``width`` decisions around each."""
    half = width // 2
    return np.array(
        [np.median(certificate[max(0, k - half) : k + half + 1]) for k in range(len(certificate))]
    )


def _all_decisions(certificate: Array, lost: Array) -> Chart:
    count, last = len(certificate), running_median(certificate)[-1]
    return Chart(
        f"What each of {count:,} decisions can lose, and what it lost",
        falling(certificate, lost),
        f"Certificates fall from {certificate[0]:.2f} to {last:.3f} within {count:,} decisions; losses stay below.",
    )


def falling(
    certificate: Array, lost: Array, *, true: str = d.TRUE, promised: str = d.PROMISED, proven: str = d.PROVEN
) -> Any:
    """The chart of certificates and losses, in these colours, with the first decision that is proven best."""
    count, places = len(certificate), np.arange(1, len(certificate) + 1)
    ruled_out = np.flatnonzero(certificate == 0)
    layers = [
        d.points(places, certificate, promised, opacity=0.3),
        d.points(places[lost > 0], lost[lost > 0], true, opacity=0.85),
        d.line(places[::5], running_median(certificate)[::5], promised),
        d.words(0.2 * count, 0.91, "promised: it can lose at most this much", promised, fontWeight=600),
        d.words(0.2 * count, 0.84, "lost in truth", true, fontWeight=600),
    ]
    if len(ruled_out):
        first = int(ruled_out[0]) + 1
        text = f"decision {first:,}: for the first time\nall other models are ruled out"
        side: dict[str, Any] = {"align": "right", "dx": -6} if first > count / 2 else {"dx": 6}
        layers += [
            d.moment(first, [-0.035, 0.52], proven),
            d.words(first, 0.52, text, proven, baseline="top", **side),
            d.points(ruled_out + 1, np.full(len(ruled_out), -0.035), proven, **TICKS),
            d.words(first, -0.035, "proven to be the best choice", proven, fontSize=12, dx=-6, align="right"),
        ]
    return d.layered(
        *layers,
        x=d.across("decision", 0, count),
        y=d.upwards("loss of one decision", -0.07, 1, values=[0, 0.2, 0.4, 0.6, 0.8, 1]),
    )


def _one_request(known: Mapping[str, Any], truth: Array) -> Chart:
    x, colors = known["at"], (d.OTHER, d.THIRD, d.PROMISED)
    low, high = np.array(known["low"]).T, np.array(known["high"]).T
    layers = []
    for k, (name, color) in enumerate(zip(MODELS, colors, strict=True)):
        layers += [
            d.band(x, low[k], high[k], color, opacity=0.22),
            d.level(truth[k], [0, x[-1]], color, strokeWidth=1.6),
            d.words(x[-1], truth[k], name, color, fontWeight=600, align="right", dy=-9),
        ]
    settled = [at for at, left in zip(x, known["certificate"], strict=True) if left == 0]
    end = "The bands of the other models leave the choice open."
    if settled:
        end = f"After {settled[0]:,} decisions the others are ruled out."
        layers += [
            d.moment(settled[0], [0, 0.93], d.PROVEN),
            d.words(settled[0], 0.97, "the others are ruled out", d.PROVEN, align="center"),
        ]
    drawn = d.layered(*layers, x=d.across("decision", 0, x[-1]), y=d.upwards("reward on average", 0, 1.02))
    return Chart(
        f"What is known of one kind of request, a chat of {QUESTION['tokens']:,.0f} tokens",
        drawn,
        f"Bands in which the reward of each model lies, around the dashed truth. {end}",
    )
