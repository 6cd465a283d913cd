"""river: LinUCBDisjoint, one regression per arm; all arms see one context, the first action of the round."""

from river import bandit
from serve import serve_bandit


def make(n, d):
    arms = list(range(n))
    policy = bandit.LinUCBDisjoint(alpha=1.0, beta=1.0, seed=0)

    def choose(actions):
        return policy.pull(arms, context=dict(enumerate(actions[0].tolist())))

    def update(actions, k, reward):
        policy.update(k, dict(enumerate(actions[0].tolist())), reward)

    return choose, update


serve_bandit(["river", "numpy"], make)
