"""Where UCRL-VTR keeps coming back to a bad action, the agents with levels stop."""

import pytest

import unipac
from unipac.envs import vtr_killer

EXPONENTS = (3, 6, 9, 12)


def bad_choices(name, forced, **parameters):
    """Choices of the bad action in 3,000 episodes, after so many forced ones in one exact step."""
    mdp = vtr_killer(forced)
    agent = unipac.AGENTS[name].made_for(mdp, **parameters)
    agent.absorb(mdp.forced_episode(), times=forced)
    trace = agent.play(mdp, episodes=3000, seed=0)
    return int((trace.gap > 0.49).sum())


def test_ucrl_vtr_returns_without_end():
    chosen = [bad_choices("UCRLVTR", 10**k, radius="mixture") for k in EXPONENTS]
    assert chosen == sorted(set(chosen))
    assert chosen[3] >= 1.5 * chosen[1]
    assert chosen[0] < 25 < 35 < chosen[3] < 50


@pytest.mark.parametrize("name", ["NestedVTR", "UPACVTR"])
def test_agents_with_levels_stop(name):
    chosen = [bad_choices(name, 10**k) for k in (*EXPONENTS, 18)]
    assert chosen[2] == chosen[3] == chosen[4]


def test_nested_is_better_in_the_end():
    for k in EXPONENTS[1:]:
        assert bad_choices("NestedVTR", 10**k) < bad_choices("UCRLVTR", 10**k, radius="mixture")


def test_single_episodes_do_the_same():
    """1,000 forced episodes one by one, their next states drawn: the same count up to what chance makes of it."""
    mdp = vtr_killer(1000)
    counts = []
    for seed in range(5):
        agent = unipac.UCRLVTR.made_for(mdp, radius="mixture")
        agent.play(mdp, episodes=1000, seed=seed, initial_states=mdp.initial_states(1000))
        trace = agent.play(mdp, episodes=3000, seed=seed)
        counts.append(int((trace.gap > 0.49).sum()))
    at_the_mean = bad_choices("UCRLVTR", 1000, radius="mixture")
    assert abs(sum(counts) / 5 - at_the_mean) <= 4
