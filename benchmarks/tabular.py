"""Tabular agents: regret on RiverSwim, episodes to learn Gymnasium's toy problems, episodes per second.

    python benchmarks/tabular.py regret | toys | tune | speed

*Episodes to learn*: the first episode from which the exact value of the greedy policy stays at least
V* − 0.05 (V* − V of random actions) for 200 episodes. An end of an episode is told to the agent, as by ``learn(env)``.
"""

import itertools
import sys
import time

import gymnasium
import numpy as np

import unipac
from unipac._jit import jit
from unipac.mdp.base.plan import Episode

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
    "discount": [0.99],
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
        self.shown = np.zeros(self.S)
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


def to_learn(toy, agent, most, seed):
    """Episodes to learn (infinite if more than ``most``), and the last plan."""
    rng, run, value = np.random.default_rng(seed), 0, -np.inf
    for k in range(most):
        plan = agent._plan()
        if plan.fresh:
            greedy = np.asarray(agent.policy()) if isinstance(agent, unipac.QLearning) else plan.action[:, 0]
            value = toy.value(np.ascontiguousarray(greedy))
        run = run + 1 if value >= toy.threshold else 0
        if run == 200:
            return k - 199, plan
        agent._learn(toy.episode(np.ascontiguousarray(plan.action[:, 0]), rng))
    return np.inf, plan


def report(name, toy, make, most, seeds):
    began = time.perf_counter()
    found, certificates = [], []
    for seed in range(seeds):
        episodes, plan = to_learn(toy, make(seed), most, seed)
        found.append(episodes)
        if plan.lower is not None:
            certificates.append(toy.initial @ (plan.bound - plan.lower))
    shown = f", certificate then {np.median(certificates):.4g}" if certificates else ""
    seconds = (time.perf_counter() - began) / seeds
    print(f"{name}: median {np.median(found):g}, {sorted(found)}{shown}, {seconds:.1f} s a run", flush=True)
    return float(np.median(found))


def toys(seeds=10):
    lake, cliff, taxi = Toy("FrozenLake"), Toy("CliffWalking"), Toy("Taxi")
    whole = {"homogeneous": True}

    def certified(toy, **parameters):
        return lambda seed: unipac.CertVI(toy.S, toy.A, horizon=toy.horizon, **whole, **parameters)

    report("FrozenLake CertVI, return_range", lake, certified(lake, return_range=(0.0, 1.0)), 5000, seeds)
    report("FrozenLake CertVI", lake, certified(lake), 12000, min(seeds, 3))
    report("FrozenLake PSRL", lake, lambda s: unipac.PSRL(16, 4, horizon=100, **whole, seed=s), 5000, seeds)
    fall = {"reward_range": (-100.0, 0.0)}
    report("CliffWalking CertVI .1", cliff, certified(cliff, bonus_scale=0.1, **fall), 1500, seeds)
    report("CliffWalking CertVI 1", cliff, certified(cliff, **fall), 6000, min(seeds, 3))
    ride = {"reward_range": (-10.0, 20.0), "return_range": (-2000.0, 20.0)}
    report("Taxi CertVI .01", taxi, certified(taxi, bonus_scale=0.01, **ride), 4000, min(seeds, 3))


def tune(name, seeds=2, best=10):
    """The grid of Q-learning: the best of it by the median of some seeds, then with fresh seeds."""
    toy = Toy(name)
    most = {"FrozenLake": 4000, "CliffWalking": 1000, "Taxi": 5000}[name]
    low, high = float(toy.reward.min()), max(float(toy.reward.max()), 0.0)

    def make(choice, offset):
        rate, power = choice["learning"]
        rest = {key: value for key, value in choice.items() if key != "learning"}
        return lambda seed: unipac.QLearning(
            toy.S,
            toy.A,
            horizon=toy.horizon,
            reward_range=(low, high),
            learning_rate=rate,
            learning_power=power,
            seed=seed + offset,
            **rest,
        )

    results = []
    for values in itertools.product(*GRID.values()):
        choice = dict(zip(GRID, values, strict=True))
        found = [to_learn(toy, make(choice, 0)(seed), most, seed)[0] for seed in range(seeds)]
        results.append((float(np.median(found)), str(choice), choice))
        print(f"{name} {np.median(found):g} {choice}", flush=True)
    results.sort(key=lambda entry: entry[:2])
    for median, text, _ in results[:5]:
        print(f"{name} {median:g} {text}", flush=True)
    report(f"{name} QLearning, best of the grid", toy, make(results[0][2], 100), most, best)


