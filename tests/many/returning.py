"""Prints which kernels for GPUs return an array, as JSON; compilers for GPUs refuse them, the simulator does not."""

import gc
import json

import numpy as np
from numba import typeof, types

from unipac._linking import Kernel
from unipac.linalg import blocks
from unipac.many import cores, guarded, optimistic, settings
from unipac.many.record import Asked, room


def compile_for(name):
    """Compile all that one seed of a case needs."""
    from simulated import CASES  # which lies beside it

    make, instance = CASES[name]
    player = settings.player_of(make())
    world = settings.world_of(instance, player.dim, player.action_norm)
    asked = Asked(2, np.array([2]), np.array([0.5]))
    levels, s, scratch = cores._blank.py_func(8, 6, player.dim, 1)
    if player.rules is None:
        kernel, known, more = optimistic.play_one, [player.confidence], []
    else:
        kernel, known = guarded.play_one, [player.rules, 1.0]
        more = [guarded.Guard(np.zeros(6, int), np.zeros(6, int), *(np.zeros(6) for _ in range(4)))]
    arguments = [1, 0, world, *known, asked, levels, s, scratch, *more, room(asked, 1)]
    kernel.part.compile(tuple(map(typeof, arguments)))


def compiled():
    """What was compiled in this process: the names of all kernels, and of those that return an array."""
    found = [each for each in gc.get_objects() if isinstance(each, Kernel) and each.part.overloads]
    return len(found), sorted(
        {each.__name__ for each in found if any(map(has_array, each.part.overloads.values()))}
    )


def has_array(made):
    kind = made.signature.return_type
    return any(
        isinstance(one, types.Array) for one in (kind.types if isinstance(kind, types.BaseTuple) else [kind])
    )


def main():
    for name in ("NestedOFUL", "UPACOFUL", "Guarded"):
        compile_for(name)
    count, returning = compiled()
    blocks.part.part.compile((typeof(np.zeros((4, 4))), typeof(0)))
    print(json.dumps({"compiled": count, "returning": returning, "control": compiled()[1]}))


if __name__ == "__main__":
    main()
