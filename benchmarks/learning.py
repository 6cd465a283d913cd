"""Episodes to learn Gymnasium's toy problems: CertVI beside tuned Q-learning and PSRL.

    python benchmarks/learning.py                    all problems, into learning.json
    python benchmarks/learning.py tune PROBLEM       the grid of Q-learning
    python benchmarks/learning.py PROBLEM            FrozenLake | CliffWalking | Taxi

*Episodes to learn*: the first episode from which the exact value of a policy stays at least
V* − 0.05 (V* − V of random actions) for 200 episodes; the median of 10 seeds. Of CertVI two policies are valued: what
it *plays*, greedy for its upper values, and the one it *recommends*, greedy for what it has counted. Of Q-learning it
is the greedy one, which is not what it plays either; of PSRL the one it plays. An end of an episode is told to the
agent, as by ``learn(env)``. ``learning.json`` also has the values of both policies of CertVI at the end of a run. Every
row is a process of its own; seconds are those of the processor, and memory is the largest that the process had,
libraries included.

Q-learning is tuned on all of ``GRID``: the best median of 2 seeds (with a limit on the episodes), then measured with 10
others. ε falls in equal steps from 1 to ``epsilon_end`` within ``epsilon_decay`` episodes (1: at once); the rate is
constant, or n^-0.6. ``TUNED`` is what came out, for a start with Q = 0, which is what everyone tries first, and on
FrozenLake also for Q = 1, the largest return, which is how Q-learning can use the return range.
"""

import itertools
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np

import unipac
from unipac._jit import jit
from unipac.mdp.protocol.plan import Episode

HERE = Path(__file__).parent

TOYS = {
    "FrozenLake": ("FrozenLake-v1", {"is_slippery": True}, 100),
    "CliffWalking": ("CliffWalking-v1", {}, 100),
    "Taxi": ("Taxi-v4", {}, 200),
}
GRID = {
    "learning": [(0.1, 0.0), (0.3, 0.0), (0.8, 0.0), (1.0, 0.6)],
    "epsilon_end": [0.0, 0.1],
    "epsilon_decay": [1, 300, 1000],
    "initial_value": [0.0, 1.0],
    "discount": [0.99, 1.0],
}
LIMIT = {"FrozenLake": 3000, "CliffWalking": 600, "Taxi": 2600}


TUNED = {
    "FrozenLake": {"learning": (0.1, 0.0), "epsilon_end": 0.1, "epsilon_decay": 1000, "discount": 1.0},
    "FrozenLake, Q = 1": {
        "learning": (0.3, 0.0),
        "epsilon_end": 0.0,
        "epsilon_decay": 300,
        "discount": 0.99,
        "initial_value": 1.0,
    },
    "CliffWalking": {"learning": (0.8, 0.0), "epsilon_end": 0.0, "epsilon_decay": 300, "discount": 0.99},
    "Taxi": {"learning": (0.8, 0.0), "epsilon_end": 0.0, "epsilon_decay": 1000, "discount": 0.99},
}


class Toy:
    """A Gymnasium environment that publishes its table, as arrays of outcomes (S, A, J)."""

    def __init__(self, name):
        made, arguments, self.horizon = TOYS[name]
        env = gymnasium.make(made, **arguments).unwrapped
        self.S, self.A = len(env.P), len(env.P[0])
        J = max(len(env.P[s][a]) for s in env.P for a in env.P[s])
        shape = (self.S, self.A, J)
        self.chance, self.reward = np.zeros(shape), np.zeros(shape)
        self.after = np.full(shape, -1)
        for s, a in itertools.product(range(self.S), range(self.A)):
            for j, (p, t, r, over) in enumerate(env.P[s][a]):
                self.chance[s, a, j], self.reward[s, a, j], self.after[s, a, j] = p, r, -1 if over else t
        self.initial = np.array(env.initial_state_distrib, dtype=float)
        V, W = np.zeros(self.S + 1), np.zeros(self.S + 1)  # the last entry, index -1, is the end
        for _ in range(self.horizon):
            V[:-1] = (self.chance * (self.reward + V[self.after])).sum(axis=2).max(axis=1)
            W[:-1] = (self.chance * (self.reward + W[self.after])).sum(axis=2).mean(axis=1)
        self.best, self.random = float(self.initial @ V[:-1]), float(self.initial @ W[:-1])
        self.threshold = self.best - 0.05 * (self.best - self.random)

    def value(self, action):
        """Of a policy (H, S), over the first states."""
        V = np.zeros(self.S)
        return float(self.initial @ _value(self.chance, self.reward, self.after, action, V))

    def episode(self, action, rng):
        """One episode of a policy (H, S)."""
        s = int(rng.choice(self.S, p=self.initial))
        return Episode(*_simulate(self.chance, self.reward, self.after, action, s, rng.random(self.horizon)))


