"""coba: the value of a policy from a log, by its direct method and doubly robust, mean ± 1.96 standard errors."""

import numpy as np
from coba.environments.filters import OpeRewards
from coba.primitives import LoggedInteraction

from serve import serve


def answer(request):
    with np.load(request["problem"]) as log:
        sets, index, rewards, chances, policy = (
            log[k] for k in ("sets", "index", "rewards", "chances", "policy")
        )
    rounds = []
    for X, k, y, p in zip(sets.tolist(), index.tolist(), rewards.tolist(), chances.tolist(), strict=True):
        actions = [tuple(row) for row in X]
        rounds.append(LoggedInteraction(None, actions[k], y, probability=p, actions=actions))
    reply = {}
    for kind in ("DM", "DR"):
        made = OpeRewards(kind, features=["a"]).filter(rounds)  # linear in the vector of the action, as ours
        values = [one["rewards"](one["actions"][k]) for one, k in zip(made, policy.tolist(), strict=True)]
        mean, half = float(np.mean(values)), float(1.96 * np.std(values, ddof=1) / np.sqrt(len(values)))
        reply[kind] = [mean, mean - half, mean + half]
    return reply


serve(["coba", "vowpalwabbit", "numpy"], answer)
