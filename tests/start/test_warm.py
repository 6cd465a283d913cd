"""After ``warm`` nothing is left to compile."""

from pathlib import Path

import pytest

import unipac
from helpers.processes import COUNT, finished, run

TESTS = Path(__file__).parents[1]

USE = f"""
{COUNT}
import inspect
import gymnasium
import numpy as np
import unipac
from unipac import envs


def bandit(agent):
    instance = envs.sphere(agent.only_dim or 4, 7, noise=0.3)
    try:
        agent.made_for(instance, rounds=50, seed=1)
    except ValueError:  # for fixed arms only
        instance = envs.soare(3)
    rounds = instance.rounds(0, 20, seed=1)
    X = rounds.actions[0] if rounds.actions.ndim == 3 else rounds.actions
    one = agent.made_for(instance, rounds=50, seed=1)
    for _ in range(3):
        one.update(one.choose(X), 0.25)
    one.bounds(X)
    one.play(rounds.actions, rounds.rewards)
    one.play(instance, rounds=10, seed=2)
    if agent.counts_many:
        one.update(one.choose(X), 0.25, times=10**6)
    if agent.absorbs:
        one.absorb(X, X[:, 0])
    if "fixed_actions" in inspect.signature(agent).parameters:
        fixed = agent.made_for(instance, rounds=50, seed=1, fixed_actions=X)
        fixed.update(fixed.choose(), 0.25)
        fixed.play(X, rounds.rewards)
    if agent.__name__ in ("UPACOFUL", "NestedOFUL", "OFUL", "LinUCB", "Guarded"):
        loose = {{{{"tight": False}}}} if "tight" in inspect.signature(agent).parameters else {{{{}}}}
        fresh = agent.made_for(instance, rounds=50, seed=1, **loose)
        unipac.play_many(fresh, instance, rounds=20, seeds=2, checkpoints=[5, 20])


def mdp(agent):
    river = envs.river_swim(n_states=4, horizon=2)
    env = gymnasium.make("unipac.envs.gymnasium:unipac/RiverSwim-v0", n_states=4, horizon=2)
    one = agent.made_for(river, rounds=50, seed=1)
    one.certificate(0)
    one.play(river, episodes=5, seed=1)
    one.act(0)
    one.observe(0.5, 1, terminated=True)
    one.learn(env, episodes=2, seed=0)
    one.policy()(0, 1)
    known, phi = inspect.signature(agent).parameters, river.features
    if "feature_map" in known:
        extra = {{{{"total_episodes": 50}}}} if "total_episodes" in known else {{{{}}}}
        two = agent(feature_map=lambda s: phi[s], n_actions=2, dim=phi.shape[2], horizon=2, **extra)
        two.learn(env, episodes=2, seed=0)
        two.policy()(0, 1)


def search(agent):
    river = envs.river_swim(n_states=4, horizon=1)
    extra = {{{{"functions": river.optimal_q()[None]}}}} if agent.samples == "episodes" else {{{{}}}}
    anchored = envs.random_anchors(5, 2, 2)
    instance = {{{{"rewards": envs.soare(2), "next states": anchored, "episodes": river}}}}[agent.samples]
    agent.made_for(instance, seed=1, **extra).run(instance, seed=1, max_pulls=500)


for name in {{names}}:
    found = unipac.AGENTS[name]
    {{{{"bandit": bandit, "mdp": mdp, "search": search}}}}[found.kind](found)
print(*compiled)
"""

WARM = f"""
{COUNT}
import unipac._warm as w
print(w.warm({{names}}))
print(len(compiled))
"""

CONTRACT = f"""
{COUNT}
import sys
sys.path[:0] = {[str(TESTS), str(TESTS / "contract")]!r}
import test_handed_over as contract
for case in contract.CASES.values():
    contract.use(case)
print(*compiled)
"""


def warmed(names, folder):
    said, compiled = run(WARM.format(names=names), NUMBA_CACHE_DIR=folder).splitlines()
    assert said == f"Compiled kernels are kept in {folder}"
    return int(compiled)


def test_another_process_compiles_nothing_after_warm(tmp_path):
    assert 20 < warmed(["UBEV"], tmp_path) < 100
    assert run(USE.format(names=["UBEV"]), NUMBA_CACHE_DIR=tmp_path).split() == []


@pytest.mark.slow
def test_another_process_compiles_nothing_after_warm_for_every_agent(tmp_path):
    """Neither for ordinary use nor for that of the contract, with parameters of all kinds."""
    assert warmed([], tmp_path) > 200
    assert run(USE.format(names=[*unipac.AGENTS]), NUMBA_CACHE_DIR=tmp_path).split() == []
    of_the_test = {"reward_of", "sample", "stage_entry"}  # which its loop over an environment calls
    assert {*run(CONTRACT, NUMBA_CACHE_DIR=tmp_path).split()} <= of_the_test


def test_progress_without_rich_is_a_line_for_each_step():
    program = (
        "import sys; sys.modules['rich'] = sys.modules['rich.console'] = None\n"
        "import unipac._warm as w\n"
        "w.AGENTS = {}; w._use_instances = w._use_weights = lambda: None\n"
        "w.warm(progress=True)"
    )
    assert finished(program).stderr == "unipac: compiling 1/2 instances\nunipac: compiling 2/2 weights\n"


def test_an_agent_that_fits_nothing_is_named():
    program = """
import unipac._warm as w
class Mine:
    kind, only_dim = "bandit", None
    @classmethod
    def made_for(cls, instance, **parameters):
        raise ValueError("never")
w.AGENTS = {"Mine": Mine}
try:
    w.warm()
except RuntimeError as error:
    print(error)
"""
    assert "Mine can be made for no small instance" in run(program)