def regret(seeds=10):
    for n, H in ((3, 3), (6, 20)):
        mdp = unipac.envs.river_swim(n_states=n, horizon=H)
        for whole, known in itertools.product((False, True), (True, False)):
            found, last = [], []
            for seed in range(seeds):
                rewards = mdp.rewards[0] if known else None
                agent = unipac.CertVI(n, 2, horizon=H, homogeneous=whole, rewards=rewards)
                trace = agent.play(mdp, episodes=4000, seed=seed)
                found.append(trace.gap.sum())
                last.append(trace.certificate[-1])
            text = f"{'pooled' if whole else 'per stage'}, rewards {'known' if known else 'learned'}"
            print(
                f"RiverSwim {n}x{H} {text}: {np.mean(found):.2f}, certificate {np.mean(last):.3f}", flush=True
            )
        others = {
            "UBEV": {},
            "UBEV stitched": {"radius": "stitched"},
            "UBEV stitched pooled": {"radius": "stitched", "homogeneous": True},
            "UCBVI hoeffding": {"bonus": "hoeffding"},
            "UCBVI": {},
            "UCBVI no third term": {"third_term": False},
            "PSRL": {},
            "PSRL pooled": {"homogeneous": True},
        }
        for text, parameters in others.items():
            cls = unipac.AGENTS[text.split()[0]]
            runs = []
            for seed in range(min(seeds, 3)):
                agent = cls.made_for(mdp, rounds=4000, seed=seed, rewards=mdp.rewards[0], **parameters)
                runs.append(agent.play(mdp, episodes=4000, seed=seed).gap.sum())
            print(f"RiverSwim {n}x{H} {text}: {np.mean(runs):.2f}", flush=True)
        agent = unipac.UCBAdvantage.made_for(mdp, rounds=4000)
        print(f"RiverSwim {n}x{H} UCBAdvantage: {agent.play(mdp, episodes=4000).gap.sum():.2f}", flush=True)


def speed():
    """In seconds of the processor: one thread works, and others may use the machine."""
    mdp = unipac.envs.river_swim(n_states=6, horizon=20)
    for parameters in ({}, {"homogeneous": True}):
        unipac.CertVI.made_for(mdp, **parameters).play(mdp, episodes=100)
        for episodes in (4000, 10**5):
            times = []
            for _ in range(3):
                agent = unipac.CertVI.made_for(mdp, **parameters)
                began = time.process_time()
                agent.play(mdp, episodes=episodes)
                times.append(time.process_time() - began)
            print(
                f"CertVI {parameters}, first {episodes} episodes: {episodes / min(times):,.0f}/s", flush=True
            )
    agent = unipac.CertVI.made_for(mdp)
    rates, done = {}, 0
    for mark in (10**3, 10**4, 10**5, 10**6):
        agent.play(mdp, episodes=mark - done)
        began = time.process_time()
        agent.play(mdp, episodes=1000)
        done = mark + 1000
        rates[mark] = (time.process_time() - began) * 1000
    print("CertVI, µs an episode after:", {mark: round(rate, 1) for mark, rate in rates.items()})


if __name__ == "__main__":
    what = sys.argv[1]
    if what == "tune":
        tune(sys.argv[2])
    else:
        {"toys": toys, "regret": regret, "speed": speed}[what]()
