"""Reward on real data side by side with peers, and the value of a policy from a log; see ``measure``."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import unipac
from unipac import data, logs
from unipac.bandits.guarded import kernels as guard

PEERS = ("river", "mabwiser", "contextualbandits", "vowpalwabbit")
RIDGE = [
    {"alpha": alpha, "ridge": ridge} for alpha, ridge in itertools.product((0.1, 0.3, 1.0), (0.01, 0.1, 1.0))
]
GREEDY = [{"epsilon": epsilon, "rate": rate} for epsilon, rate in itertools.product((0.01, 0.05), (0.5, 2.0))]
DEFAULT = {"alpha": 1.0, "ridge": 1.0}
SETS: dict[str, tuple[Callable[[], Any], int]] = {
    "digits": (lambda: data.digits(components=15), 10_000),
    "breast_cancer": (data.breast_cancer, 20_000),
    "swissmetro": (lambda: data.swissmetro("blocks"), 10_719),
}


def in_order(instance: Any, order: int, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Contexts and rewards of so many rounds: all samples in a random order, then in another."""
    rng = np.random.default_rng(order)
    samples = len(instance.contexts)
    rows = np.concatenate([rng.permutation(samples) for _ in range(-(-rounds // samples))])[:rounds]
    return instance.contexts[rows], instance.hits[rows]


def blocks(contexts: np.ndarray, n: int) -> np.ndarray:
    """One block per action, (T, n, n w)."""
    rounds, width = contexts.shape
    actions = np.zeros((rounds, n, n, width))
    actions[:, np.arange(n), np.arange(n)] = contexts[:, None, :]
    return actions.reshape(rounds, n, n * width)


def guarded(instance: Any, alpha: float, ridge: float, gate: float = 16.0) -> unipac.Guarded:
    heuristic = unipac.LinUCB(instance.dim, alpha=alpha, regularization=ridge)
    return unipac.Guarded(heuristic, noise=0.5, norm=instance.norm, regularization=ridge, gate=gate)


def play(agent: Any, actions: np.ndarray, rewards: np.ndarray) -> dict[str, Any]:
    begin = time.process_time()
    trace = agent.play(actions, rewards)
    spent = time.process_time() - begin
    explored = int((trace.level > 0).sum()) if isinstance(agent, unipac.Guarded) else 0
    return {
        "reward": float(trace.reward.mean()),
        "rounds": len(rewards),
        "seconds": spent,
        "explored": explored,
    }


def dropped(agent: unipac.Guarded, actions: np.ndarray, rewards: np.ndarray) -> int:
    """In how many rounds the guard rules some action out; one by one."""
    count = 0
    for X, y in zip(actions, rewards, strict=True):
        closed = len(agent.levels())
        if closed:
            work = guard.workspace(len(X), agent.dim, closed + 1)
            guard.look(agent.state, X, work)
            count += guard.guard(agent.state, closed, X, work)[2] < len(X)
        decision = agent.choose(X)
        agent.update(decision, float(y[decision.index]))
    return count


def one_by_one(agent: Any, actions: np.ndarray, rewards: np.ndarray) -> float:
    """Rounds per second of choose and update."""
    begin = time.process_time()
    for X, y in zip(actions, rewards, strict=True):
        decision = agent.choose(X)
        agent.update(decision, float(y[decision.index]))
    return len(rewards) / (time.process_time() - begin)


def on_set(
    name: str, peers: dict[str, Any], folder: Path, quick: bool, say: Callable[[str], None]
) -> dict[str, Any]:
    """Default against default, tuned against tuned."""
    make, rounds = SETS[name]
    instance = make()
    orders, tuning = ((0, 1), (100,)) if quick else (tuple(range(5)), (100, 101))
    trial = 1000 if quick else rounds // 4  # tuning would take twice the time of all else
    problems: dict[int, tuple[str, np.ndarray, np.ndarray]] = {}
    for order in (*orders, *tuning):
        contexts, rewards = in_order(instance, order, rounds if order in orders else trial)
        path = folder / f"{name}-{order}.npz"
        np.savez(path, contexts=contexts, rewards=rewards)
        problems[order] = str(path), contexts, rewards

    def ours(kind: str) -> Callable[..., dict[str, Any]]:
        def run(order: int, alpha: float, ridge: float) -> dict[str, Any]:
            _, contexts, rewards = problems[order]
            agent: Any = unipac.LinUCB(instance.dim, alpha=alpha, regularization=ridge)
            if kind != "LinUCB":
                agent = guarded(instance, alpha, ridge, gate=1.0 if "gate" in kind else 16.0)
            return play(agent, blocks(contexts, instance.n_actions), rewards)

        return run

    def theirs(peer: Any) -> Callable[..., dict[str, Any]]:
        def run(order: int, **options: float) -> dict[str, Any]:
            path, _, rewards = problems[order]
            reply: dict[str, Any] = peer.ask(problem=path, rounds=len(rewards), seconds=1e9, options=options)
            return reply

        return run

    programs = {name: ours(name) for name in ("Guarded(LinUCB)", "LinUCB", "Guarded(LinUCB), gate=1")}
    programs |= {name: theirs(peers[name]) for name in PEERS if name in peers}
    found: dict[str, Any] = {}
    for program, run in programs.items():
        grid = GREEDY if program == "vowpalwabbit" else RIDGE
        default = {"epsilon": 0.05, "rate": 0.5} if program == "vowpalwabbit" else DEFAULT
        try:
            scores = [np.mean([run(order, **told)["reward"] for order in tuning]) for told in grid]
            best = grid[int(np.argmax(scores))]
            plain = [run(order, **default) for order in orders]
            tuned = plain if best == default else [run(order, **best) for order in orders]
        except KeyError:
            found[program] = {"error": "failed"}
            say(f"  {name}: {program} failed")
            continue
        found[program] = {
            "default": [one["reward"] for one in plain],
            "tuned": [one["reward"] for one in tuned],
            "settings": best,
            "rounds_per_s": [one["rounds"] / one["seconds"] for one in plain],
            "explored": [one.get("explored", 0) for one in plain],
        }
        say(f"  {name}: {program} {np.mean(found[program]['default']):.4f}")
    _, contexts, rewards = problems[orders[0]]
    actions = blocks(contexts, instance.n_actions)
    result = {"rounds": rounds, "orders": orders, "dim": instance.dim, "programs": found}
    result["dropped"] = {
        f"gate={gate:g}": dropped(guarded(instance, gate=gate, **DEFAULT), actions, rewards)
        for gate in (16.0, 1.0)
    }
    part = slice(min(rounds, 2000))
    result["one_by_one"] = one_by_one(guarded(instance, **DEFAULT), actions[part], rewards[part])
    return result


def trial(orders: int) -> dict[str, list[float]]:
    """ACTG175 by replay: mean reward of the rounds that count, for each order of the patients."""
    log = data.actg175()
    agents = {
        "Guarded(LinUCB)": lambda: unipac.Guarded(unipac.LinUCB(4), noise=0.5, norm=2.0),
        "LinUCB": lambda: unipac.LinUCB(4),
        "NestedOFUL": lambda: unipac.NestedOFUL(4, noise=0.5, norm=2.0),
    }
    turned = [log[np.random.default_rng(order).permutation(len(log))] for order in range(orders)]
    found = {name: [logs.replay(make(), one).mean for one in turned] for name, make in agents.items()}
    return {**found, "random": [float(log.rewards.mean())] * orders}


def values(peer: Any | None, folder: Path, count: int, taken: int, rounds: int = 2000) -> dict[str, Any]:
    """Errors and widths of intervals for the policy that looks best in a log, with coba's beside them.

    d = 5, ten unit vectors a round, noise ±1/2; the log takes the first ``taken`` uniformly, with known
    propensities. coba learns its model by one pass of Vowpal Wabbit, linear in the vector of the action.
    """
    path = folder / "ope.npz"
    errors: dict[str, list[float]] = {}
    widths: dict[str, list[float]] = {}
    covered: dict[str, int] = {}
    for seed in range(count):
        rng = np.random.default_rng((5, seed))
        X = rng.standard_normal((rounds, 10, 5))
        X /= np.linalg.norm(X, axis=2, keepdims=True)
        theta = rng.standard_normal(5)
        means = X @ (theta / np.linalg.norm(theta))
        index = rng.integers(taken, size=rounds)
        rewards = means[np.arange(rounds), index] + rng.choice([-0.5, 0.5], size=rounds)
        log = logs.Log(X, index, rewards, np.full(rounds, 1.0 / taken))
        agent = unipac.OFUL(5, delta=0.05, noise=0.5)
        agent.absorb(log.actions, log.rewards)
        policy = agent.bounds(X.reshape(-1, 5)).mean.reshape(rounds, 10).argmax(axis=1)
        truth = float(means[np.arange(rounds), policy].mean())
        known = logs.value(agent, log, policy, learned=True)
        found = {"unipac": [known.estimate, known.lower, known.upper]}
        if peer is not None:
            np.savez(path, sets=X, index=index, rewards=rewards, chances=log.propensities, policy=policy)
            reply = peer.ask(problem=str(path))
            found |= {f"coba {kind}": reply[kind] for kind in ("DM", "DR") if kind in reply}
        for name, (estimate, lower, upper) in found.items():
            errors.setdefault(name, []).append(estimate - truth)
            widths.setdefault(name, []).append(upper - lower)
            covered[name] = covered.get(name, 0) + (lower <= truth <= upper)
    return {
        name: {
            "error": float(np.sqrt(np.mean(np.square(errors[name])))),
            "width": float(np.median(widths[name])),
            "covered": int(covered[name]),
            "logs": len(errors[name]),
        }
        for name in errors
    }


def measure(
    peers: dict[str, Any], estimator: Any | None, folder: Path, quick: bool, say: Callable[[str], None]
) -> dict[str, Any]:
    """The same contexts for all programs, one model per action, in several orders.

    Settings are chosen in a quarter of the rounds of orders 100 and 101 and tried on orders 0 to 4. ``quick``: two
    orders, settings chosen in 1,000 rounds of one.
    """
    for name in ("actg175", "swissmetro"):
        try:
            data.content(name)
        except FileNotFoundError:
            data.get(name)
    result: dict[str, Any] = {name: on_set(name, peers, folder, quick, say) for name in SETS}
    result["actg175"] = trial(10 if quick else 50)
    say("  actg175")
    count = 20 if quick else 100
    result["values"] = {str(taken): values(estimator, folder, count, taken) for taken in (10, 4)}
    if estimator is not None:
        estimator.close()
    return result


def best_peers(found: dict[str, Any]) -> dict[str, float]:
    """The mean reward of the best peer on a data set, default and tuned."""
    peers = [one for program, one in found["programs"].items() if program in PEERS and "default" in one]
    return {
        kind: max((float(np.mean(one[kind])) for one in peers), default=np.nan)
        for kind in ("default", "tuned")
    }


def goals(result: dict[str, Any]) -> Iterator[str]:
    """What was to be reached, and what was, as a table in Markdown."""
    rows: dict[str, list[str]] = {
        "`Guarded(LinUCB)` at least .98 of the best peer, default": [],
        "the same, tuned": [],
        "`play` at least 5 times river's rounds/s": [],
        "choose and update at least as fast as river": [],
    }
    for name in SETS:
        found = result[name]
        ours, river, best = (
            found["programs"]["Guarded(LinUCB)"],
            found["programs"]["river"],
            best_peers(found),
        )
        speed = float(np.median(river["rounds_per_s"]))
        reached = [
            f"{np.mean(ours['default']) / best['default']:.3f}",
            f"{np.mean(ours['tuned']) / best['tuned']:.3f}",
            f"{np.median(ours['rounds_per_s']) / speed:.1f}",
            f"{found['one_by_one'] / speed:.1f} times",
        ]
        for row, value in zip(rows.values(), reached, strict=True):
            row.append(value)
    yield f"| goal | {' | '.join(SETS)} |"
    yield "|---" * (len(SETS) + 1) + "|"
    for goal, values in rows.items():
        yield f"| {goal} | {' | '.join(values)} |"


def lines(result: dict[str, Any]) -> Iterator[str]:
    """Tables in Markdown."""
    for name in SETS:
        found = result[name]
        sound = {program: one for program, one in found["programs"].items() if "default" in one}
        best = best_peers(found)
        yield f"\n{name}: {found['rounds']:,} rounds of {len(found['orders'])} orders, d = {found['dim']}\n"
        yield "| program | default | of the best peer | tuned | of the best peer | settings | rounds/s | explored |"
        yield "|---|---|---|---|---|---|---|---|"
        for program, one in sound.items():
            cells = [program]
            for kind in ("default", "tuned"):
                mean = float(np.mean(one[kind]))
                cells += [f"{mean:.4f}", f"{mean / best[kind]:.3f}"]
            told = ", ".join(f"{key} {value:g}" for key, value in one["settings"].items())
            explored = "" if "Guarded" not in program else "/".join(map(str, one["explored"]))
            cells += [told, f"{np.median(one['rounds_per_s']):,.0f}", explored]
            yield f"| {' | '.join(cells)} |"
        idle = found["dropped"]["gate=16"] == 0 and not any(sound["Guarded(LinUCB)"]["explored"])
        told = ", ".join(f"{gate}: {count}" for gate, count in found["dropped"].items())
        yield f"\nRounds of order 0 in which the guard dropped an action, {told}{'; guard idle' if idle else ''}."
        yield f"Guarded(LinUCB), choose and update: {found['one_by_one']:,.0f} rounds/s."
    yield "\nactg175 by replay\n"
    yield "| agent | mean reward | standard error | orders |"
    yield "|---|---|---|---|"
    for program, means in result["actg175"].items():
        error = np.std(means, ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.nan
        yield f"| {program} | {np.mean(means):.4f} | {error:.4f} | {len(means)} |"
    for taken, found in result["values"].items():
        yield f"\nThe policy that looks best, from 2,000 rounds of a log that takes {taken} of 10 actions\n"
        yield "| program | root mean square error | median width | truth inside |"
        yield "|---|---|---|---|"
        for program, one in found.items():
            yield f"| {program} | {one['error']:.4f} | {one['width']:.4f} | {one['covered']} of {one['logs']} |"
