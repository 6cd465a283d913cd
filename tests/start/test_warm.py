"""After ``warm`` nothing is left to compile."""

import pytest
from processes import COUNT, finished, run

import unipac

USE = f"""
{COUNT}
import numpy as np
import unipac
from unipac import envs

for name in {{names}}:
    agent = unipac.AGENTS[name]
    if agent.__module__.startswith("unipac.bandits"):
        instance = envs.sphere(4, 7, noise=0.3)
        rounds = instance.rounds(0, 20, seed=1)
        one = agent(4)
        for X in rounds.actions[:3]:
            one.update(one.choose(X), 0.25)
        one.absorb(rounds.actions[0], rounds.rewards[0])
        one.bounds(rounds.actions[0])
        one.play(rounds.actions, rounds.rewards)
        one.play(instance, rounds=10, seed=2)
    else:
        mdp = envs.river_swim(n_states=4, horizon=2)
        extra = {{{{"episodes": 50}}}} if name == "LSVIUCB" else {{{{}}}}
        one = agent(mdp.features, horizon=2, **extra)
        one.play(mdp, episodes=5, seed=1)
        one.act(0)
        one.observe(0.5, 1, terminated=True)
        features = mdp.features
        two = agent(feature_map=lambda s: features[s], n_actions=2, dim=features.shape[2], horizon=2, **extra)
        for _ in range(2):
            two.act(0)
            two.observe(0.5, 1)
    assert type(one).__name__ == name
print(*compiled)
"""

WARM = f"""
{COUNT}
import unipac._warm as w
w.AGENTS = {{{{n: w.AGENTS[n] for n in {{names}}}}}}
print(w.warm())
print(len(compiled))
"""


def check(names, folder):
    said, compiled = run(WARM.format(names=names), NUMBA_CACHE_DIR=folder).splitlines()
    assert said == f"Compiled kernels are kept in {folder}"
    assert int(compiled) > 50
    assert run(USE.format(names=names), NUMBA_CACHE_DIR=folder).split() == []


def test_another_process_compiles_nothing_after_warm(tmp_path):
    check(["OFUL"], tmp_path)


@pytest.mark.slow
def test_another_process_compiles_nothing_after_warm_for_every_agent(tmp_path):
    check([*unipac.AGENTS], tmp_path)


def test_progress_without_rich_is_a_line_for_each_step():
    program = (
        "import sys; sys.modules['rich'] = sys.modules['rich.console'] = None\n"
        "import unipac._warm as w\n"
        "w.AGENTS = {}; w._use_instances = lambda: None\n"
        "w.warm(progress=True)"
    )
    assert finished(program).stderr == "unipac: compiling 1/1 instances\n"


def test_an_agent_that_fits_nothing_is_named():
    program = """
import unipac._warm as w
class Mine:
    __module__ = "unipac.bandits.mine"
    def __init__(self, dim):
        raise ValueError("never")
w.AGENTS = {"Mine": Mine}
try:
    w.warm()
except RuntimeError as error:
    print(error)
"""
    assert "Mine can be made for no small instance" in run(program)
