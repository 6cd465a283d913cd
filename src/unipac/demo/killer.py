"""The killer: most of the time only the good arm is offered, and now and then the bad one as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import unipac
from unipac.demo import drawing as d
from unipac.demo.part import Chart, Part
from unipac.experiments.findings import Finding

REWARDS = (0.5, 0.0)
FIRST, LAST = 2, 9
"""Powers of ten: from a hundred rounds to a billion."""
PER_DECADE = 4
CODE = """\
agent = NestedOFUL(2, noise=0.5)                            # or OFUL(2, noise=0.5, radius="mixture")
agent.update(agent.choose([[1, 0]]), 0.5, times=10**6)      # a million rounds without a choice, in one step
agent.choose([[1, 0], [0, 1]]).index                        # does it go back to the bad arm?"""


def play(last: int = LAST) -> dict[str, Any]:
    """How often each agent has taken the bad arm so far, whenever it is offered; rewards have no noise."""
    moments = [int(10 ** (k / PER_DECADE)) for k in range(FIRST * PER_DECADE, last * PER_DECADE + 1)]
    agents = {
        "OFUL": unipac.OFUL(2, noise=0.5, radius="mixture"),
        "NestedOFUL": unipac.NestedOFUL(2, noise=0.5),
    }
    found: dict[str, Any] = {"at": moments}
    for name, agent in agents.items():
        passed = bad = 0
        found[name] = []
        for moment in moments:
            if moment > passed:
                agent.update(agent.choose(np.eye(2)[:1]), REWARDS[0], times=moment - passed)
                passed = moment
            index = 1
            while index == 1:  # both arms are offered until the good one is taken
                decision = agent.choose(np.eye(2))
                index = int(decision.index)
                agent.update(decision, REWARDS[index])
                passed, bad = passed + 1, bad + index
            found[name].append(bad)
    return found


def tell(found: Mapping[str, Any]) -> Part:
    """What came out."""
    x, usual, ours = found["at"], found["OFUL"], found["NestedOFUL"]
    middle = next((k for k, place in enumerate(x) if place >= 10**6), len(x) - 1)
    later = usual[-1] - usual[middle], ours[-1] - ours[middle]
    level = [k for k, (a, b) in enumerate(zip(usual, ours, strict=True)) if a <= b]
    apart = level[-1] + 1 if level else 0
    parted = f" From {d.many(x[apart])} rounds on it has made fewer mistakes." if apart < len(x) else ""
    findings = [
        Finding(
            "OFUL, whose regret is proven to be small, goes back to the bad arm for ever.",
            later[0] > 0,
            f"{later[0]} times more from {d.many(x[middle])} rounds to {d.many(x[-1])}, {usual[-1]} in all.",
        ),
        Finding(
            "NestedOFUL stops: that is what uniform-PAC means.",
            later[1] == 0,
            f"{later[1]} times more, {ours[-1]} in all.{parted}",
        ),
    ]
    return Part(
        name="killer",
        question="Does it ever stop making the same mistake?",
        setting="Two arms, a good one and a bad one that loses 0.5. Most of the time only the good one is offered, so"
        " nothing is learned of the bad one; now and then both are. An agent whose doubt grows with time then goes back"
        " to the bad one. The difference is small at first, and never ends.",
        number=f"{later[1]} and {later[0]}",
        meaning=f"times they went back to a bad choice after {d.many(x[middle])} rounds: NestedOFUL, which is"
        " uniform-PAC, and OFUL, which is not",
        findings=findings,
        charts=[_chart(x, usual, ours)],
        code=CODE,
    )


def _chart(x: list[int], usual: list[int], ours: list[int]) -> Chart:
    high = 1.12 * max(*usual, *ours)
    layers = [
        d.line(x, usual, d.OTHER, interpolate="step-after"),
        d.line(x, ours, d.PROMISED, interpolate="step-after"),
        d.words(
            x[-1], usual[-1], "OFUL: again and again", d.OTHER, fontWeight=600, align="right", dy=-14, dx=-6
        ),
        d.words(
            x[-1],
            ours[-1],
            "NestedOFUL: it has stopped",
            d.PROMISED,
            fontWeight=600,
            align="right",
            dy=14,
            dx=-6,
        ),
    ]
    drawn = d.layered(
        *layers,
        x=d.across("round", x[0], x[-1] * 1.01, log=True),
        y=d.upwards("times the bad arm was taken so far", 0, high),
    )
    return Chart(
        "How often the bad arm was taken so far",
        drawn,
        f"After {d.many(x[-1])} rounds OFUL has taken it {usual[-1]} times, NestedOFUL {ours[-1]} times.",
    )
