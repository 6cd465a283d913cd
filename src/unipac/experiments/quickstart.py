"""A first experiment: rewards and certificates of the recommended agents, beside agents that are in common use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from unipac.experiments.experiment import Experiment
from unipac.experiments.judging import measured
from unipac.experiments.results import Results

GUARDED, LINUCB, OFUL, NESTED = "Guarded(LinUCB)", "LinUCB", "OFUL", "NestedOFUL"
CERTVI, USUAL, EAGER, UBEV = "CertVI", "QLearning", "QLearning (Q = 1 first)", "UBEV"
CANCER, DIGITS, LAKE, KILLER = "breast cancer", "digits", "FrozenLake", "killer"
FORCED = tuple(10**k for k in (3, 6, 9, 12, 15, 18))
BAD_PULL = 0.25
"""The bad arm of the killer has gap 1/2, so rounds with a gap above this are its pulls."""

_ALL = [GUARDED, LINUCB, OFUL, NESTED]
_PAID = {"noise": 0.5, "reward_range": [0.0, 1.0]}
_LEARNED = {"learning_rate": 0.1, "discount": 0.99}


def _tables(full: bool) -> Mapping[str, Any]:
    return {
        "seeds": 20 if full else 5,
        "agents": {
            GUARDED: {"agent": "Guarded", **_PAID},
            LINUCB: {"agent": "LinUCB"},
            OFUL: {"agent": "OFUL", "radius": "mixture", **_PAID},
            NESTED: {"agent": "NestedOFUL", **_PAID},
            CERTVI: {"agent": "CertVI", "homogeneous": True, "return_range": [0.0, 1.0]},
            USUAL: {"agent": "QLearning", **_LEARNED},
            EAGER: {
                "agent": "QLearning",
                **_LEARNED,
                "initial_value": 1.0,
                "epsilon_start": 0.0,
                "epsilon_end": 0.0,
            },
            UBEV: {"agent": "UBEV", "homogeneous": True, "radius": "stitched"},
        },
        "instances": {
            CANCER: {"instance": "breast_cancer", "rounds": 20_000, "agents": _ALL},
            DIGITS: {"instance": "digits", "components": 15, "rounds": 10_000, "agents": _ALL},
            LAKE: {"instance": "gymnasium", "environment": "FrozenLake-v1", "horizon": 100, "rounds": 10_000},
            KILLER: {
                "instance": "killer",
                "rounds": 3000,
                "agents": [GUARDED, OFUL, NESTED],
                "sweep": {"forced": list(FORCED)},
            },
        },
        "predictions": _predictions(),
        "report": {
            "figures": ["reward", "promises", "explored", "regret", "mistakes-over-time"],
            "reward": {"instances": [CANCER, DIGITS]},
            "promises": {"instances": [CANCER, LAKE], "y": "linear"},
            "explored": {"instances": [CANCER]},
            "regret": {"instances": [LAKE]},
            "mistakes-over-time": {"instances": [KILLER], "title": "Pulls of the bad arm of the killer"},
        },
    }


def _predictions() -> Mapping[str, Any]:
    longest = {"measure": "mistakes", "eps": BAD_PULL, "instance": f"{KILLER} forced=1e18", "times": OFUL}
    kept = {"measure": "reward", "agent": GUARDED, "at_least": 0.98, "times": LINUCB}
    lost = {"measure": "regret", "agent": CERTVI, "instance": LAKE}
    return {
        "guarded-breast-cancer": {
            "says": "A guard leaves a good heuristic alone: on breast cancer Guarded(LinUCB) earns at least 98 % of"
            " the reward of LinUCB.",
            "instance": CANCER,
            **kept,
        },
        "guarded-digits": {"says": "The same on digits.", "instance": DIGITS, **kept},
        "certvi": {
            "says": "On FrozenLake CertVI has at most half of the regret of Q-learning as it is usually started.",
            "at_most": 0.5,
            "times": USUAL,
            **lost,
        },
        "certvi-eager": {
            "says": "It has no more regret than Q-learning that is told, as CertVI is, that an episode pays at most 1.",
            "at_most": 1.0,
            "times": EAGER,
            **lost,
        },
        "certvi-ubev": {
            "says": "It has at most a tenth of the regret of UBEV.",
            "at_most": 0.1,
            "times": UBEV,
            **lost,
        },
        "killer-nested": {
            "says": "After 10¹⁸ forced rounds NestedOFUL pulls the bad arm at most half as often as OFUL.",
            "agent": NESTED,
            "at_most": 0.5,
            **longest,
        },
        "killer-guarded": {
            "says": "So does Guarded(LinUCB).",
            "agent": GUARDED,
            "at_most": 0.5,
            **longest,
        },
    }


# -- the conclusion ------------------------------------------------------------------------------------


def conclusion(results: Results) -> list[str]:
    """The results in plain words, whatever they are; parts without results are left out."""
    parts = (_cancer, _digits, _lake, _killer)
    return [text for text in (part(results) for part in parts) if text]


def _mean(results: Results, measure: str, agent: str, instance: str, eps: float | None = None) -> float:
    values = measured(results, measure, agent, instance, eps).values()
    return sum(values) / len(values) if values else math.nan


def _cancer(results: Results) -> str:
    rewards = {agent: _mean(results, "reward", agent, CANCER) for agent in _ALL}
    promised = {agent: _mean(results, "certificate", agent, CANCER) for agent in (GUARDED, OFUL, NESTED)}
    explored = _mean(results, "explored", GUARDED, CANCER)
    if not all(map(math.isfinite, rewards.values())):
        return ""
    ratio = rewards[GUARDED] / rewards[LINUCB]
    return (
        f"Breast cancer (12 features, right or wrong diagnoses): Guarded(LinUCB) earns {rewards[GUARDED]:.4f} a round,"
        f" {ratio:.1%} of what LinUCB earns ({rewards[LINUCB]:.4f}); NestedOFUL earns {rewards[NESTED]:.4f} and OFUL"
        f" {rewards[OFUL]:.4f}. The guard explored in {explored:,.0f} rounds. In the last fifth of the run it says that"
        f" a decision loses at most {_said(promised[GUARDED])} (NestedOFUL {_said(promised[NESTED])}, OFUL"
        f" {_said(promised[OFUL])}), where LinUCB says nothing. That rests on rewards being linear in the features,"
        " which holds for no data set exactly: here a certificate is a claim, not a proof."
    )


def _digits(results: Results) -> str:
    rewards = {agent: _mean(results, "reward", agent, DIGITS) for agent in _ALL}
    least = min(_mean(results, "certificate", agent, DIGITS) for agent in (GUARDED, OFUL, NESTED))
    if not all(map(math.isfinite, rewards.values())):
        return ""
    explored = _mean(results, "explored", GUARDED, DIGITS)
    guard = f"The guard explored in {explored:,.0f} rounds."
    if explored == 0:
        guard = "The guard has not had to explore yet."
    vacuous = math.isnan(least) or least > 0.9
    return (
        f"Digits (160 features, ten labels): Guarded(LinUCB) earns {rewards[GUARDED]:.3f},"
        f" {rewards[GUARDED] / rewards[LINUCB]:.1%} of LinUCB's {rewards[LINUCB]:.3f}; NestedOFUL"
        f" {rewards[NESTED]:.3f}, OFUL {rewards[OFUL]:.3f}. {guard} "
        + (
            "Look at the reward alone: with so many features the certificates are still vacuous, they allow a loss of"
            f" {_said(least)} where rewards lie between 0 and 1."
            if vacuous
            else f"The smallest certificates have fallen to {_said(least)}."
        )
    )


def _lake(results: Results) -> str:
    regret = {agent: _mean(results, "regret", agent, LAKE) for agent in (CERTVI, USUAL, EAGER, UBEV)}
    if not all(map(math.isfinite, regret.values())):
        return ""
    best = min(regret, key=regret.__getitem__)
    lead = "CertVI loses least" if best == CERTVI else f"{best} loses least, not CertVI"
    return (
        f"FrozenLake (4 × 4, slippery, 100 steps): {lead}. Regret: CertVI {regret[CERTVI]:,.0f}, Q-learning"
        f" {regret[USUAL]:,.0f} as usual and {regret[EAGER]:,.0f} if its first values are 1, UBEV {regret[UBEV]:,.0f}."
        f" In the last fifth of the run CertVI proves before each episode that it loses at most"
        f" {_mean(results, 'certificate', CERTVI, LAKE):.2f}; it loses {_mean(results, 'gap', CERTVI, LAKE):.4f}."
        " Q-learning proves nothing."
    )


def _killer(results: Results) -> str:
    lengths = ("1000", "1e9", "1e18")
    counts = {
        agent: [_mean(results, "mistakes", agent, f"{KILLER} forced={k}", BAD_PULL) for k in lengths]
        for agent in (OFUL, NESTED, GUARDED)
    }
    if not all(math.isfinite(count) for row in counts.values() for count in row):
        return ""
    pulls = "; ".join(f"{agent} {a:,.0f}, {b:,.0f} and {c:,.0f}" for agent, (a, b, c) in counts.items())
    goes_on = [agent for agent, (_, middle, last) in counts.items() if last > middle + 1]
    stopped = [agent for agent in counts if agent not in goes_on]
    verdict = ""
    if goes_on:
        more = _listed([f"{counts[agent][2] - counts[agent][1]:,.0f}" for agent in goes_on])
        verdict = (
            f" {_listed(goes_on)} never {_verb(goes_on, 'stop')} returning to it, if ever more rarely: {more} more from"
            " 10⁹ to 10¹⁸."
        )
    if stopped:
        verdict += f" {_listed(stopped)} {_verb(stopped, 'stop')}: nothing is added from 10⁹ to 10¹⁸."
    return (
        "The killer (K rounds offer one arm, then two, one of them bad): pulls of the bad arm after K = 10³, 10⁹ and"
        f" 10¹⁸ are {pulls}.{verdict}"
    )


def _verb(names: list[str], verb: str) -> str:
    return f"{verb}s" if len(names) == 1 else verb


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _said(certificate: float) -> str:
    return "nothing" if math.isnan(certificate) else f"{certificate:.2f}"


QUICKSTART = Experiment(
    "quickstart",
    "A first look",
    "Guarded(LinUCB) beside LinUCB, OFUL and NestedOFUL on two data sets; CertVI beside Q-learning and UBEV on"
    " FrozenLake; and the killer, K rounds that offer only the good arm and then both, on which OFUL never stops"
    " returning to the bad arm, if ever more rarely.",
    _tables,
    conclude=conclusion,
)
