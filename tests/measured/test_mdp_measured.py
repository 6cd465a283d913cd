"""The long measurements behind the claims of the docs on MDPs; ``make validate`` runs and prints them."""

import time

import numpy as np
import pytest

import unipac
from unipac.envs import lsvi_killer, random_simplex, river_swim

pytestmark = pytest.mark.slow


def test_a_certified_run_that_is_not_vacuous(capsys):
    """RiverSwim with 3 states, H = 3, δ = 0.05, radius "finite", 2·10^6 episodes, 5 seeds."""
    mdp = river_swim(n_states=3, horizon=3)
    K = 2 * 10**6
    q_star = mdp.optimal_q()
    agents = {
        "LSVIUCB": lambda: unipac.LSVIUCB(mdp.features, horizon=3, total_episodes=K, radius="finite"),
        "NestedFLUTE(always)": lambda: unipac.NestedFLUTE(mdp.features, horizon=3, replan="always"),
        "NestedFLUTE": lambda: unipac.NestedFLUTE(mdp.features, horizon=3),
        "FLUTE": lambda: unipac.FLUTE(mdp.features, horizon=3, radius="finite"),
    }
    regret = {name: [] for name in agents}
    for seed in range(5):
        for name, make in agents.items():
            agent = make()
            begin = time.perf_counter()
            total, first, last, plans = 0.0, None, None, 0
            for _ in range(20):
                trace = agent.play(mdp, episodes=K // 20, seed=seed)
                total += trace.gap.sum()
                last = (trace.gap > 0.01).mean()
                first = last if first is None else first
                plans += trace.replanned.sum()
                planned = agent.state.planned.levels[0]
                assert (agent.state.plan.Q[:, :planned] >= q_star[:, None] - 1e-12).all()
            assert agent.certified
            assert all(level.size <= level.bound for level in agent.levels())
            regret[name].append(total)
            with capsys.disabled():
                print(
                    f"\n{name}, seed {seed}: regret {total:.0f}, gap > 0.01 in {first:.1%} of the first and "
                    f"{last:.2%} of the last 10^5, {plans} plans, {time.perf_counter() - begin:.1f} s",
                    end="",
                )
            assert last < first
    mean = {name: np.mean(values) for name, values in regret.items()}
    with capsys.disabled():
        print("\nmean regret:", {name: round(float(value)) for name, value in mean.items()})
    assert mean["NestedFLUTE(always)"] <= 1.2 * mean["LSVIUCB"]
    assert mean["NestedFLUTE(always)"] <= 0.5 * mean["FLUTE"]
    assert mean["NestedFLUTE"] <= 1.45 * mean["LSVIUCB"]


@pytest.mark.parametrize("scale", [0.1, 0.3])
def test_lazy_is_cheap(scale, capsys):
    """Random simplex MDPs, S = 10, A = 4, d = 5, H = 4, mixture, 10^5 episodes, 20 seeds."""
    names = ("lazy", "always", "LSVIUCB", "FLUTE", "uniform")
    regret = {name: [] for name in names}
    plans = []
    for seed in range(20):
        mdp = random_simplex(n_states=10, n_actions=4, dim=5, horizon=4, seed=seed)
        common = {"horizon": 4, "radius": "mixture", "bonus_scale": scale}
        agents = {
            "lazy": unipac.NestedFLUTE(mdp.features, **common),
            "always": unipac.NestedFLUTE(mdp.features, **common, replan="always"),
            "LSVIUCB": unipac.LSVIUCB(mdp.features, total_episodes=10**5, **common),
            "FLUTE": unipac.FLUTE(mdp.features, **common),
        }
        for name, agent in agents.items():
            trace = agent.play(mdp, episodes=10**5, seed=seed)
            regret[name].append(trace.gap.sum())
            if name == "lazy":
                plans.append(int(trace.replanned.sum()))
        value = np.zeros(10)
        for h in (3, 2, 1, 0):
            value = (mdp.rewards[h] + mdp.transitions[h] @ value).mean(axis=1)
        regret["uniform"].append(1e5 * float(mdp.initial @ (mdp.optimal_value() - value)))
    mean = {name: float(np.mean(values)) for name, values in regret.items()}
    with capsys.disabled():
        print(
            f"\nscale {scale}: lazy/always {mean['lazy'] / mean['always']:.3f}, at most {max(plans)} plans; "
            f"always/LSVIUCB {mean['always'] / mean['LSVIUCB']:.3f}, FLUTE/LSVIUCB "
            f"{mean['FLUTE'] / mean['LSVIUCB']:.3f}, always/uniform {mean['always'] / mean['uniform']:.3f}",
            end="",
        )
    assert mean["always"] < 0.5 * mean["uniform"]
    assert mean["lazy"] <= 1.2 * mean["always"]
    assert max(plans) <= 400


def test_nested_stops_where_lsvi_ucb_does_not(capsys):
    """Mistakes after K forced episodes: those of LSVI-UCB grow with log K, those of NestedFLUTE stop."""
    mistakes = {"LSVIUCB": [], "NestedFLUTE": []}
    for K in (10**5, 10**6, 10**7):
        mdp = lsvi_killer(forced=K)
        agents = {
            "LSVIUCB": unipac.LSVIUCB(mdp.features, horizon=1, total_episodes=K + 1000, radius="mixture"),
            "NestedFLUTE": unipac.NestedFLUTE(mdp.features, horizon=1, radius="mixture"),
        }
        for name, agent in agents.items():
            for begin in range(0, K, 10**5):
                agent.play(mdp, episodes=10**5, initial_states=mdp.initial_states(10**5, start=begin))
            trace = agent.play(mdp, episodes=1000, initial_states=mdp.initial_states(1000, start=K))
            mistakes[name].append(int((trace.gap > 0.49).sum()))
    with capsys.disabled():
        print(f"\nmistakes after 10^5, 10^6, 10^7 forced episodes: {mistakes}", end="")
    a, b, c = mistakes["LSVIUCB"]
    assert a < b < c
    assert mistakes["NestedFLUTE"][1] == mistakes["NestedFLUTE"][2]


def test_cost_per_episode_and_level_is_flat(capsys):
    """Time per episode and level at k = 10^6 against k = 10^3, on RiverSwim with 6 states and H = 20."""
    mdp = river_swim(n_states=6, horizon=20)
    agent = unipac.NestedFLUTE(mdp.features, horizon=20, radius="mixture", bonus_scale=0.1)

    def cost():
        begin = time.perf_counter()
        agent.play(mdp, episodes=1000, seed=0)
        levels = max(level.level for level in agent.levels())
        return (time.perf_counter() - begin) / 1000 / levels * 1e6

    agent.play(mdp, episodes=1000, seed=0)
    early = min(cost() for _ in range(3))
    while agent.episodes < 10**6:
        agent.play(mdp, episodes=20_000, seed=0)
    late = min(cost() for _ in range(3))
    with capsys.disabled():
        print(
            f"\nµs per episode and level: {early:.2f} at 10^3, {late:.2f} at 10^6, ratio {late / early:.2f}",
            end="",
        )