@jit
def _value(chance, reward, after, action, V):
    for h in range(action.shape[0] - 1, -1, -1):
        new = np.zeros_like(V)
        for s in range(V.size):
            a = action[h, s]
            for j in range(chance.shape[2]):
                if chance[s, a, j] > 0.0:
                    t = after[s, a, j]
                    new[s] += chance[s, a, j] * (reward[s, a, j] + (V[t] if t >= 0 else 0.0))
        V = new
    return V


@jit
def _simulate(chance, reward, after, action, s, uniforms):
    H = uniforms.size
    states, actions, levels, following = np.zeros((4, H), dtype=np.int64)
    rewards = np.zeros(H)
    n = H
    for h in range(H):
        a = action[h, s]
        j, total = 0, chance[s, a, 0]
        while j < chance.shape[2] - 1 and uniforms[h] >= total:
            j += 1
            total += chance[s, a, j]
        states[h], actions[h], rewards[h], following[h] = s, a, reward[s, a, j], after[s, a, j]
        s = after[s, a, j]
        if s < 0:
            n = h + 1
            break
    return states[:n], actions[:n], levels[:n], rewards[:n], following[:n]


@jit
def _greedy_value(chance, reward, after, Q, horizon):
    """Of the greedy policy of Q (S, A), ties at random, from every state."""
    S, A, J = chance.shape
    first, mean = np.zeros(S + 1, dtype=np.int64), np.zeros(S)
    p, to = np.zeros(S * A * J), np.zeros(S * A * J, dtype=np.int64)
    used = 0
    for s in range(S):
        best, ties = Q[s].max(), 0
        for a in range(A):
            ties += Q[s, a] == best
        for a in range(A):
            for j in range(J):
                if Q[s, a] == best and chance[s, a, j] > 0.0:
                    mean[s] += chance[s, a, j] * reward[s, a, j] / ties
                    if after[s, a, j] >= 0:
                        p[used], to[used] = chance[s, a, j] / ties, after[s, a, j]
                        used += 1
        first[s + 1] = used
    V = np.zeros(S)
    for _ in range(horizon):
        new = mean.copy()
        for s in range(S):
            for e in range(first[s], first[s + 1]):
                new[s] += p[e] * V[to[e]]
        V = new
    return V


@jit
def _eager(chance, reward, after, Q, epsilon, s, uniforms):
    """An episode with ε-greedy choices, ties at random; uniforms (H, 3)."""
    H, A = uniforms.shape[0], Q.shape[1]
    states, actions, levels, following = np.zeros((4, H), dtype=np.int64)
    rewards = np.zeros(H)
    for h in range(H):
        a = int(uniforms[h, 1] * A)
        if uniforms[h, 0] >= epsilon:
            best, ties = Q[s].max(), 0
            for b in range(A):
                ties += Q[s, b] == best
            nth = int(uniforms[h, 1] * ties)
            a = -1
            while nth >= 0:
                a += 1
                nth -= Q[s, a] == best
        j, total = 0, chance[s, a, 0]
        while j < chance.shape[2] - 1 and uniforms[h, 2] >= total:
            j += 1
            total += chance[s, a, j]
        states[h], actions[h], rewards[h], following[h] = s, a, reward[s, a, j], after[s, a, j]
        s = after[s, a, j]
        if s < 0:
            n = h + 1
            return states[:n], actions[:n], levels[:n], rewards[:n], following[:n]
    return states, actions, levels, rewards, following


class Watch:
    """Waits for 200 episodes in a row with a value at the threshold or above."""

    def __init__(self, toy):
        self.toy, self.run, self.found = toy, 0, np.inf

    def see(self, k, value):
        """The value of the policy of episode k."""
        self.run = self.run + 1 if value >= self.toy.threshold else 0
        if self.run == 200 and self.found == np.inf:
            self.found = k - 199


