"""Vowpal Wabbit, text interface: RegCB (optimistic) on action features, a model learned by gradient steps.

With ``epsilon`` and ``rate``: ε-greedy on the actions and the context that they share.

A request with ``"prepared": true`` finds the text of all actions written before the clock starts.
"""

import random

from vowpalwabbit import Workspace

from serve import serve_bandit


def text(actions):
    return ["|a " + " ".join([f"{j}:{x:.6g}" for j, x in enumerate(row)]) for row in actions.tolist()]


def epsilon_greedy(n, epsilon, rate):
    workspace = Workspace(f"--cb_explore_adf -q ca --epsilon {epsilon} -l {rate} --quiet --random_seed 1")
    ids = [f"|a {k}" for k in range(n)]
    dice = random.Random(1)
    latest = {}

    def choose(actions):
        context = "shared |c " + " ".join([f"{j}:{x:.6g}" for j, x in enumerate(actions[0].tolist())])
        chances = workspace.predict([context, *ids])
        k = dice.choices(range(n), chances)[0]
        latest.update(context=context, chance=chances[k])
        return k

    def update(actions, k, reward):
        labelled = list(ids)
        labelled[k] = f"0:{-reward}:{latest['chance']} {ids[k]}"
        workspace.learn([latest["context"], *labelled])

    return choose, update


def make(n, d, prepared=None, epsilon=None, rate=0.5):
    if epsilon is not None:
        return epsilon_greedy(n, epsilon, rate)
    workspace = Workspace("--cb_explore_adf --regcbopt --mellowness 0.1 --cb_type mtr --quiet")
    lines = prepared or {}

    def choose(actions):
        key = actions.ctypes.data
        if prepared is None:
            lines.clear()
            lines[key] = text(actions)
        chances = workspace.predict(lines[key])
        return max(range(n), key=chances.__getitem__)

    def update(actions, k, reward):
        labelled = list(lines[actions.ctypes.data])
        labelled[k] = f"0:{-reward}:1.0 {labelled[k]}"
        workspace.learn(labelled)

    return choose, update


serve_bandit(["vowpalwabbit", "numpy"], make, text)
