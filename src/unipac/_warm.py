"""Compile kernels of the library in advance, by calling every method of registered agents.

Otherwise a kernel is compiled when it is first used, and the user waits for seconds in the middle of other work.
After `warm` the kernels are on disk, for every process that uses the same folder (see ``unipac._jit``). There is
no list of kernels: `warm` tries on each agent whatever its kind can do, also with parameters for which kernels are
compiled once more (`VARIANTS`), and skips what the agent refuses.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unipac import _jit
from unipac.registry import AGENTS

ROUNDS = 8

VARIANTS: tuple[dict[str, Any], ...] = (
    {"bonus_scale": 0.5},
    {"tight": False},
    {"misspecification": 0.1},
    {"regularization": 0.7},
    {"radius": "mixture"},
    {"radius": "ball"},
    {"reward_range": (-1.0, 1.0)},
    {"ends": [2]},
    {"homogeneous": True},
    {"reward_values": "many"},
    {"rewards": np.full((3, 2), 0.5)},
    {"replan": "lazy", "bonus_scale": 0.5},
)
"""Parameters that may need kernels of their own; an agent is tried with those that it has."""

Way = Callable[[Any], object]

_ZERO = np.zeros(1, dtype=np.int64)


def warm(names: Iterable[str] = (), progress: bool = False) -> str:
    """Compile the kernels of some agents, by default of all, and return a sentence that names their folder.

    Args:
        names: of registered agents; of instances and deployments, only those kernels are compiled that these need.
        progress: show a bar.
    """
    chosen = {name: _registered(name) for name in names}
    with _jit.silently(), warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        for _, work in _shown(list(_steps(chosen, Path(folder))), progress):
            work()
    kept = _jit.cache_folder()
    if kept is None:
        return (
            "Compiled kernels are kept nowhere: neither NUMBA_CACHE_DIR nor the package nor a home directory "
            "can be written."
        )
    return f"Compiled kernels are kept in {kept}"


def _registered(name: str) -> type[Any]:
    if name not in AGENTS:
        near = difflib.get_close_matches(name, AGENTS, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else "; `unipac list` has all of them"
        raise ValueError(f"agent must be one of the registered ones, got {name!r}{hint}")
    agent: type[Any] = AGENTS[name]
    return agent


def _steps(chosen: Mapping[str, type[Any]], folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """The steps of the work, each with its name."""
    if not chosen:
        yield "instances", _use_instances
        yield "weights", _use_weights
    agents = chosen or AGENTS
    for name, agent in agents.items():
        yield name, functools.partial(_KINDS[agent.kind], agent, folder)
    if any(agent.kind == "bandit" for agent in agents.values()):
        yield "deployments", _use_deployment


def _shown(
    steps: list[tuple[str, Callable[[], None]]], progress: bool
) -> Iterable[tuple[str, Callable[[], None]]]:
    """Yield the steps, with a bar if rich is installed, else with a line for each step."""
    if not progress:
        yield from steps
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        for number, (name, work) in enumerate(steps, start=1):
            print(f"unipac: compiling {number}/{len(steps)} {name}", file=sys.stderr, flush=True)
            yield name, work
        return
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=len(steps))
        for name, work in steps:
            bar.update(task, description=f"compiling {name}")
            yield name, work
            bar.advance(task)


# -- instances -----------------------------------------------------------------------------------------


def _use_instances() -> None:
    """Draw from every instance, and plan in every MDP."""
    from unipac import envs
    from unipac.envs.mdps import planning

    for make in envs.BANDITS.values():
        with _refused(ImportError):  # some instances need data that come with another package
            make().rounds(0, ROUNDS, seed=0)
    for solve in envs.MDPS.values():
        mdp = solve()
        envs.optimal(mdp)
        table = np.zeros((mdp.horizon, mdp.n_states), dtype=np.int64)
        envs.policy_value(mdp, table)
        by_level = np.zeros((mdp.horizon, mdp.n_states, 2), dtype=np.int64)
        planning.level_policy_value(mdp.transitions, mdp.rewards, by_level, by_level)


def _use_weights() -> None:
    """Take rounds one by one and together, alone and as a difference."""
    from unipac.weights import RunningMean

    for other in (None, 1.0):
        mean = RunningMean(reward_range=(0.0, 1.0), difference=other is not None)
        mean.add(1.0, 0.5, other)
        mean.add([1.0], [0.5], other)
        mean.interval()


# -- agents, by kind -----------------------------------------------------------------------------------


def _use_bandit(agent: type[Any], folder: Path) -> None:
    from unipac import envs

    made, dim = 0, agent.only_dim or 3
    for instance in (envs.sphere(dim, 4), envs.soare(dim)):  # with changing actions, and with fixed ones
        ways = _bandit_ways(instance, folder)
        made += _tried(functools.partial(_made, agent, instance), ways)
        for parameters in _variants(agent):
            _tried(functools.partial(_made, agent, instance, **parameters), ways)
        if "fixed_actions" in inspect.signature(agent).parameters:
            fixed = _first_actions(instance)
            made += _tried(functools.partial(_made, agent, instance, fixed_actions=fixed), ways)
    _require_made(agent, made)


def _variants(agent: type[Any]) -> list[dict[str, Any]]:
    """Those of the variants whose parameters an agent has."""
    accepted = set(inspect.signature(agent).parameters)
    return [parameters for parameters in VARIANTS if set(parameters) <= accepted]


def _use_deployment() -> None:
    """Decide and learn until the drift alarm compares blocks."""
    from unipac import OFUL, Deployment
    from unipac.deployment.drift import EVERY, ROUNDS_PER_DIM

    deployment = Deployment(OFUL(1))
    for k in range(2 * ROUNDS_PER_DIM + EVERY):
        deployment.decide(None, [[1.0], [0.5]], id=k)
        deployment.reward(k, 0.5)
    deployment.watch("both", [[1.0], [0.5]], eps=0.1)


def _first_actions(instance: Any) -> Any:
    X = instance.rounds(0, 1, seed=0).actions
    return X[0] if X.ndim == 3 else X


def _bandit_ways(instance: Any, folder: Path) -> list[Way]:
    from unipac.many import play_many

    many, _, rewards = instance.rounds(0, ROUNDS, seed=0)
    X = _first_actions(instance)
    return [
        lambda a: a.update(a.choose(X), 0.5),
        lambda a: a.update(a.choose(X), 0.5, times=3),
        lambda a: a.update(a.choose(), 0.5),
        lambda a: a.update(a.choose(), 0.5, times=3),
        lambda a: _late(a, X),
        lambda a: a.absorb(X, X[:, 0]),
        lambda a: a.bounds(X),
        lambda a: a.bounds(),
        lambda a: a.levels(),
        lambda a: a.mistake_bound(0.5),
        lambda a: a.play(many, rewards),
        lambda a: a.play(X, rewards),
        lambda a: a.play(many, rewards, truth=instance.theta),
        lambda a: a.play(instance, rounds=ROUNDS, seed=0),
        lambda a: list(a.stream(instance, rounds=ROUNDS, seed=0)),
        # Some kernels run late, such as those at the end of a phase.
        lambda a: a.play(instance, rounds=20 * ROUNDS, seed=0),
        lambda a: play_many(a, instance, rounds=ROUNDS, seeds=1),
        lambda a: _save_and_load(a, folder),
        lambda a: _look_at_learned(a, lambda: a.play(instance, rounds=ROUNDS, seed=0), folder),
    ]


def _late(agent: Any, actions: Any) -> None:
    """Pass the reward of a later decision before that of an earlier one, and forget a third decision."""
    first, second = agent.choose(actions), agent.choose(actions)
    agent.update(second, 0.0)
    agent.update(first, 0.0)
    agent.forget(agent.choose(actions))


def _use_mdp(agent: type[Any], folder: Path) -> None:
    import gymnasium

    from unipac import envs

    mdp = envs.river_swim(n_states=3, horizon=3)
    env = gymnasium.make("unipac.envs.gymnasium:unipac/RiverSwim-v0", n_states=3, horizon=3)
    ways: list[Way] = [
        lambda a: a.play(mdp, episodes=3, seed=0),
        lambda a: a.play(mdp, episodes=3, seed=0, initial_states=np.zeros(3, dtype=np.int64)),
        lambda a: a.learn(env, episodes=3, seed=0),
        lambda a: _one_step(a, terminated=True),
        lambda a: _one_step(a, truncated=True),
        lambda a: a.certificate(0),
        lambda a: a.policy()(0, 1),
        lambda a: a.recommended(),
        lambda a: a.absorb((_ZERO, _ZERO, _ZERO, np.zeros(1), _ZERO)),
        lambda a: a.levels(),
        lambda a: a.mistake_bound(0.5),
        lambda a: _save_and_load(a, folder),
        lambda a: _look_at_learned(a, lambda: a.play(mdp, episodes=3, seed=0), folder),
    ]
    features = mdp.features
    arguments = {
        "feature_map": lambda state: features[state],
        "n_actions": features.shape[1],
        "dim": features.shape[2],
        "horizon": mdp.horizon,
    }
    accepted = set(inspect.signature(agent).parameters)
    arguments |= {"total_episodes": 100} if "total_episodes" in accepted else {}
    made = int(_tried(lambda: _made(agent, mdp), ways))
    for parameters in _variants(agent):
        _tried(functools.partial(_made, agent, mdp, **parameters), ways)
    if set(arguments) <= accepted:
        made += _tried(lambda: agent(**arguments), ways)
        lazy = {"bonus_scale": 0.5, "replan": "lazy"}
        lazy = {name: value for name, value in lazy.items() if name in accepted}
        _tried(lambda: agent(**arguments, **lazy), ways)
    env.close()
    _require_made(agent, made)


def _one_step(agent: Any, **end: bool) -> None:
    agent.act(0)
    agent.observe(0.5, 1, **end)


def _use_search(agent: type[Any], folder: Path) -> None:
    from unipac import envs

    made = 0
    river = envs.river_swim(n_states=3, horizon=3)
    candidates = {"functions": np.zeros((1, *river.rewards_shape))}
    extra = candidates if "functions" in inspect.signature(agent).parameters else {}
    for instance in (envs.soare(3), envs.random_anchors(4, 2, 2), river):
        run = functools.partial(_run, instance=instance)
        made += _tried(
            functools.partial(_made, agent, instance, **extra),
            [run, functools.partial(_save_and_load, folder=folder)],
        )
    _require_made(agent, made)


def _run(search: Any, *, instance: Any) -> None:
    search.run(instance, seed=0, max_pulls=1000)


_KINDS: dict[str, Callable[[type[Any], Path], None]] = {
    "bandit": _use_bandit,
    "mdp": _use_mdp,
    "search": _use_search,
}


def _tried(make: Callable[[], Any], ways: list[Way]) -> bool:
    """Try all ways, each with a new agent, as a refusal may come mid-round; return whether agents could be made."""
    with _refused(ValueError):
        make()
        for way in ways:
            agent = make()
            with _refused(ValueError, TypeError, AttributeError, NotImplementedError):
                way(agent)
        return True
    return False


def _look_at_learned(agent: Any, play: Callable[[], object], folder: Path) -> None:
    """Some kernels run only if something was learned: those of levels and bounds, and checks of what is loaded."""
    play()
    with _refused(AttributeError):
        agent.levels()
    _save_and_load(agent, folder)


def _save_and_load(agent: Any, folder: Path) -> None:
    """As ``save`` and ``load``, without waiting for the disk."""
    from unipac import _storage as storage, load
    from unipac._agents import described

    path = folder / "agent"
    path.write_bytes(storage.content(*described(agent)))
    agent._check_written(*storage.read(path))
    load(path)


def _refused(*errors: type[Exception]) -> contextlib.suppress:
    """Ignore the errors by which an agent or an instance refuses something."""
    return contextlib.suppress(*errors)


def _require_made(agent: type[Any], made: int) -> None:
    if not made:
        raise RuntimeError(f"{agent.__name__} can be made for no small instance: its kernels stay uncompiled")


def _made(agent: type[Any], instance: Any, **parameters: Any) -> Any:
    return agent.made_for(instance, rounds=100, seed=0, **parameters)
