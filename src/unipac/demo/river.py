"""A river without numbered states: StarLSVI, whose certificates hold for any observation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import unipac
from unipac.demo import drawing as d
from unipac.demo.lake import kept, over_episodes
from unipac.demo.part import Chart, Part, rounded
from unipac.experiments.findings import Finding

HORIZON = 3
CODE = """\
river = envs.continuous_swim(dim=3, horizon=3)              # the swimmer is anywhere in [0, 1]
agent = StarLSVI(feature_map=river.feature_map, horizon=3, mixture=True, terminates=False, rewards=river.weights)
trace = agent.play(river, episodes=10_000, seed=0)
trace.certificate[-1], trace.gap[-1]                        # promised before the episode, and true"""


def play(episodes: int = 10_000, seed: int = 0) -> dict[str, Any]:
    """Swim; values are exact, by quadrature, and the agent does not see them."""
    river = unipac.envs.continuous_swim(dim=3, horizon=HORIZON)
    agent = unipac.StarLSVI(
        feature_map=river.feature_map, horizon=HORIZON, mixture=True, terminates=False, rewards=river.weights
    )
    trace = agent.play(river, episodes=episodes, seed=seed)
    places, lost = over_episodes(trace.gap)
    return {
        "at": places,
        "episodes": episodes,
        "best": float(river.optimal_value()),
        "certificate": over_episodes(trace.certificate)[1],
        "lost": lost,
        "last": rounded([trace.certificate[-1], trace.gap[-1]]),
        "broken": int((trace.gap > trace.certificate + 1e-9).sum()),
    }


def tell(found: Mapping[str, Any]) -> Part:
    """What came out."""
    count, best = found["episodes"], found["best"]
    certificate, gap = found["last"]
    findings = [
        kept(found["broken"], count),
        Finding(
            f"After {count:,} episodes at least half of what the best policy earns is proven.",
            certificate < best / 2,
            f"The best earns {best:.3f}, the certificate is {certificate:.3f}; in truth {gap:.4f} is lost.",
        ),
    ]
    return Part(
        name="river",
        question="When states cannot be counted: a swimmer anywhere in a river",
        setting="The swimmer is anywhere in [0, 1], and what each place pays is known: most at the right end, against"
        " the current. The next place comes from a mixture of three laws that the agent does not know, weighted by"
        " known features; that this is so is the assumption, and it holds here. A table of states cannot be made: new"
        " places come for ever.",
        number=f"{certificate:.2f}",
        meaning=f"of the {best:.2f} that the best policy earns can be lost after {count:,} episodes"
        f" (in truth {gap:.4f})",
        findings=findings,
        charts=[_chart(found)],
        code=CODE,
    )


def _chart(found: Mapping[str, Any]) -> Chart:
    x, count, certificate = found["at"], found["episodes"], found["certificate"]
    late = x.index(next(place for place in x if place >= count / 30))
    layers = [
        d.level(found["best"], [1, count]),
        d.words(1.3, found["best"], "what the best policy earns", dy=-10),
        d.line(x, certificate, d.PROMISED),
        d.line(x, found["lost"], d.TRUE),
        d.words(x[late], certificate[late], "promised by StarLSVI", d.PROMISED, fontWeight=600, dx=10, dy=-8),
        d.words(1.3, max(found["lost"]), "lost in truth", d.TRUE, fontWeight=600, dy=-12),
    ]
    drawn = d.layered(
        *layers,
        x=d.across("episode", 1, count, log=True),
        y=d.upwards("reward of an episode", 0, 1.05 * max(certificate)),
    )
    return Chart(
        "Each episode: what its policy can lose, and what it loses",
        drawn,
        f"After {count:,} episodes {found['last'][0]} is promised and {found['last'][1]} is true.",
    )