def q_to_learn(toy, agent, most, seed):
    """Episodes to learn of Q-learning; the choices are drawn here, where they are needed: the same law, faster."""
    rng, watch = np.random.default_rng([seed, agent.seed]), Watch(toy)
    for k in range(most):
        Q = agent.state.Q[0]
        watch.see(k, toy.initial @ _greedy_value(toy.chance, toy.reward, toy.after, Q, toy.horizon))
        if watch.found < np.inf:
            break
        epsilon = max(agent.epsilon_end, agent.epsilon_start * (1 - k / agent.epsilon_decay))
        s = int(rng.choice(toy.S, p=toy.initial))
        tables = toy.chance, toy.reward, toy.after
        agent._commit(agent._learn(Episode(*_eager(*tables, Q, epsilon, s, rng.random((toy.horizon, 3))))), 0)
    return watch.found


def to_learn(toy, agent, most, seed):
    """Episodes to learn by the policy played and the one recommended, if any; infinite if more than ``most``."""
    rng, played, recommended = np.random.default_rng(seed), Watch(toy), Watch(toy)
    advises = isinstance(agent, unipac.CertVI)
    value = advised = -np.inf
    for k in range(most):
        plan = agent._plan()
        if plan.fresh:
            value = toy.value(np.ascontiguousarray(plan.action[:, 0]))
            if advises and recommended.found == np.inf:
                advised = toy.value(np.asarray(agent.recommended().policy))
        played.see(k, value)
        recommended.see(k, advised)
        if played.found < np.inf and (not advises or recommended.found < np.inf):
            break
        agent._commit(agent._learn(toy.episode(np.ascontiguousarray(plan.action[:, 0]), rng)), 0)
    return played.found, recommended.found, plan, (value, advised)


def q_learning(toy, choice, offset):
    rate, power = choice["learning"]
    rest = {key: value for key, value in choice.items() if key != "learning"}
    low, high = float(toy.reward.min()), max(float(toy.reward.max()), 0.0)
    told = {"horizon": toy.horizon, "reward_range": (low, high), "learning_rate": rate}
    return lambda seed: unipac.QLearning(
        toy.S, toy.A, **told, learning_power=power, seed=seed + offset, **rest
    )


def tune(name, seeds=2):
    """Every setting of the grid, the best ones at the end."""
    toy, results, most = Toy(name), [], LIMIT[name]
    for values in itertools.product(*GRID.values()):
        choice = dict(zip(GRID, values, strict=True))
        if choice["initial_value"] != 0.0 and name != "FrozenLake":
            continue  # returns are at most 0 or 20: 0 is a large value already
        found = [np.inf]
        for seed in range(seeds):  # one that has not learned at all is not tried again
            if seed == 0 or found[0] < np.inf:
                found[seed:] = [q_to_learn(toy, q_learning(toy, choice, 0)(seed), most, seed)]
        results.append((float(np.mean(found)), choice))
        print(f"{name} {found} {choice}", flush=True)
    results.sort(key=lambda entry: entry[0])
    print("the best:")
    for mean, choice in results[:8]:
        print(f"{name} {mean:g} {choice}", flush=True)


# -- the table -----------------------------------------------------------------------------------------

CERTIFIED = {
    "FrozenLake": {"return_range": (0.0, 1.0)},
    "CliffWalking": {"reward_range": (-100.0, 0.0)},
    "Taxi": {"reward_range": (-10.0, 20.0), "return_range": (-2000.0, 20.0)},
}
# problem: (agent, parameters, most episodes, seeds)
ROWS = {
    "FrozenLake": [
        ("CertVI", {}, 5000, 10),
        ("CertVI", {"ties": "spread"}, 5000, 10),
        ("CertVI", {"bonus_scale": 0.5}, 5000, 10),
        ("CertVI", {"bonus_scale": 0.1}, 5000, 10),
        ("CertVI", {"return_range": None}, 6000, 10),
        ("CertVI", {"return_range": None, "ends": (5, 7, 11, 12, 15)}, 6000, 10),
        ("PSRL", {}, 5000, 5),
        ("QLearning", TUNED["FrozenLake"], 5000, 10),
        ("QLearning", TUNED["FrozenLake, Q = 1"], 5000, 10),
    ],
    "CliffWalking": [
        ("CertVI", {}, 5000, 10),
        ("CertVI", {"ties": "spread"}, 5000, 10),
        ("CertVI", {"bonus_scale": 0.1}, 2000, 10),
        ("CertVI", {"bonus_scale": 0.1, "ties": "spread"}, 2000, 10),
        ("QLearning", TUNED["CliffWalking"], 2000, 10),
    ],
    "Taxi": [
        ("CertVI", {"bonus_scale": 0.01, "ties": "spread", "replan_every": 10}, 2000, 10),
        ("CertVI", {"bonus_scale": 0.001, "ties": "spread", "replan_every": 10}, 2000, 10),
        ("CertVI", {"bonus_scale": 0.01, "replan_every": 10}, 3000, 1),
        ("CertVI", {"ties": "spread", "replan_every": 50}, 5000, 10),
        ("QLearning", TUNED["Taxi"], 5000, 10),
    ],
}


