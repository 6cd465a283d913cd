"""FrozenLake: a certificate before every episode, beside the exact loss of its policy, and Q-learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import unipac
from unipac.demo import drawing as d
from unipac.demo.part import Chart, Part, rounded
from unipac.experiments.findings import Finding

EAGER: dict[str, Any] = {"initial_value": 1.0, "epsilon_start": 0.0, "epsilon_end": 0.0}
"""Q-learning that starts from Q = 1: like CertVI, it uses that an episode pays at most 1."""
CODE = """\
mdp = envs.from_gymnasium(gymnasium.make("FrozenLake-v1"), horizon=100)
agent = CertVI.made_for(mdp, homogeneous=True, return_range=(0, 1))
trace = agent.play(mdp, episodes=10_000, seed=0)
trace.certificate[-1], trace.gap[-1]                        # promised before the episode, and true"""


def play(episodes: int = 10_000, seed: int = 0) -> dict[str, Any]:
    """Play three agents."""
    import gymnasium

    mdp = unipac.envs.from_gymnasium(gymnasium.make("FrozenLake-v1"), horizon=100)
    agent = unipac.CertVI.made_for(mdp, homogeneous=True, return_range=(0.0, 1.0))
    trace = agent.play(mdp, episodes=episodes, seed=seed)
    places, lost = over_episodes(trace.gap)
    found: dict[str, Any] = {
        "at": places,
        "episodes": episodes,
        "best": float(mdp.optimal_value()[0]),
        "certificate": over_episodes(trace.certificate)[1],
        "lost": lost,
        "last": rounded([trace.certificate[-1], trace.gap[-1]]),
        "broken": int((trace.gap > trace.certificate + 1e-9).sum()),
        "in all": {"CertVI": float(trace.gap.sum())},
    }
    for name, special in {"Q-learning": {}, "Q-learning, Q = 1 first": EAGER}.items():
        other = unipac.QLearning.made_for(mdp, learning_rate=0.1, discount=0.99, **special)
        gaps = other.play(mdp, episodes=episodes, seed=seed).gap
        found["in all"][name] = float(gaps.sum())
        found[name] = over_episodes(gaps)[1]
    return found


def over_episodes(values: Any, many: int = 60) -> tuple[list[int], list[float | None]]:
    """The last episode of each group, and the mean of each group; groups become larger along the run."""
    edges = np.unique(np.geomspace(1, len(values), many + 1).astype(int))
    starts = [0, *edges[:-1].tolist()]
    parts = [np.mean(values[a:b]) for a, b in zip(starts, edges, strict=True)]
    return [int(edge) for edge in edges], rounded(parts)


def kept(broken: int, episodes: int) -> Finding:
    """Whether promises were kept."""
    words = "No policy loses more than was proven of it before the episode."
    return Finding(words, broken == 0, f"{broken} of {episodes:,} did.")


def tell(found: Mapping[str, Any]) -> Part:
    """What came out."""
    lost, count = found["in all"], found["episodes"]
    others = [name for name in lost if name != "CertVI"]
    nearest = min(others, key=lost.__getitem__)
    certificate, gap = found["last"]
    words = ", ".join(f"{name} {total:,.0f}" for name, total in lost.items())
    findings = [
        kept(found["broken"], count),
        Finding(
            "CertVI learns faster than Q-learning: over all episodes it loses less.",
            lost["CertVI"] < lost[nearest],
            f"Lost in all, in successful walks: {words}. Q-learning proves nothing.",
        ),
    ]
    return Part(
        name="lake",
        question="When decisions change what comes next: FrozenLake",
        setting="A walker on slippery ice, 16 squares, 100 steps, paid 1 at the goal: the best policy gets there in"
        f" {found['best']:.0%} of the episodes. Before each episode CertVI says what its policy can lose;"
        " what it loses in truth is computed from Gymnasium's own table, which the agent does not see.",
        number=f"{certificate:.2f}",
        meaning=f"successful walks an episode is the most that the policy can lose after {count:,} episodes, proven"
        f" beforehand (in truth {gap:.4f})",
        findings=findings,
        charts=[_chart(found, others)],
        code=CODE,
    )


def _chart(found: Mapping[str, Any], others: list[str]) -> Chart:
    x, count = found["at"], found["episodes"]
    late = x.index(next(place for place in x if place >= count / 8))
    layers = [
        d.line(x, found[name], color, strokeWidth=1.8)
        for name, color in zip(others, (d.OTHER, d.THIRD), strict=True)
    ]
    layers += [
        d.line(x, found["certificate"], d.PROMISED),
        d.line(x, found["lost"], d.TRUE),
        d.words(
            x[late],
            found["certificate"][late],
            "promised by CertVI",
            d.PROMISED,
            fontWeight=600,
            dx=8,
            dy=-10,
        ),
        d.words(1.3, 0.34, "lost by CertVI in truth", d.TRUE, fontWeight=600),
        d.words(1.3, 0.27, "by Q-learning (promises nothing)", d.OTHER, fontWeight=600),
        d.words(1.3, 0.20, "by Q-learning, Q = 1 first", d.THIRD, fontWeight=600),
    ]
    drawn = d.layered(
        *layers,
        x=d.across("episode", 1, count, log=True),
        y=d.upwards("successful walks lost an episode", 0, 1.02),
    )
    return Chart(
        "Each episode: what its policy can lose, and what it loses",
        drawn,
        f"After {count:,} episodes {found['last'][0]} is promised and {found['last'][1]} is true.",
    )
