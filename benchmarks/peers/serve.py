"""How a peer is driven: one process in its own environment, requests and answers as lines of JSON.

A request names a problem file (``.npz``), how many rounds to play at most and after how much processor time
to stop; the answer says how many were played in which time. Needs NumPy only, and no part of unipac.
"""

import importlib.metadata
import json
import sys
import time

import numpy as np


def serve(packages, answer):
    """Answer requests until the input ends; what ``answer`` raises is the answer, too.

    What a peer prints goes to the error stream, so that answers stay lines of JSON.
    """
    out, sys.stdout = sys.stdout, sys.stderr
    versions = {name: importlib.metadata.version(name) for name in packages}
    print(json.dumps({"versions": versions}), file=out, flush=True)
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Exception as error:  # the run goes on without this peer
            reply = {"error": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(reply), file=out, flush=True)


def serve_bandit(packages, make, text=None):
    """Serve a bandit: ``make(n, d)`` gives ``choose(actions)`` and ``update(actions, k, reward)``.

    ``actions`` is the (n, d) array of a round. Whatever a peer makes of it is made on the clock; only if the
    request asks for it is ``text`` called for all rounds before.

    A problem may have ``contexts`` (T, d) instead of actions: then ``actions`` is (1, d), the context that all
    actions share. ``options`` of a request are those of ``make``.
    """

    def answer(request):
        with np.load(request["problem"]) as problem:
            rewards = problem["rewards"]
            shared = "contexts" in problem
            actions = problem["contexts"][:, None] if shared else problem["actions"]
        count = min(request["rounds"], len(actions))
        offered = [actions[t] for t in range(count)]
        values = rewards[:count].tolist()
        options = dict(request.get("options", {}))
        if request.get("prepared"):
            options["prepared"] = {row.ctypes.data: text(row) for row in offered}
        choose, update = make(rewards.shape[1], actions.shape[2], **options)
        return timed(choose, update, offered, values, request["seconds"])

    serve(packages, answer)


def timed(choose, update, offered, values, limit):
    """Play rounds one at a time until there are no more or ``limit`` seconds of processor time are over."""
    total = 0.0
    rounds = 0
    begin, wall = time.process_time(), time.perf_counter()
    for actions, rewards in zip(offered, values, strict=True):
        k = choose(actions)
        update(actions, k, rewards[k])
        total += rewards[k]
        rounds += 1
        if rounds % 8 == 0 and time.process_time() - begin > limit:
            break
    seconds, wall = time.process_time() - begin, time.perf_counter() - wall
    return {"rounds": rounds, "seconds": seconds, "wall": wall, "reward": total / rounds}
