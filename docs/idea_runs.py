"""The runs behind the pictures of docs/idea.md: what is drawn, as plain numbers."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

import unipac
from unipac import theory
from unipac.envs import sphere

DELTA = 0.05
ARMS = np.eye(3)
REWARDS = np.array([0.5, 0.4, 0.0])
"""Of the three arms of the first picture: the best, one that loses 0.1, one that loses 0.5."""
EPS = 0.3
"""What is good enough for the search of the first picture."""
QUIET: dict[str, Any] = {"delta": DELTA, "noise": 0.2, "regularization": 0.01}
"""Of agents that meet forced rounds; so few choices suffice that each of them can be seen."""
MOMENTS = [int(10 ** (k / 8)) for k in range(18 * 8 + 1)]
"""Rounds at which a free choice comes: 8 in each of 18 decades."""
NOISE = 0.5
LAST = 1_000_000
PLACES = sorted({round(10 ** (k / 8)) for k in range(6 * 8 + 1)})
"""Rounds at which long runs are looked at."""


def rounded(values: Any) -> list[float]:
    """Four digits: more than can be seen."""
    return [float(f"{value:.4g}") for value in np.asarray(values, dtype=float).ravel()]


def forced(agent: Any, rewards: Any) -> list[dict[str, Any]]:
    """Only the first arm is offered, but for single moments, at which all are until the first is taken again.

    Returns one row for each moment: its round, the upper bounds of the arms, and the arms that were taken.
    """
    arms = np.eye(len(rewards))
    passed, rows = 0, []
    for moment in MOMENTS:
        if moment > passed:
            agent.update(agent.choose(arms[:1]), float(rewards[0]), times=moment - passed)
            passed = moment
        bounds = agent.bounds(arms).ucb
        taken = [-1]
        while taken[-1] != 0:
            decision = agent.choose(arms)
            agent.update(decision, float(rewards[decision.index]))
            taken.append(int(decision.index))
        passed += len(taken) - 1
        then = agent.bounds(arms).ucb
        rows.append({"round": moment, "upper": rounded(bounds), "taken": taken[1:], "then": rounded(then)})
    return rows


def guarantees() -> dict[str, Any]:
    """Picture 1: what is lost round by round, by an agent with each guarantee, on the same three arms."""
    instance = unipac.envs.fixed_arms(ARMS, REWARDS, noise=NOISE)
    searches = []
    for seed in range(100):
        search = unipac.LinGapE(ARMS, delta=DELTA, noise=NOISE, eps=EPS)
        search.run(instance, seed=seed)
        searches.append(search)
    second = [search for search in searches if search.answer.index == 1]
    pulled = np.concatenate([np.repeat(*batch) for batch, _ in second[0].state])
    found: dict[str, Any] = {
        "searches": len(searches),
        "that name the second": len(second),
        "PAC": {"round": list(range(1, len(pulled) + 1)), "lost": rounded(REWARDS[0] - REWARDS[pulled])},
    }
    agents = {
        "regret": unipac.OFUL(3, radius="mixture", tight=False, **QUIET),
        "uniform-PAC": unipac.NestedOFUL(3, tight=False, **QUIET),
    }
    for guarantee, agent in agents.items():
        mistakes = [
            (row["round"] + i, REWARDS[0] - REWARDS[arm])
            for row in forced(agent, REWARDS)
            for i, arm in enumerate(row["taken"])
            if arm != 0
        ]
        found[guarantee] = {
            "round": [r for r, _ in mistakes],
            "lost": rounded([lost for _, lost in mistakes]),
        }
    return found


def comes_back() -> dict[str, Any]:
    """Picture 2: the upper bound of a bad arm, over forced rounds and free choices."""
    agents = {"OFUL": unipac.OFUL(2, radius="mixture", tight=False, **QUIET)}
    agents["NestedOFUL"] = unipac.NestedOFUL(2, tight=False, **QUIET)
    found = {}
    for name, agent in agents.items():
        rows = forced(agent, [0.5, 0.0])
        line = [(row["round"], row[when][1]) for row in rows for when in ("upper", "then")]
        taken = [(row["round"], row["upper"][1]) for row in rows if 1 in row["taken"]]
        found[name] = {
            "round": [r for r, _ in line],
            "upper": [u for _, u in line],
            "taken": [r for r, _ in taken],
            "taken at": [u for _, u in taken],
        }
    return found


def levels() -> dict[str, Any]:
    """Picture 3: the width of each round's action in the level that it enters."""
    agent = unipac.NestedOFUL(2, delta=DELTA, noise=NOISE, tight=False)
    batch = sphere(2, 10, noise=NOISE).rounds(0, 2000, seed=0)
    trace = agent.play(sphere(2, 10, noise=NOISE), rounds=2000, seed=0)
    gram = np.eye(2)[None].repeat(trace.level.max(), axis=0)
    widths = []
    for actions, index, level in zip(batch.actions, trace.index, trace.level, strict=True):
        x = actions[index]
        widths.append(math.sqrt(x @ np.linalg.solve(gram[level - 1], x)))
        gram[level - 1 :] += np.outer(x, x)  # nested: all levels from here on learn it
    return {"level": trace.level.tolist(), "width": rounded(widths)}


