"""Tabular agents: regret on RiverSwim, episodes per second. Episodes to learn: ``learning.py``.

python benchmarks/tabular.py regret | speed
"""

import itertools
import sys
import time

import numpy as np

import unipac


def regret(seeds=10):
    for n, H in ((3, 3), (6, 20)):
        mdp = unipac.envs.river_swim(n_states=n, horizon=H)
        for whole, known in itertools.product((False, True), (True, False)):
            found, last = [], []
            for seed in range(seeds):
                rewards = mdp.rewards[0] if known else None
                agent = unipac.CertVI(n, 2, horizon=H, homogeneous=whole, rewards=rewards)
                trace = agent.play(mdp, episodes=4000, seed=seed)
                found.append(trace.gap.sum())
                last.append(trace.certificate[-1])
            text = f"{'pooled' if whole else 'per stage'}, rewards {'known' if known else 'learned'}"
            print(
                f"RiverSwim {n}x{H} {text}: {np.mean(found):.2f}, certificate {np.mean(last):.3f}", flush=True
            )
        others = {
            "UBEV": {},
            "UBEV stitched": {"radius": "stitched"},
            "UBEV stitched pooled": {"radius": "stitched", "homogeneous": True},
            "UCBVI hoeffding": {"bonus": "hoeffding"},
            "UCBVI": {},
            "UCBVI no third term": {"third_term": False},
            "PSRL": {},
            "PSRL pooled": {"homogeneous": True},
        }
        for text, parameters in others.items():
            cls = unipac.AGENTS[text.split()[0]]
            runs = []
            for seed in range(min(seeds, 3)):
                agent = cls.made_for(mdp, rounds=4000, seed=seed, rewards=mdp.rewards[0], **parameters)
                runs.append(agent.play(mdp, episodes=4000, seed=seed).gap.sum())
            print(f"RiverSwim {n}x{H} {text}: {np.mean(runs):.2f}", flush=True)
        agent = unipac.UCBAdvantage.made_for(mdp, rounds=4000)
        print(f"RiverSwim {n}x{H} UCBAdvantage: {agent.play(mdp, episodes=4000).gap.sum():.2f}", flush=True)


def speed():
    """In seconds of the processor: one thread works, and others may use the machine."""
    mdp = unipac.envs.river_swim(n_states=6, horizon=20)
    for parameters in ({}, {"homogeneous": True}):
        unipac.CertVI.made_for(mdp, **parameters).play(mdp, episodes=100)
        for episodes in (4000, 10**5):
            times = []
            for _ in range(3):
                agent = unipac.CertVI.made_for(mdp, **parameters)
                began = time.process_time()
                agent.play(mdp, episodes=episodes)
                times.append(time.process_time() - began)
            print(
                f"CertVI {parameters}, first {episodes} episodes: {episodes / min(times):,.0f}/s", flush=True
            )
    agent = unipac.CertVI.made_for(mdp)
    rates, done = {}, 0
    for mark in (10**3, 10**4, 10**5, 10**6):
        agent.play(mdp, episodes=mark - done)
        began = time.process_time()
        agent.play(mdp, episodes=1000)
        done = mark + 1000
        rates[mark] = (time.process_time() - began) * 1000
    print("CertVI, µs an episode after:", {mark: round(rate, 1) for mark, rate in rates.items()})


if __name__ == "__main__":
    {"regret": regret, "speed": speed}[sys.argv[1]]()
