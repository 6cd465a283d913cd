"""The fallback of StarLSVI: whose turn it is, what each learns, files."""

import math

import numpy as np
import pytest

import unipac
from unipac import NestedFLUTE, StarLSVI, envs
from unipac.mdp.linear.star import fallback

MDP = envs.random_simplex(5, 3, 3, 3, seed=2)


class Rows:
    """A feature map: rows of a table."""

    n_actions, dim = 3, 3

    def __call__(self, state):
        return MDP.features[int(state)]


@pytest.fixture
def eager(monkeypatch):
    """F's bound on mistakes is replaced by small numbers: 20 episodes for ε = 3/2, 40 for 3/4, and so on."""
    monkeypatch.setattr(fallback.Guard, "mistakes", lambda self, eps: 20.0 * 1.5 / eps)


def made(numbered=True, **told):
    given = {"horizon": 3, "mixture": True, "terminates": False, "fallback": "NestedFLUTE", **told}
    return StarLSVI(MDP.features, **given) if numbered else StarLSVI(feature_map=Rows(), **given)


def allowed(k):
    """ε_l of episode k, from 1, written out."""
    level = max((i for i in range(1, 30) if 20.0 * 1.5 / (3 * 2.0**-i) < k), default=0)
    return 3 * 2.0**-level if level else math.inf


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("told", [{}, {"bonus_scale": 0.0}, {"explore": 4}], ids=str)
def test_it_plays_where_the_certificate_is_too_large_and_learns_alone(eager, numbered, told, tmp_path):
    agent, rng = made(numbered, **told), np.random.default_rng(0)
    alone = NestedFLUTE(
        **({"features": MDP.features} if numbered else {"feature_map": Rows()}),
        horizon=3, delta=0.025, radius="explicit",
    )  # fmt: skip
    theirs = []
    for k in range(1, 151):
        s = int(rng.integers(5))
        own, trivial, says = unipac.mdp.linear.star.given._told(agent, agent._seen("observation", s))
        assert says == (own > allowed(k))
        assert agent.certificate(s) == (trivial if says else own)
        theirs.append(says)
        for h in range(3):
            a = agent.act(s)
            assert (agent._ledger.waiting.level > 0) == says
            if says:
                assert a == alone.act(s)
            t = int(rng.choice(5, p=MDP.transitions[h, s, a]))
            agent.observe(float(MDP.rewards[h, s, a]), t)
            if says:
                alone.observe(float(MDP.rewards[h, s, a]), t)
            s = t
    assert 10 < sum(theirs) < 131
    assert not any(theirs[:20])
    assert agent.state.slots.times[0].sum(axis=1).tolist() == [150, 150]  # all transitions are learned
    assert agent._guard.other.episodes == alone.episodes == sum(theirs)
    one, other = (x._saved() for x in (agent._guard.other, alone))
    np.testing.assert_equal(tuple(one), tuple(other))
    agent.act(0)
    agent.save(tmp_path / "agent.npz")
    again = unipac.load(tmp_path / "agent.npz", **({} if numbered else {"feature_map": Rows()}))
    assert again.digest() == agent.digest()
    for x in (agent, again):
        x.observe(float(MDP.rewards[0, 0, x._ledger.waiting.action]), 1)
        x.act(1)
    assert again.digest() == agent.digest()


def test_play_is_the_loop(eager):
    """Episodes of both, with the exact gaps of the policies that played."""
    played, looped = made(bonus_scale=0.5, explore=7), made(bonus_scale=0.5, explore=7)
    trace = played.play(MDP, episodes=60, seed=3)
    from unipac.envs.play.simulation import episode_uniforms, first_states, world_of

    uniforms, world = episode_uniforms(3, 0, 3), world_of(MDP)
    starts = first_states(MDP, uniforms[:60, 0])
    for k in range(60):
        s = int(starts[k])
        assert trace.certificate[k] == pytest.approx(looped.certificate(s), abs=1e-9)
        for h in range(3):
            a = looped.act(s)
            t = int((world.cumulative[h, s, a] <= uniforms[k, 1 + h]).sum())
            looped.observe(float(MDP.rewards[h, s, a]), t)
            s = t
    assert played._guard.other.episodes == looped._guard.other.episodes > 3
    assert (played.state.counters == looped.state.counters).all()
    assert (trace.certificate >= trace.gap - 1e-9).all()


def test_what_is_proven_with_it():
    agent = made()
    assert (agent.guarantee, made(fallback=None).guarantee) == ("uniform-PAC", "none")
    assert made(bonus_scale=0.1).guarantee == "uniform-PAC"
    bound = agent._guard.other.mistake_bound
    assert agent.mistake_bound(0.75) == 2 * bound(0.75)
    assert agent.mistake_bound(1.0) == bound(0.75) + bound(1.0)
    assert made(fallback=None).mistake_bound(0.1) == math.inf
    assert agent._rules.delta == agent._guard.other.delta == agent.delta / 2
    assert agent._guard.allowed(10**7) == math.inf  # it never acts in practice
    assert agent._guard.allowed(int(bound(1.5)) + 2) == 1.5
    with pytest.raises(ValueError, match="fallback must be"):
        made(fallback="FLUTE")
    with pytest.raises(ValueError, match=r"reward_range must be \(0, 1\) with a fallback"):
        made(reward_range=(0.0, 2.0))


def test_a_file_with_episodes_that_are_not_its_own_is_refused(eager):
    agent = made(bonus_scale=0.0)
    agent.play(MDP, episodes=60, seed=0)
    log = agent._guard.log()
    assert len(log.length) > 3
    for name, value in (
        ("choice", log.choice * 0 + 1),
        ("seen", log.seen - 1),
        ("length", log.length * 0),
        ("reward", log.reward + 9),
    ):
        with pytest.raises(ValueError, match=r"must|not its own"):
            fallback.replay(made(), log._replace(**{name: value}))
    with pytest.raises(ValueError, match=r"state\.log must be empty without a fallback"):
        fallback.replay(made(fallback=None), log)
    fallback.replay(made(), log)


def test_continuous_play_stops_before_it(eager):
    mdp = envs.continuous_swim(3, 3)
    agent = StarLSVI(
        feature_map=mdp.feature_map, horizon=3, mixture=True, fallback="NestedFLUTE", terminates=False
    )
    with pytest.raises(ValueError, match="episodes must be such that the fallback cannot act"):
        agent.play(mdp, episodes=30)
    assert len(agent.play(mdp, episodes=15)) == 15
