"""river: LinUCBDisjoint, one regression per arm; all arms see one context, the first action of the round.

Its bonus is √(1/beta + xᵀ(alpha I + beta Σ xxᵀ)⁻¹x), which is α √(1 + width²) for the arguments below.
"""

from river import bandit

from serve import serve_bandit


def make(n, d, alpha=1.0, ridge=1.0):
    arms = list(range(n))
    policy = bandit.LinUCBDisjoint(alpha=ridge / alpha**2, beta=alpha**-2, seed=0)

    def choose(actions):
        return policy.pull(arms, context=dict(enumerate(actions[0].tolist())))

    def update(actions, k, reward):
        policy.update(k, dict(enumerate(actions[0].tolist())), reward)

    return choose, update


serve_bandit(["river", "numpy"], make)
