"""The tabular agents behind the protocol: play, act and observe, files, and what is refused."""

import copy
import math

import numpy as np
import pytest

import unipac
from unipac.envs import FiniteMDP, river_swim
from unipac.mdp.base.agent import EpisodicAgent
from unipac.mdp.base.plan import Episode

NAMES = ("CertVI", "UBEV", "UCBVI", "UCBAdvantage", "PSRL", "QLearning")
VARIANTS = {
    "lazy": {},
    "pooled": {"homogeneous": True},
    "scaled": {"bonus_scale": 0.2},
    "means": {"reward_values": "many", "replan": "always"},
}
MDP = river_swim(n_states=4, horizon=5)


def made(name, seed=3, **parameters):
    return unipac.AGENTS[name].made_for(MDP, rounds=1000, seed=seed, **parameters)


def assert_same(one, other):
    for field in ("gap", "reward", "bound", "certificate", "replanned", "level"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_play_of_cert_vi_is_the_loop(variant):
    """Bit for bit: what happened, and all that was learned."""
    fast, slow = (unipac.CertVI.made_for(MDP, **VARIANTS[variant]) for _ in range(2))
    trace = fast.play(MDP, episodes=700, seed=5)
    slow._play = lambda *arguments: EpisodicAgent._play(slow, *arguments)
    assert_same(trace, slow.play(MDP, episodes=700, seed=5))
    used = int(fast.state.counts.used[0])
    for one, other in zip(fast.state.counts, slow.state.counts, strict=True):
        np.testing.assert_array_equal(one[:used], other[:used])
    np.testing.assert_array_equal(fast.state.action, slow.state.action)
    assert fast.episodes == slow.episodes == 700


@pytest.mark.parametrize("name", NAMES)
def test_runs_can_be_cut_saved_and_copied(name, tmp_path):
    whole, parts = made(name), made(name)
    trace = whole.play(MDP, episodes=300, seed=1)
    first = parts.play(MDP, episodes=130, seed=1)
    parts.save(tmp_path / "agent.npz")
    assert_same(trace.part(0, 130), first)
    for agent in (unipac.load(tmp_path / "agent.npz"), copy.deepcopy(parts), parts):
        assert_same(trace.part(130, 300), agent.play(MDP, episodes=170, seed=1))
        assert agent.episodes == 300
        np.testing.assert_array_equal(np.asarray(agent.policy()), np.asarray(whole.policy()))


@pytest.mark.parametrize("name", NAMES)
def test_act_and_observe_do_what_play_does(name):
    """The same episodes stage by stage lead to the same state."""
    played, acting = made(name), made(name)
    for agent in (played, acting):
        agent.play(MDP, episodes=3, seed=0)
    for _ in range(20):
        plan = played._plan()
        states, actions, rewards, following = [], [], [], []
        s = 0
        for h in range(MDP.horizon):
            a = acting.act(s)
            assert a == plan.action[h, 0, s]
            t = min(s + a, 3)
            end = h == 3
            acting.observe(0.25, t, terminated=end)
            states, actions = [*states, s], [*actions, a]
            rewards, following = [*rewards, 0.25], [*following, -1 if end else t]
            s = t
            if end:
                break
        arrays = [np.array(x) for x in (states, actions, np.zeros_like(states), rewards, following)]
        played._learn(Episode(*arrays))
        played._episodes += 1
    np.testing.assert_array_equal(played._plan().action, acting._plan().action)
    np.testing.assert_array_equal(played._plan().bound, acting._plan().bound)


def test_an_end_is_worth_nothing_at_once():
    """After one episode that ended with reward 0.5, the only action is known to be worth about that."""
    agent = unipac.CertVI(2, 1, horizon=50, homogeneous=True, delta=0.5)
    for _ in range(2000):
        agent.act(0)
        agent.observe(0.5, 1, terminated=True)
    plan = agent._plan()
    assert plan.lower[0] > 0.45
    assert plan.bound[0] < 1.0  # without the end, state 1 would still be worth up to 49
    assert plan.bound[1] > 45


def test_return_range_and_known_rewards_by_next_state_only_sharpen():
    P = np.full((3, 2, 3), 1 / 3)
    paid = np.zeros((3, 2, 3))
    paid[:, 1, 2] = 1.0
    mdp = FiniteMDP(P, np.broadcast_to(paid, (4, 3, 2, 3)), horizon=4)
    plain = unipac.CertVI(3, 2, horizon=4, homogeneous=True)
    known = unipac.CertVI(3, 2, horizon=4, homogeneous=True, rewards=paid)
    for agent in (plain, known):
        trace = agent.play(mdp, episodes=500, seed=0)
        assert (trace.certificate >= trace.gap).all()
    assert known._plan().bound[0] <= plain._plan().bound[0]


@pytest.mark.parametrize("told", [{}, {"reward_values": "many"}, {"rewards": [[-1.0]]}], ids=str)
def test_a_return_range_without_zero_holds(told):
    """Every stage pays −1: from the last one on −1 is left, from the first −3, and after the end 0."""
    agent = unipac.CertVI(1, 1, horizon=3, reward_range=(-1.0, 0.0), return_range=(-3.0, -1.0), **told)
    for _ in range(500):
        for _ in range(3):
            agent.act(0)
            agent.observe(-1.0, 0)
    plan = agent._plan()
    assert plan.lower[0] <= -3.0 + 1e-9
    assert -3.0 - 1e-9 <= plan.bound[0] < -2.5


def test_the_bound_on_mistakes_is_that_of_rewards_by_next_state():
    """With a reward by chance nothing tells how many outcomes there are; certificates do not need to know."""
    agent = unipac.CertVI(2, 1, horizon=2)
    assert agent.mistake_bound(0.5) < math.inf
    for reward in (0.0, 1.0):
        agent.act(0)
        agent.observe(reward, int(reward))
        agent.act(int(reward))
        agent.observe(0.5, 0)
    assert agent.mistake_bound(0.5) < math.inf
    agent.act(0)
    agent.observe(0.5, 1)
    assert agent.mistake_bound(0.5) < math.inf  # the episode is under way
    agent.act(1)
    agent.observe(0.5, 0)
    assert agent.mistake_bound(0.5) == math.inf
    assert agent.certified
    many = unipac.theory.certvi_mistake_bound(0.5, 2, 1, 2, 0.05, rewards="few", outcomes=6)
    assert unipac.theory.certvi_mistake_bound(0.5, 2, 1, 2, 0.05, rewards="few") < many


@pytest.mark.parametrize(
    ("name", "parameters", "argument"),
    [
        ("CertVI", {"delta": 0.0}, "delta"),
        ("CertVI", {"rewards": np.zeros((3, 3))}, "rewards"),
        ("CertVI", {"rewards": np.full((4, 2), 2.0)}, "rewards"),
        ("CertVI", {"rewards": np.full((4, 2), np.nan)}, "rewards"),
        ("CertVI", {"return_range": (1.0, 0.0)}, "return_range"),
        ("CertVI", {"replan_factor": 0.9}, "replan_factor"),
        ("CertVI", {"homogeneous": 1}, "homogeneous"),
        ("CertVI", {"reward_values": "some"}, "reward_values"),
        ("CertVI", {"bonus_scale": -1.0}, "bonus_scale"),
        ("UBEV", {"radius": "mixture"}, "radius"),
        ("UCBVI", {"bonus": "none"}, "bonus"),
        ("UCBAdvantage", {"rewards": np.zeros((4, 2))}, "rewards"),
        ("QLearning", {"rewards": np.zeros((4, 2))}, "rewards"),
        ("QLearning", {"learning_rate": 1.5}, "learning_rate"),
        ("PSRL", {"seed": -1}, "seed"),
    ],
)
def test_bad_parameters_are_named(name, parameters, argument):
    with pytest.raises(ValueError, match=argument):
        made(name, **parameters)


def test_rewards_that_can_be_read_in_two_ways_are_refused():
    with pytest.raises(ValueError, match="two things"):
        unipac.CertVI(2, 2, horizon=2, rewards=np.zeros((2, 2, 2)))


def test_a_file_with_other_counts_is_refused(tmp_path):
    agent = made("CertVI")
    agent.play(MDP, episodes=20, seed=0)
    agent.state.counts.times[0] += 1  # no data lead to this
    agent.save(tmp_path / "agent.npz")
    with pytest.raises(ValueError, match="contradict"):
        unipac.load(tmp_path / "agent.npz")


def test_guarantees_are_those_of_the_parameters():
    agent = made("CertVI")
    assert agent.certified
    assert agent.guarantee == "uniform-PAC"
    assert 0 < agent.mistake_bound(0.5) < agent.mistake_bound(0.1) < np.inf
    scaled = made("CertVI", bonus_scale=0.5)
    assert scaled.certified
    assert scaled.guarantee == "none"
    assert scaled.mistake_bound(0.1) == np.inf
    assert made("UBEV").guarantee == "uniform-PAC"
    assert made("UCBVI").guarantee == "none"  # rewards are learned
    assert made("UCBVI", rewards=MDP.rewards[0]).guarantee == "regret"
    assert {made(name).guarantee for name in ("PSRL", "QLearning")} == {"none"}
    assert np.isnan(made("UBEV").certificate(0))


def test_memory_grows_with_what_was_seen():
    agent = unipac.CertVI(500, 6, horizon=200, homogeneous=True)
    agent.act(0)
    agent.observe(0.0, 1, truncated=True)
    arrays = [*agent.state.counts, agent.state.planned, agent.state.above, agent.state.below]
    assert sum(a.nbytes for a in arrays) < 2**20
