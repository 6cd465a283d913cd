"""Many seeds at once."""

from __future__ import annotations

import importlib.util
import itertools
import os
from collections.abc import Sequence
from typing import Any, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from unipac import _checks as check
from unipac._arrays import Array, Integers
from unipac.bandits.protocol.play import instance_rounds
from unipac.envs import BanditInstance
from unipac.many import cores, settings
from unipac.many.record import Asked
from unipac.many.runs import Runs, runs_of

EPS = tuple(2.0**-k for k in range(10, 0, -1))
LARGEST = 2**40
"""The most rounds, and the most seeds."""
LARGEST_MEMORY = 2**18
"""The most bytes of local memory that a thread of a GPU may have."""


class DeviceError(RuntimeError):
    """The device cannot be used; the message says why.

    >>> issubclass(DeviceError, RuntimeError)
    True
    """


def play_many(
    agent: Any,
    instance: BanditInstance,
    *,
    rounds: SupportsIndex,
    seeds: SupportsIndex,
    device: str = "cpu",
    checkpoints: Sequence[SupportsIndex] | Integers | None = None,
    eps: Sequence[SupportsFloat] | ArrayLike | None = None,
    first_seed: SupportsIndex = 0,
    workers: SupportsIndex | None = None,
) -> Runs:
    """Play an agent on an instance from the beginning, once for every seed; the agent given learns nothing.

    The compiled kernels are those of ``agent.play``. Contexts and noise are functions of (seed, round), the same on
    every device but not those of ``instance.rounds``.

    Args:
        agent: a fresh UPACOFUL, NestedOFUL, OFUL or LinUCB, or Guarded over LinUCB with the guard's regularization;
            with ``tight=False`` where it has that, and without scaled bonus, blocks, misspecification or
            fixed actions.
        instance: a sphere, an instance with fixed arms, or a killer.
        rounds: how many rounds each seed plays.
        seeds: how many seeds.
        device: "cpu", or "cuda" for a GPU (``pip install "unipac[cuda]"``).
        checkpoints: increasing numbers of rounds after which the regret is recorded; by default after the last.
        eps: increasing accuracies whose mistakes are counted; by default 2^-10, ..., 1/2.
        first_seed: the first of the seeds, which follow one another.
        workers: how many threads, on "cpu"; one for each core by default.

    Example:
        >>> import unipac
        >>> agent = unipac.NestedOFUL(2, noise=0.1, tight=False)
        >>> runs = unipac.play_many(agent, unipac.envs.sphere(2, 4, noise=0.1), rounds=100, seeds=4)
        >>> bool(runs.left.any()), bool((runs.mistakes[:, 0] <= 100).all())
        (False, True)
    """
    player = settings.player_of(agent)
    world = settings.world_of(instance, player.dim, player.action_norm)
    length, _ = instance_rounds(agent, instance, check.count("rounds", rounds, most=LARGEST), 0)
    number = check.count("seeds", seeds, most=LARGEST)
    first = check.count("first_seed", first_seed, least=0)
    threads = None if workers is None else check.count("workers", workers)
    check.one_of("device", device, ("cpu", "cuda"))
    asked = Asked(length, _checkpoints(checkpoints, length), _accuracies(eps))
    levels = settings.capacity(player, world, length)
    if device == "cpu":
        told = cores.play(player, world, asked, levels, first, number, threads)
    else:
        check.require(threads is None, "workers", 'None on device="cuda"', workers)
        told = _on_gpu(player, world, asked, levels, first, number)
    return runs_of(asked, told, first)


def _checkpoints(given: Sequence[SupportsIndex] | Integers | None, rounds: int) -> Integers:
    listed = [rounds] if given is None else [check.count("checkpoints", each, most=rounds) for each in given]
    increasing = len(listed) > 0 and all(a < b for a, b in itertools.pairwise(listed))
    check.require(increasing, "checkpoints", f"increasing, from 1 to {rounds}, not empty", given)
    return np.array(listed, dtype=np.int64)


def _accuracies(given: Any) -> Array:
    listed = [check.positive("eps", each) for each in (EPS if given is None else given)]
    increasing = len(listed) > 0 and all(a < b for a, b in itertools.pairwise(listed))
    check.require(increasing, "eps", "increasing and positive, not empty", given)
    return np.array(listed)


def _on_gpu(player: Any, world: Any, asked: Asked, levels: int, first: int, seeds: int) -> Any:
    problem = missing()
    if problem:
        raise DeviceError(problem)
    from unipac.many import cuda

    n, d = world.sets.shape[1:]
    memory = 8 * (levels * (d * (d + 2) + 7) + n * (d + 5) + 8 * d)
    words = f"so few dimensions and actions that a seed needs at most {LARGEST_MEMORY} bytes on a GPU"
    check.require(memory <= LARGEST_MEMORY, "instance", words, memory)
    return cuda.play(player, world, asked, levels, first, seeds)


def missing() -> str:
    """Why no GPU can be used, in one sentence; empty if one can."""
    simulated = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
    if not simulated and importlib.util.find_spec("numba_cuda") is None:
        return 'device="cuda" needs: pip install "unipac[cuda]"'
    try:
        from numba import cuda as gpu

        return (
            "" if gpu.is_available() else 'device="cuda" needs an NVIDIA GPU and its driver, and found none'
        )
    except Exception as error:  # drivers and packages that do not fit fail in many ways
        return f'device="cuda" needs a GPU that CUDA can use: {error}'
