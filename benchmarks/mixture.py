"""Agents for mixture MDPs side by side: the tables of docs/agents/nested_vtr.md.

python benchmarks/mixture.py [seeds]
"""

import sys
import time

import numpy as np

import unipac
from unipac.envs import hypercube_mixture, mixture_swim, random_mixture

SEEDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
PROVEN = {"radius": "mixture", "scaling": "span"}
AGENTS = {
    "NestedVTR, likelihood": ("NestedVTR", {"likelihood": True}),
    "NestedVTR": ("NestedVTR", {}),
    "NestedVTR, widest": ("NestedVTR", {"targets": "widest"}),
    "NestedVTR, horizon": ("NestedVTR", {"scaling": "horizon"}),
    "UCRLVTR, mixture, span": ("UCRLVTR", PROVEN),
    "UCRLVTR, mixture": ("UCRLVTR", {"radius": "mixture"}),
    "UCRLVTR": ("UCRLVTR", {}),
    "UPACVTR": ("UPACVTR", {}),
}
WORLDS = {
    "mixture swim, per stage": (mixture_swim(), 1500, {}),
    "mixture swim, homogeneous": (mixture_swim(), 1500, {"homogeneous": True}),
    "hypercube mixture d = 4, H = 4": (hypercube_mixture(), 2000, {}),
    "random mixture d = 4, S = 8, H = 5": (random_mixture(), 600, {}),
}


def measured(name, mdp, episodes, **parameters):
    """Regret of each seed, mean certificate at the end, and runs in which a bound or a certificate failed."""
    regret, last, failed = [], [], 0
    for seed in range(SEEDS):
        agent = unipac.AGENTS[name].made_for(mdp, **parameters)
        trace = agent.play(mdp, episodes=episodes, seed=seed, initial_states=np.zeros(episodes, dtype=int))
        regret.append(trace.gap.sum())
        last.append(trace.certificate[-1])
        failed += bool((trace.bound < mdp.optimal_value()[0] - 1e-9).any())
        failed += bool((trace.certificate < trace.gap - 1e-9).any())
    return np.array(regret), float(np.mean(last)), failed


def speed(**parameters):
    """Episodes a second of CPU time, in the first thousand and after 10^5."""
    mdp = mixture_swim()
    agent = unipac.NestedVTR.made_for(mdp, **parameters)
    agent.play(mdp, episodes=2, seed=0)
    rates = []
    for _ in range(2):
        begin = time.process_time()
        agent.play(mdp, episodes=1000, seed=0)
        rates.append(1000 / (time.process_time() - begin))
        agent.play(mdp, episodes=100_000 - agent.episodes if agent.episodes < 10**5 else 0, seed=0)
    return rates


if __name__ == "__main__":
    for world, (mdp, episodes, told) in WORLDS.items():
        print(f"{world}, {episodes} episodes, {SEEDS} seeds, V* = {mdp.optimal_value()[0]:.4g}")
        for label, (name, parameters) in AGENTS.items():
            if parameters.get("likelihood") and mdp.features.min() < 0:
                continue
            regret, last, failed = measured(name, mdp, episodes, **told, **parameters)
            error = regret.std(ddof=1) / len(regret) ** 0.5
            print(
                f"  {label:26}{regret.mean():8.1f} ± {error:<6.1f} certificate {last:.3f}, failed {failed}",
                flush=True,
            )
    for parameters in (
        {},
        {"likelihood": True},
        {"homogeneous": True},
        {"homogeneous": True, "likelihood": True},
    ):
        first, late = speed(**parameters)
        print(
            f"NestedVTR {parameters}: {first:,.0f} episodes/s in the first 1,000, {late:,.0f} after 100,000",
            flush=True,
        )
