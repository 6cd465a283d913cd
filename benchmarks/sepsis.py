"""ICU-Sepsis: what agents have learned after so many patients, exactly valued, and what CertVI can prove of it.

    python benchmarks/sepsis.py certified | scaled | first | psrl | q | tune [--episodes 100000] [--seed 0]

CertVI and PSRL have pooled stages and learned rewards; CertVI is told that returns are in [0, 1]. Its plans last for
1,000 episodes, or 2 % of those before; PSRL draws a model anew as often, as it would take hours otherwise. Q-learning
draws its choices here, where they are needed: the same law, faster. ``tune`` tries a grid of it. Seconds are those of
the processor.
"""

import argparse
import itertools
import time

import numpy as np

import unipac
from unipac._jit import jit
from unipac.envs.play.simulation import episode_uniforms, first_states, sample, simulate, world_of
from unipac.mdp.protocol.plan import Episode
from unipac.mdp.tabular.q_learning import learn

MDP, _ = unipac.data.icu_sepsis(horizon=20)
WORLD = world_of(MDP)
MARKS = (1_000, 10_000, 30_000, 100_000)
GRID = {
    "learning": [(0.01, 0.0), (0.03, 0.0), (0.1, 0.0), (0.3, 0.0), (1.0, 0.6), (1.0, 0.8)],
    "epsilon": [(0.1, 1), (0.01, 30_000), (0.01, 100_000)],
    "initial_value": [0.0, 1.0],
}
TUNED = {"learning": (0.01, 0.0), "epsilon": (0.01, 100_000), "initial_value": 0.0}


def value(policy):
    """Exact, over the first states."""
    return float(MDP.initial @ unipac.envs.policy_value(MDP, np.asarray(policy))[0])


def shown(*cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def cert_vi(episodes, seed, **parameters):
    told = {"homogeneous": True, "return_range": (0.0, 1.0), "replan_every": 1000, "ties": "spread"}
    agent = unipac.CertVI.made_for(MDP, **{**told, **parameters})
    done, plans, began = 0, 0, time.process_time()
    for mark in [m for m in MARKS if m <= episodes]:
        plans += int(agent.play(MDP, episodes=mark - done, seed=seed).replanned.sum())
        done, spent = mark, time.process_time() - began
        advised = agent.recommended()
        certificate = sum(MDP.initial[s] * agent.certificate(s) for s in np.flatnonzero(MDP.initial))
        values = f"{value(agent.policy()):.4f}", f"{value(advised.policy):.4f}"
        proven = f"{certificate:.4f}", f"{MDP.initial @ (advised.bound - advised.lower):.4f}"
        bounds = f"{MDP.initial @ advised.lower:.4f} to {MDP.initial @ advised.bound:.4f}"
        shown(f"CertVI {parameters}, seed {seed}", mark, *values, *proven, bounds, plans, f"{spent:.0f} s")


def psrl(episodes, seed):
    agent = unipac.PSRL.made_for(MDP, homogeneous=True, seed=seed)
    plan, planned, plans, began = None, 0, 0, time.process_time()
    for k in range(episodes):
        if k % 1024 == 0:
            uniforms = episode_uniforms(seed, k // 1024, MDP.horizon)
            starts = first_states(MDP, uniforms[:, 0])
        if plan is None or k - planned >= min(1000, 0.02 * planned):
            plan, planned, plans = agent._plan(), k, plans + 1
        row = np.ascontiguousarray(uniforms[k % 1024, 1:])
        agent._commit(
            agent._commit(
                agent._learn(Episode(*simulate(WORLD, plan.action, plan.level, starts[k % 1024], row))), 0
            ),
            0,
        )
        if k + 1 in MARKS:
            spent = time.process_time() - began
            shown(
                f"PSRL, seed {seed}",
                k + 1,
                f"{value(agent._plan().action[:, 0]):.4f}",
                "",
                "",
                "",
                "",
                plans,
                f"{spent:.0f} s",
            )


@jit
def q_episodes(world, state, rate, power, discount, epsilons, starts, uniforms):
    """Episodes of Q-learning; uniforms (K, H, 3)."""
    H, Q = uniforms.shape[1], state.Q[0]
    s, a, following = np.empty((3, H), dtype=np.int64)
    r = np.zeros(H)
    for k in range(starts.size):
        t, n = starts[k], H
        for h in range(H):
            s[h], a[h] = t, int(uniforms[k, h, 1] * Q.shape[1])
            if uniforms[k, h, 0] >= epsilons[k]:
                best, ties = Q[t].max(), 0
                for b in range(Q.shape[1]):
                    ties += Q[t, b] == best
                nth, b = int(uniforms[k, h, 1] * ties), -1
                while nth >= 0:
                    b += 1
                    nth -= Q[t, b] == best
                a[h] = b
            t = following[h] = sample(world.cumulative[0, t, a[h]], uniforms[k, h, 2])
            r[h] = (
                world.arrivals[0, s[h], a[h], t] if world.arrivals.size > 0 else world.rewards[0, s[h], a[h]]
            )
            if world.terminal[t]:
                following[h], n = -1, h + 1
                break
        learn(state, rate, power, discount, s[:n], a[:n], r[:n], following[:n])


def q_learning(episodes, seed, choice):
    (rate, power), (end, decay) = choice["learning"], choice["epsilon"]
    told = {"learning_rate": rate, "learning_power": power, "initial_value": choice["initial_value"]}
    agent = unipac.QLearning.made_for(MDP, seed=seed, **told)
    rng, found, began = np.random.default_rng([seed, 5]), [], time.process_time()
    for first in range(0, episodes, 1000):
        epsilons = np.maximum(end, 1 - np.arange(first, first + 1000) / decay)
        starts = first_states(MDP, rng.random(1000))
        q_episodes(WORLD, agent.state, rate, power, 1.0, epsilons, starts, rng.random((1000, MDP.horizon, 3)))
        if first + 1000 in MARKS:
            found.append((first + 1000, value(agent.policy()), time.process_time() - began))
    return found


def main():
    """One row for each mark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["certified", "scaled", "first", "psrl", "q", "tune"])
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    told = parser.parse_args()
    shown("agent", "patients", "plays", "recommends", "certificate", "recommended", "proven", "plans", "time")
    if told.what == "certified":
        cert_vi(told.episodes, told.seed)
    elif told.what == "scaled":
        for scale in (0.1, 0.01):
            cert_vi(told.episodes, told.seed, bonus_scale=scale)
    elif told.what == "first":
        cert_vi(told.episodes, told.seed, bonus_scale=0.01, ties="first")
    elif told.what == "psrl":
        psrl(told.episodes, told.seed)
    elif told.what == "q":
        for mark, found, spent in q_learning(told.episodes, told.seed, TUNED):
            shown(f"QLearning, seed {told.seed}", mark, f"{found:.4f}", "", "", "", "", "", f"{spent:.0f} s")
    else:
        for values in itertools.product(*GRID.values()):
            choice = dict(zip(GRID, values, strict=True))
            found = q_learning(told.episodes, told.seed, choice)
            shown(choice, *(f"{v:.4f}" for _, v, _ in found))


if __name__ == "__main__":
    main()
