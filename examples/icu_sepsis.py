"""Learns to treat sepsis in ICU-Sepsis, an MDP estimated from records of patients: 713 states, 25 treatments.

unipac data get icu-sepsis
python examples/icu_sepsis.py [--episodes 20000]

The value is the exact probability that a patient survives; the certificate is proven: with probability 0.95 the best
policy is better by no more, whatever `bonus_scale` is. 17,825 pairs of state and treatment need many patients: 100,000
bring a good policy (`recommended`), and still prove next to nothing of it. Plans last for up to 1,000 patients
(`replan_every`), and untried treatments are spread over states and stages (`ties`).
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numpy.typing import ArrayLike

import unipac


def main() -> None:
    """Let each agent treat the same number of patients."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=20_000)
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

    def show(name: str, policy: ArrayLike, certificate: str) -> None:
        """A row of the table."""
        value = start @ unipac.envs.policy_value(mdp, np.asarray(policy))[0]
        print(f"{name:36}{value:8.4f}{certificate}", flush=True)

    even = np.full(r.shape, 1 / mdp.n_actions)
    print(f"{mdp!r}, {episodes:,} episodes")
    print(f"{'':36}{'value':>8}{'certificate':>14}")
    print(f"{'the best policy':36}{start @ mdp.optimal_value():8.4f}")
    print(f"{'clinicians':36}{value_of_chances(expert):8.4f}")
    print(f"{'random treatment':36}{value_of_chances(even):8.4f}")
    told = {"homogeneous": True, "return_range": (0.0, 1.0), "replan_every": 1000, "ties": "spread"}
    for scale in (1.0, 0.01):
        name = "CertVI" if scale == 1.0 else f"CertVI, bonus_scale={scale}"
        agent = unipac.CertVI.made_for(mdp, **told, bonus_scale=scale)
        agent.play(mdp, episodes=episodes, seed=0)
        advised = agent.recommended()
        certificate = sum(start[s] * agent.certificate(s) for s in np.flatnonzero(start))
        show(f"{name}, as it plays", agent.policy(), f"{certificate:14.4f}")
        show(f"{name}, recommended", advised.policy, f"{start @ (advised.bound - advised.lower):14.4f}")
    learner = unipac.QLearning.made_for(mdp, learning_rate=0.01, epsilon_decay=100_000)
    learner.learn(unipac.envs.LinearMDPEnv(mdp), episodes=episodes, seed=0)  # play would value every policy
    show("QLearning", learner.policy(), f"{'none':>14}")


if __name__ == "__main__":
    main()
