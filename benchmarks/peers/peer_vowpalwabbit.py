"""Vowpal Wabbit: RegCB (optimistic) on action features, a model learned by gradient steps; text interface.

A request with ``"prepared": true`` finds the text of all actions written before the clock starts.
"""

from serve import serve_bandit
from vowpalwabbit import Workspace


def text(actions):
    return ["|a " + " ".join([f"{j}:{x:.6g}" for j, x in enumerate(row)]) for row in actions.tolist()]


def make(n, d, prepared=None):
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
