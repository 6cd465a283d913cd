"""Learns to treat sepsis in ICU-Sepsis, an MDP estimated from records of patients: 713 states, 25 treatments.

unipac data get icu-sepsis
python examples/icu_sepsis.py [--episodes 1000]

The value is the exact probability that a patient survives under the greedy policy; the certificate is proven: with
probability 0.95 the best policy is better by no more, whatever `bonus_scale` is. 17,825 pairs of state and treatment
need many patients: a thousand are too few for any of these agents. An episode takes 20 to 50 ms, as each policy is
valued exactly.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import unipac


def main() -> None:
    """Let each agent treat the same number of patients."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=1000)
    episodes = parser.parse_args().episodes
    try:
        mdp, expert = unipac.data.icu_sepsis(horizon=20)
    except FileNotFoundError as error:
        sys.exit(str(error))
    P, r, start = mdp.tables[0], mdp.reward_tables[0], mdp.initial

    def value_of_chances(chances: np.ndarray) -> float:
        """Of a policy that draws its actions, (S, A)."""
        V = np.zeros(mdp.n_states)
        for _ in range(mdp.horizon):
            V = ((r + P @ V) * chances).sum(axis=1)
        return float(start @ V)

    even = np.full(r.shape, 1 / mdp.n_actions)
    print(f"{mdp!r}, {episodes:,} episodes")
    print(f"{'':28}{'value':>8}{'certificate':>14}")
    print(f"{'the best policy':28}{start @ mdp.optimal_value():8.4f}")
    print(f"{'clinicians':28}{value_of_chances(expert):8.4f}")
    print(f"{'random treatment':28}{value_of_chances(even):8.4f}")
    survives = {"homogeneous": True, "return_range": (0.0, 1.0)}
    agents = {
        "CertVI": unipac.CertVI.made_for(mdp, **survives),
        "CertVI, bonus_scale=0.01": unipac.CertVI.made_for(mdp, **survives, bonus_scale=0.01),
        "PSRL": unipac.PSRL.made_for(mdp, homogeneous=True),
        "QLearning": unipac.QLearning.made_for(mdp, discount=0.99, learning_power=0.6, learning_rate=1.0),
    }
    for name, agent in agents.items():
        agent.play(mdp, episodes=episodes, seed=0)
        value = start @ unipac.envs.policy_value(mdp, np.asarray(agent.policy()))[0]
        certificate = sum(start[s] * agent.certificate(s) for s in np.flatnonzero(start))
        shown = f"{certificate:14.4f}" if agent.certified else f"{'none':>14}"
        print(f"{name:28}{value:8.4f}{shown}", flush=True)


if __name__ == "__main__":
    main()
