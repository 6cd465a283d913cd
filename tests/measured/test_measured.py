"""The long measurements behind the claims of the docs; ``make validate`` runs them and prints the figures."""

import resource

import numpy as np
import pytest

import unipac
from unipac.envs import sphere

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("noise", [0.1, 1.0])
@pytest.mark.parametrize("dim", [5, 10])
def test_nested_has_the_regret_of_oful(dim, noise, capsys):
    """i.i.d. contexts, 20 actions, 20,000 rounds, 200 seeds: mean regret at most 1.05 times OFUL's."""
    agents = {
        "OFUL(mixture)": lambda: unipac.OFUL(dim, noise=noise, radius="mixture"),
        "NestedOFUL": lambda: unipac.NestedOFUL(dim, noise=noise),
        "NestedOFUL(all_data=False)": lambda: unipac.NestedOFUL(dim, noise=noise, all_data=False),
        "UPACOFUL(mixture)": lambda: unipac.UPACOFUL(dim, noise=noise, radius="mixture"),
        "UPACOFUL": lambda: unipac.UPACOFUL(dim, noise=noise),
    }
    regret = {name: np.empty(200) for name in agents}
    for seed in range(200):
        instance = sphere(dim, 20, noise=noise, seed=seed)
        rounds = instance.rounds(0, 20_000, seed=seed)
        for name, make in agents.items():
            trace = make().play(rounds.actions, rounds.rewards, truth=instance.theta)
            regret[name][seed] = trace.gap.sum()
    base = regret["OFUL(mixture)"]
    ratios = {}
    for name, values in regret.items():
        ratio = values.mean() / base.mean()
        error = (values - ratio * base).std(ddof=1) / np.sqrt(200) / base.mean()
        ratios[name] = ratio
        with capsys.disabled():
            print(
                f"\nd={dim} noise={noise} {name}: {values.mean():.1f}, ratio {ratio:.4f} ± {error:.4f}",
                end="",
            )
    assert ratios["NestedOFUL"] <= 1.05


def test_memory_does_not_grow_with_rounds(capsys):
    """10^7 rounds from an instance, streamed: the peak stays where it was after 10^5."""
    instance = sphere(5, 10, noise=0.5)
    agent = unipac.NestedOFUL(5, noise=0.5)
    regret = sum(trace.gap.sum() for trace in agent.stream(instance, rounds=10**5))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    regret += sum(trace.gap.sum() for trace in agent.stream(instance, rounds=10**7 - 10**5))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    with capsys.disabled():
        print(f"\n10^7 rounds: regret {regret:.1f}, peak memory grew by {grown} KiB", end="")
    assert agent.rounds == 10**7
    assert grown < 2048
