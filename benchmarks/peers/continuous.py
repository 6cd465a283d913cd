"""Continuous MDPs on which agents are compared, and the exact gap of a policy; needs NumPy and SciPy."""

import numpy as np

from unipac.envs import continuous_swim, random_continuous

MDPS = {
    "continuous swim d = 5, H = 4": lambda: continuous_swim(),
    "random continuous, seed 0": lambda: random_continuous(seed=0),
    "random continuous, seed 1": lambda: random_continuous(seed=1),
}
CELLS = 400


def checkpoints(episodes):
    """Numbers of episodes that grow by a tenth."""
    found, k = [], 20
    while k < episodes:
        found.append(k)
        k = max(k + 1, int(1.1 * k))
    return [*found, episodes]


def gap_of(mdp, choose):
    """V* less the value of a policy, (stage, states, features) to actions, from the first state."""
    nodes, _, _ = mdp._quadrature(CELLS)
    theta = mdp.q_weights(lambda stage, phi: choose(stage, nodes, phi), cells=CELLS)
    first = mdp.features_of(mdp.initial[None])
    chosen = choose(1, mdp.initial[None], first)[0]
    return float((first[0] @ mdp.q_weights(cells=CELLS)[0]).max() - first[0, chosen] @ theta[0])


def range_of(mdp):
    """V* less the value of random actions."""
    _, mass, phi = mdp._quadrature(CELLS)
    following = np.zeros(mdp.dim)
    for h in range(mdp.horizon - 1, -1, -1):
        theta = mdp.weights[h] + following
        following = mass @ (phi @ theta).mean(axis=1)
    first = mdp.features_of(mdp.initial[None])[0]
    return float((first @ mdp.q_weights(cells=CELLS)[0]).max() - (first @ theta).mean())


def settled(found, largest):
    """After how many episodes the gap stays below ``largest``; None if it does not."""
    late = [k for k, gap in found if gap > largest]
    if not late:
        return found[0][0]
    after = [k for k, _ in found if k > late[-1]]
    return after[0] if after else None