def radii() -> dict[str, Any]:
    """Picture 4: the radius of the set of all data, and those of levels, over a million rounds."""
    single = unipac.OFUL(2, radius="mixture", delta=DELTA, noise=NOISE, tight=False)
    split = unipac.UPACOFUL(2, radius="mixture", delta=DELTA, noise=NOISE)
    shown = 5
    found: dict[str, Any] = {
        "round": PLACES,
        "all data": [],
        **{f"level {n}": [] for n in range(1, shown + 1)},
    }
    for begin, end in pairwise([0, *PLACES]):
        for agent in (single, split):
            agent.play(sphere(2, 10, noise=NOISE), rounds=end - begin, seed=0)
        found["all data"] += rounded(single.levels()[0].radius)
        have = split.levels()[:shown]
        for n in range(1, shown + 1):
            found[f"level {n}"] += rounded(have[n - 1].radius) if n <= len(have) else [None]
    found["size"] = [level.size for level in split.levels()[:shown]]
    found["most"] = [theory.level_size(2, n) for n in range(1, shown + 1)]
    return found


def nested() -> dict[str, Any]:
    """Picture 5: what is lost in all with disjoint levels, nested ones and none, on average over 20 runs."""
    settings: dict[str, Any] = {"delta": DELTA, "noise": NOISE}
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        "OFUL": (unipac.OFUL, {"radius": "mixture"}),
        "NestedOFUL": (unipac.NestedOFUL, {}),
        "UPACOFUL": (unipac.UPACOFUL, {"radius": "mixture"}),
    }
    places = [place for place in PLACES if 10 <= place <= 31_623]
    runs = 20
    found: dict[str, Any] = {"round": places, "runs": runs}
    for name, (kind, special) in kinds.items():
        lost = np.zeros(len(places))
        for seed in range(runs):
            trace = kind(5, **settings, **special).play(
                sphere(5, 20, noise=NOISE), rounds=places[-1], seed=seed
            )
            lost += np.cumsum(trace.gap)[np.array(places) - 1] / runs
        found[name] = {"regret": rounded(lost)}
    return found


def certificates() -> dict[str, Any]:
    """Picture 6: certificates over the rounds, and the most that was lost in truth, in three dimensions."""
    found: dict[str, Any] = {}
    for dim in (3, 10, 40):
        agent = unipac.NestedOFUL(dim, delta=DELTA, noise=NOISE, tight=False)
        trace = agent.play(sphere(dim, 20, noise=NOISE), rounds=100_000, seed=0)
        edges = [0, *(place for place in PLACES if place <= 100_000)]
        parts = [slice(*edge) for edge in pairwise(edges)]
        vacuous = trace.certificate >= 2.0 - 1e-9
        found[f"d = {dim}"] = {
            "round": edges[1:],
            "certificate": rounded([np.median(trace.certificate[part]) for part in parts]),
            "lost": rounded([trace.gap[part].max() for part in parts]),
            "useful from": int(np.flatnonzero(vacuous)[-1]) + 2,
            "broken": int((trace.gap > trace.certificate + 1e-9).sum()),
        }
    return found


def numbers() -> dict[str, Any]:
    """All of them, by the name of the picture."""
    made = (guarantees, comes_back, levels, radii, nested, certificates)
    return {f"{i}-{make.__name__.replace('_', '-')}": make() for i, make in enumerate(made, 1)}
