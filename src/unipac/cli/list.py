"""``unipac list``: all experiments, agents and instances, with the guarantee of each agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.markup import escape

from unipac import _lazy, registry
from unipac.cli.console import out

KINDS = {
    "unipac.bandits": "Agents for bandits",
    "unipac.mdp.tabular": "Agents for MDPs: tables",
    "unipac.mdp.linear": "Agents for MDPs: linear features",
    "unipac.mdp.mixture": "Agents for MDPs: mixtures",
    "unipac.pac": "Searches",
}


def list_all() -> None:
    """List every experiment, agent and instance by name, one line each; agents by kind, with their guarantee.

    The guarantee is the best that is proven of the algorithm: uniform-PAC (finitely many decisions are worse than ε,
    for all ε at once), regret (the total loss grows slower than the rounds), PAC (the answer is within ε), none.

    Example: unipac list | grep uniform-PAC
    """
    from unipac.envs.catalogue import SEARCHED
    from unipac.experiments.builtin import EXPERIMENTS
    from unipac.experiments.registry import BANDITS, INSTANCES, first_line

    experiments = {
        name: parts[0].title if len(parts) == 1 else f"All {len(parts)} experiments E1 to E18, in one run"
        for name, parts in EXPERIMENTS.items()
    }
    _show("Experiments (unipac run NAME)", experiments)
    left = dict(registry.AGENTS)
    for package, title in KINDS.items():
        agents = {name: registry.AGENTS[name] for name in _lazy.agents(package)}
        _show(f"{title}, and their guarantee", _agents(agents))
        left = {name: agent for name, agent in left.items() if name not in agents}
    if left:
        _show("Other agents, and their guarantee", _agents(left))
    _show("Bandit instances", {name: first_line(make) for name, make in BANDITS.items()})
    others = {**BANDITS, **SEARCHED}
    _show("MDPs", {name: first_line(make) for name, make in INSTANCES.items() if name not in others})
    _show("For searches for a policy", {name: first_line(make) for name, make in SEARCHED.items()})
    out.print("\nYour own: a TOML file names them, also as module:object; see docs/results/experiments.md.")


def _agents(agents: Mapping[str, Any]) -> dict[str, str]:
    """For each agent, its guarantee and the first line of its docstring."""
    from unipac.experiments.registry import first_line

    lines = {}
    for name, agent in agents.items():
        theorem = getattr(agent, "theorem", None)
        lines[name] = f"{theorem if isinstance(theorem, str) else '':11} {first_line(agent)}"
    return lines


def _show(title: str, lines: dict[str, str]) -> None:
    out.print(f"\n[bold]{title}[/]")
    for name, line in lines.items():
        out.print(f"  [cyan]{name:20}[/] {escape(line)}", soft_wrap=True)
