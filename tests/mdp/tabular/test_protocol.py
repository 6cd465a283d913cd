"""The tabular agents behind the protocol: play, act and observe, files, and what is refused."""

import copy
import math

import numpy as np
import pytest

import unipac
from helpers.any_checks import write_unchecked
from unipac.envs import FiniteMDP, river_swim
from unipac.mdp.protocol.agent import EpisodicAgent
from unipac.mdp.protocol.plan import Episode

NAMES = ("CertVI", "UBEV", "UCBVI", "UCBAdvantage", "PSRL", "RLSVI", "QLearning")
VARIANTS = {
    "lazy": {},
    "pooled": {"homogeneous": True},
    "scaled": {"bonus_scale": 0.2},
    "means": {"reward_values": "many", "replan": "always"},
    "lasting": {"homogeneous": True, "replan_every": 40, "replan_factor": 1.2, "ties": "spread"},
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


@pytest.mark.parametrize(("name", "told"), [*((name, {}) for name in NAMES), ("CertVI", VARIANTS["lasting"])])
def test_runs_can_be_cut_saved_and_copied(name, told, tmp_path):
    whole, parts = made(name, **told), made(name, **told)
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
        played._commit(played._learn(Episode(*arrays)), 1)
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
        ("CertVI", {"replan_every": 0}, "replan_every"),
        ("CertVI", {"replan_every": 2.5}, "replan_every"),
        ("CertVI", {"ties": "last"}, "ties"),
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
    write_unchecked(agent, tmp_path / "agent.npz")
    with pytest.raises(ValueError, match="contradict"):
        unipac.load(tmp_path / "agent.npz")


@pytest.mark.parametrize(
    ("field", "entry", "number", "what"),
    [
        ("age", 0, 7, "age"),
        ("episodes", 1, 131, "plan"),  # planned after the last episode
        ("episodes", 0, -1, "plan"),
    ],
)
def test_a_file_with_a_plan_of_no_possible_age_is_refused(field, entry, number, what, tmp_path):
    agent = made("CertVI", homogeneous=True, replan_every=40, replan_factor=1.5)
    agent.play(MDP, episodes=130, seed=1)
    assert agent.state.age[0] == 2  # grown, but not long in use
    agent.save(tmp_path / "agent.npz")
    assert unipac.load(tmp_path / "agent.npz").episodes == 130
    getattr(agent.state, field)[entry] = number
    write_unchecked(agent, tmp_path / "agent.npz")
    with pytest.raises(ValueError, match=what):
        unipac.load(tmp_path / "agent.npz")


def test_equal_actions_are_spread():
    """One state, six actions that do nothing: an episode of 50 stages tries all of them, or the first alone."""
    for ties, tried in (("first", 1), ("spread", 6)):
        agent = unipac.CertVI(1, 6, horizon=50, homogeneous=True, ties=ties, return_range=(0.0, 1.0))
        for _ in range(50):
            agent.act(0)
            agent.observe(0.0, 0)
        assert np.count_nonzero(agent.state.counts.visits) == tried
    table = np.asarray(unipac.CertVI(40, 5, horizon=100, ties="spread").policy())
    assert [len(set(column)) for column in table.T] == [5] * 40  # at every state all of them
    assert (np.abs(np.bincount(table.ravel()) - 800) < 5 * np.sqrt(4000 * 0.2 * 0.8)).all()


def test_a_plan_that_lasts_has_a_bound_on_mistakes():
    once, lasting = made("CertVI"), made("CertVI", replan_every=100)
    assert lasting.guarantee == "uniform-PAC"
    assert once.mistake_bound(0.1) < lasting.mistake_bound(0.1) < math.inf


@pytest.mark.parametrize("P", [2, 10, 100])
@pytest.mark.parametrize("C", [0.5, 30.0, 400.0])
def test_what_a_cell_costs_while_plans_last(P, C):
    """The sum of min(1, √(C/n of the plan)) over 5,000 visits is as claimed, however these fall into plans."""
    rng = np.random.default_rng(0)
    for waits in (np.full(5000, P), rng.integers(1, P + 1, 5000)):
        total, n, planned, age, plan = 0.0, 0, 0, 0, 0
        for _ in range(5000):  # the cell is visited in every episode; others ask for new plans
            total += min(1.0, math.sqrt(C / planned)) if planned else 1.0
            n, age = n + 1, age + 1
            if n > 1.02 * planned and age >= waits[plan]:
                planned, age, plan = n, 0, plan + 1
        x, wide = 5000, 4 * C  # as in the theorem: f = 2
        claimed = 1 + 2 * (P - 1) + (x if x <= wide else 2 * math.sqrt(wide * x) - wide)
        assert total <= claimed


def ended(**parameters):
    """States 0, 1 and the end 2, which pays on arrival."""
    P, r = np.zeros((3, 2, 3)), np.zeros((3, 2, 3))
    P[:2, 0, :2], P[0, 1, 1], P[1, 1, 2], P[2, :, 2] = 0.5, 1.0, 1.0, 1.0
    r[1, 1, 2] = 1.0
    marks = np.arange(3) == 2 if parameters.pop("marked", True) else None
    mdp = FiniteMDP(P, np.broadcast_to(r, (6, 3, 2, 3)), horizon=6, terminal=marks)
    return mdp, unipac.CertVI.made_for(mdp, homogeneous=True, **parameters)


def test_ends_are_worth_nothing_and_bounds_hold():
    plain, known = ended()[1], ended(ends=[2])[1]
    mdp, masked = ended(ends=np.array([False, False, True]))
    assert masked.ends == known.ends == (2,)
    traces = [agent.play(mdp, episodes=2000, seed=0) for agent in (plain, known)]
    for trace in traces:
        assert (trace.certificate >= trace.gap).all()
        assert (trace.bound >= mdp.optimal_value()[0]).all()
    assert known._plan().bound[2] == known._plan().lower[2] == 0.0
    assert (traces[1].bound <= traces[0].bound).all()
    assert traces[1].bound[40] < traces[0].bound[40] - 0.3  # an end may pay, for all that the other knows
    assert known.recommended().lower[0] >= plain.recommended().lower[0]


@pytest.mark.parametrize("told", [[], [3], [-1], [1, 1], [0, 1, 2], [0.5], "2", 2, [True, False], [[1]]])
def test_what_cannot_be_ends_is_refused(told):
    with pytest.raises(ValueError, match="ends"):
        ended(ends=told)


def test_what_contradicts_the_ends_is_refused(tmp_path):
    mdp, agent = ended(ends=[2])
    agent.play(mdp, episodes=3)
    before = agent.digest() if hasattr(agent, "digest") else None
    with pytest.raises(ValueError, match="observation must be a state that is none of the ends, got 2"):
        agent.act(2)
    with pytest.raises(ValueError, match="observation"):
        agent.certificate(2)
    with pytest.raises(ValueError, match="initial_states"):
        agent.play(mdp, episodes=1, initial_states=[2])
    with pytest.raises(ValueError, match=r"ends must be states that are terminal .* got \[2\]"):
        agent.play(ended(marked=False)[0], episodes=1)
    with pytest.raises(ValueError, match=r"ends .* got \[0\]"):
        ended(ends=[0])[1].play(mdp, episodes=1)
    assert agent.episodes == 3
    assert before is None or agent.digest() == before
    agent.act(1)
    agent.observe(0.0, 2)  # an environment that says nothing of an end
    with pytest.raises(ValueError, match="observation"):
        agent.act(2)
    agent.save(tmp_path / "agent.npz")
    assert unipac.load(tmp_path / "agent.npz").ends == (2,)


def test_a_file_with_visits_of_an_end_is_refused(tmp_path):
    _, agent = ended()
    agent.act(0)
    agent.observe(0.0, 2)
    agent.act(2)
    agent.observe(0.0, 2, truncated=True)
    agent.ends = (2,)  # what was told later
    write_unchecked(agent, tmp_path / "agent.npz")
    with pytest.raises(ValueError, match="ends"):
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
