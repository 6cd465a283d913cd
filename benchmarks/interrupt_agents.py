"""Send signals to every registered agent at random moments, and see whether it is left between two states.

    python benchmarks/interrupt_agents.py [--times 200] [--plays 50] [--only NAME ...]

Each interrupt comes while an agent chooses and learns, or plays, in a loop. Afterwards its file must load, and its
digest must be one that an agent has that nobody interrupts: after as many calls, or rounds. Only public names are
used, so that an older version of the library can be tried with the same script (PYTHONPATH).
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import random
import signal
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import unipac

CALLS = 400
"""So many calls are known; no interrupt comes so late that more are made."""
LONGEST = 4e-3
"""Seconds until the signal, at most."""


class Interrupt(BaseException):
    """What the handler of the signal raises."""


def stop(*_: Any) -> None:
    """The handler."""
    raise Interrupt


# -- the same calls every time -----------------------------------------------------------------


def bandit(cls: Any) -> tuple[Any, Any]:
    """An agent, and its k-th call."""
    arms = unipac.envs.fixed_arms(0.8 * np.eye(3), [0.6, 0.3, 0.1], noise=0.1, noise_kind="rademacher")
    dim = getattr(cls, "only_dim", None) or 3
    instance = arms if dim == 3 else unipac.envs.sphere(dim=dim, n_actions=3, noise=0.1, seed=1)
    agent = cls.made_for(instance, rounds=CALLS, seed=1)
    X = np.array(instance.actions) if dim == 3 else 0.5 * np.ones((3, dim))

    def call(agent: Any, k: int) -> None:
        if k % 2 == 0:
            agent.choose(X)
        else:
            agent.update(next(iter(agent.pending)), 0.1 * (k % 7))

    return agent, call


def mdp(cls: Any) -> tuple[Any, Any]:
    """An agent, and its k-th call: act and observe in turn."""
    swim = unipac.envs.river_swim(3, 3)
    agent = cls.made_for(swim, rounds=CALLS, seed=1)

    def call(agent: Any, k: int) -> None:
        stage = k // 2
        if k % 2 == 0:
            agent.act(0 if stage % 3 == 0 else stage * 7 % 3)
        else:
            agent.observe(0.0, (stage + 1) * 7 % 3)

    return agent, call


def search(cls: Any) -> tuple[Any, Any]:
    """A search, and its k-th call: it is told what it asked for."""
    if cls.samples != "rewards":
        return None, None
    arms = unipac.envs.soare(3, 0.4)
    agent = cls.made_for(arms, rounds=CALLS, seed=1)

    def call(agent: Any, k: int) -> None:
        if not agent.done:
            batch = agent.ask()
            agent.tell(batch.counts * (0.5 + 0.001 * (k % 3)))

    return agent, call


def known(agent: Any) -> str:
    """Of what was learned; a plan that was made is not counted, as every question for a certificate makes one."""
    if agent.kind == "mdp":
        with contextlib.suppress(ValueError, TypeError):  # an episode is under way, or there are no numbers
            agent.certificate(0)
    return agent.digest()


def calls_wrong(name: str, times: int, folder: Path) -> tuple[int, int, int]:
    """Interrupts between calls and inside them: how many, states that no agent has otherwise, files refused."""
    cls = unipac.AGENTS[name]
    fresh, call = {"bandit": bandit, "mdp": mdp, "search": search}[cls.kind](cls)
    if fresh is None:
        return 0, 0, 0
    agent, states = copy.copy(fresh), []
    for k in range(CALLS):
        states.append(known(copy.copy(agent)))
        call(agent, k)
    states.append(known(agent))
    came = wrong = refused = 0
    path = folder / "agent.npz"
    while came < times:
        agent, k = copy.copy(fresh), 0
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, LONGEST))
            while k < CALLS:
                call(agent, k)
                k += 1
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            continue
        except Interrupt:
            came += 1
            if random.random() < 0.5 and k < CALLS:  # a second one, while the call is made again
                while known(copy.copy(agent)) != states[k] and k < CALLS:
                    k += 1
                try:
                    signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 2e-4))
                    call(agent, k)
                    signal.setitimer(signal.ITIMER_REAL, 0.0)
                    k += 1
                except Interrupt:
                    pass
                except Exception:
                    signal.setitimer(signal.ITIMER_REAL, 0.0)
                    wrong += 1
                    continue
        except Exception:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            came, wrong = came + 1, wrong + 1
            continue
        now = known(copy.copy(agent))
        wrong += now not in states[max(0, k - 1) : k + 3]
        path.unlink(missing_ok=True)
        agent.save(path)
        try:
            unipac.load(path)
        except ValueError:
            refused += 1
    return came, wrong, refused


def plays_wrong(name: str, times: int) -> tuple[int, int]:
    """Interrupts in ``play``: how many, and states that a shorter play does not have."""
    cls = unipac.AGENTS[name]
    if cls.kind == "search":
        return 0, 0
    if cls.kind == "bandit":
        dim = getattr(cls, "only_dim", None) or 3
        arms = unipac.envs.fixed_arms(0.8 * np.eye(dim), np.linspace(0.6, 0.1, dim), noise=0.1)
        make, world, how = (lambda: cls.made_for(arms, rounds=10**6, seed=1)), arms, "rounds"
    else:
        world = unipac.envs.river_swim(3, 3)
        make, how = (lambda: cls.made_for(world, rounds=10**6, seed=1)), "episodes"
    came = wrong = 0
    make().play(world, **{how: 30}, seed=3)
    for _ in range(times):
        agent = make()
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-4, 0.02))
            while True:
                agent.play(world, **{how: 40}, seed=3)
                if getattr(agent, how) > 2000:
                    signal.setitimer(signal.ITIMER_REAL, 0.0)
                    break
        except Interrupt:
            came += 1
            other, done = make(), getattr(agent, how)
            other.play(world, **{how: done}, seed=3)
            wrong += known(copy.copy(agent)) != known(other)
        except Exception:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            came, wrong = came + 1, wrong + 1
    return came, wrong


def main() -> int:
    """Print a line for each agent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=200, help="interrupts of calls, for each agent")
    parser.add_argument("--plays", type=int, default=50, help="interrupts of play, for each agent")
    parser.add_argument("--only", nargs="*", help="names of agents")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, stop)
    random.seed(1)
    totals = np.zeros(5, dtype=int)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        for name in options.only or unipac.AGENTS:
            found = (*calls_wrong(name, options.times, Path(folder)), *plays_wrong(name, options.plays))
            totals += found
            print(f"{name:20} calls {found[0]:5} wrong {found[1]:4} refused {found[2]:4}"
                  f"   play {found[3]:4} wrong {found[4]:4}", flush=True)  # fmt: skip
    print(
        "all:",
        dict(zip(("calls", "wrong", "refused", "plays", "wrong in play"), totals.tolist(), strict=True)),
    )
    return int(totals[1] + totals[2] + totals[4] > 0)


if __name__ == "__main__":
    sys.exit(main())
