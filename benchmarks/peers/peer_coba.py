"""coba: LinUCB with one parameter for all actions, the same problem as ours."""

from coba.learners import LinUCBLearner

from serve import serve_bandit


def make(n, d):
    learner = LinUCBLearner(alpha=1.0, features=["a"], seed=1)

    def choose(actions):
        offered = [tuple(action) for action in actions.tolist()]
        action, _ = learner.predict(None, offered)
        return offered.index(action)

    def update(actions, k, reward):
        learner.learn(None, tuple(actions[k].tolist()), reward, 1.0)

    return choose, update


serve_bandit(["coba", "numpy"], make)