def measure(name, row):
    """One row of the table."""
    kind, told, most, seeds = ROWS[name][row]
    toy, played, recommended, certificates, seconds, values = Toy(name), [], [], [], [], []
    for seed in range(seeds):
        began = time.process_time()
        if kind == "QLearning":
            found = np.nan, q_to_learn(toy, q_learning(toy, told, 100)(seed), most, seed + 100), None
        else:
            told_all = {**(CERTIFIED[name] if kind == "CertVI" else {"seed": seed}), **told}
            agent = unipac.AGENTS[kind](toy.S, toy.A, horizon=toy.horizon, homogeneous=True, **told_all)
            found = to_learn(toy, agent, most, seed)
            values.append(found[3])
            certificates.append(
                0.0 if found[2].lower is None else toy.initial @ (found[2].bound - found[2].lower)
            )
        if seed > 0 or seeds == 1:  # the first one compiles
            seconds.append(time.process_time() - began)
        played.append(found[0])
        recommended.append(found[1] if kind != "PSRL" else np.nan)
    return {
        "agent": kind,
        "parameters": {key: list(v) if isinstance(v, tuple) else v for key, v in told.items()},
        "most": most,
        "seeds": seeds,
        "played": sorted(played),
        "recommended": sorted(recommended),
        "certificate": float(np.median(certificates)) if kind == "CertVI" else None,
        "values": np.median(values, axis=0).tolist() if kind == "CertVI" else None,
        "seconds": float(np.median(seconds)),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def shown(values, most):
    """Median (least to largest) of episodes to learn."""
    if not values or np.isnan(values[0]):
        return ""
    found = np.median(values), values[0], values[-1]
    words = [f"{v:,.0f}" if np.isfinite(v) else f"more than {most:,}" for v in found]
    return words[0] if len(values) == 1 else f"{words[0]} ({words[1]} to {words[2]})"


def table(results):
    lines = [
        "| problem | agent | policy played | recommended, or greedy | certificate then | s a run | MiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, rows in results.items():
        for row in rows:
            words = ", ".join(f"{key} {value}" for key, value in row["parameters"].items())
            agent = row["agent"] + (
                f", {words}" if words else ", certified" if row["agent"] == "CertVI" else ""
            )
            proven = "" if row["certificate"] is None else f"{row['certificate']:.3g}"
            cells = (shown(row[key], row["most"]) for key in ("played", "recommended"))
            agent += f", {row['seeds']} seed" + "s" * (row["seeds"] > 1)
            spent = f"{row['seconds']:.1f} | {row['megabytes']:.0f}"
            lines.append(f"| {name} | {agent} | {' | '.join(cells)} | {proven} | {spent} |")
    return "\n".join(lines)


def main():
    """All rows, each in a process of its own."""
    source, results = HERE / "learning.json", {}
    wanted = sys.argv[1:] or list(ROWS)
    if source.exists():
        results = json.loads(source.read_text())
    for name in wanted:
        results[name] = []
        for row in range(len(ROWS[name])):
            command = [sys.executable, __file__, "row", name, str(row)]
            reply = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            results[name].append(json.loads(reply))
            print(table({name: results[name][-1:]}).splitlines()[-1], flush=True)
        source.write_text(json.dumps(results, indent=1) + "\n")
    print("`make numbers` writes them into docs/results/benchmarks.md")


if __name__ == "__main__":
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    if what == "tune":
        tune(sys.argv[2])
    elif what == "row":
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]))))
    else:
        main()
