"""The tabular agents against their slow judges: bounds, decisions and moments of planning."""

import numpy as np
import pytest

from helpers.judges import tabular as judge
from helpers.random_mdps import RandomMDP
from unipac.mdp.protocol.plan import Episode
from unipac.mdp.tabular import psrl
from unipac.mdp.tabular.cert_vi.cert_vi import CertVI
from unipac.mdp.tabular.psrl import PSRL
from unipac.mdp.tabular.q_learning import QLearning
from unipac.mdp.tabular.ubev import UBEV
from unipac.mdp.tabular.ucb_advantage import UCBAdvantage
from unipac.mdp.tabular.ucbvi import UCBVI

TIE = 1e-8
"""Actions whose values differ by less may be taken for each other: the last digits are not the same."""


def learned(agent, episode):
    states, actions, rewards, following = episode
    agent._learn(Episode(states, actions, np.zeros_like(states), rewards, following))


def agree(action, Q):
    """Whether all actions (H, S) are the best of Q (H, S, A), up to ties."""
    taken = np.take_along_axis(Q, action[:, :, None], axis=2)[:, :, 0]
    return bool((taken >= Q.max(axis=2) - TIE).all())


CASES = {
    "outcomes": {},
    "outcomes pooled": {"homogeneous": True},
    "known": {"rewards": "by pair"},
    "known pooled": {"homogeneous": True, "rewards": "by pair"},
    "means": {"reward_values": "many"},
    "means pooled": {"homogeneous": True, "reward_values": "many"},
    "scaled": {"homogeneous": True, "bonus_scale": 0.1},
    "negative rewards": {"reward_range": (-3.0, 2.0)},
    "return range": {"homogeneous": True, "reward_range": (-1.0, 1.0), "return_range": (-3.0, 2.5)},
    "return range, known": {"rewards": "by pair", "return_range": (0.0, 2.0)},
    "always": {"replan": "always", "delta": 0.3},
    "lasting plans": {"homogeneous": True, "replan_every": 12, "replan_factor": 1.05, "ties": "spread"},
    "always after a while": {"replan": "always", "replan_every": 5},
    "ends": {"ends": (0, 5)},
    "ends pooled": {"homogeneous": True, "reward_range": (-1.0, 1.0), "ends": (0, 5), "ties": "spread"},
    "ends, known": {"homogeneous": True, "rewards": "by pair", "ends": (0, 5), "return_range": (0.0, 2.0)},
    "one of each": {"sizes": (1, 1, 1)},
    "one stage": {"sizes": (3, 2, 1), "rewards": "by pair"},
    "larger": {"sizes": (8, 4, 6), "homogeneous": True},
}


@pytest.mark.parametrize("case", CASES)
def test_cert_vi_is_what_its_pseudo_code_says(case):
    """At all of the first plans and then at fewer and fewer of 2,000 episodes."""
    parameters = dict(CASES[case])
    S, A, H = parameters.pop("sizes", (4, 3, 4))
    pooled = parameters.get("homogeneous", False)
    by_pair = "rewards" in parameters
    reward_range = parameters.get("reward_range", (0.0, 1.0))
    mdp = RandomMDP(S, A, H, seed=7, pooled=pooled, reward_range=reward_range, by_pair=by_pair)
    if by_pair:
        parameters["rewards"] = mdp.rewards()
    if ends := parameters.get("ends", ()):  # one before the states of the MDP, one after them
        S = S + 2
        if by_pair:
            parameters["rewards"] = np.pad(parameters["rewards"], [(1, 1), (0, 0)], constant_values=1.0)
    agent = CertVI(S, A, horizon=H, **parameters)
    data, planned, seen, grown, last = judge.Data(pooled), {}, {}, False, 0
    factor = 0.0 if parameters.get("replan") == "always" else agent.replan_factor
    for k in range(2000):
        plan = agent._plan()
        least = min(parameters.get("replan_every", 1), (agent.replan_factor - 1) * last)
        assert plan.fresh == (k == 0 or (grown and k - last >= least))
        if plan.fresh:
            planned, grown, last = dict(seen), False, k
            if k < 12 or k in (50, 400, 1998):
                Q, upper, lower = judge.cert_vi(
                    data,
                    S,
                    A,
                    H,
                    agent.delta,
                    rewards=parameters.get("rewards"),
                    means=agent.reward_values == "many",
                    reward_range=reward_range,
                    return_range=parameters.get("return_range", (-np.inf, np.inf)),
                    scale=agent.bonus_scale,
                    policy=plan.action[:, 0],
                    ends=ends,
                )
                assert agree(plan.action[:, 0], Q)
                np.testing.assert_allclose(plan.bound, upper, atol=1e-7)
                np.testing.assert_allclose(plan.lower, lower, atol=1e-7)
        if ends:
            states, actions, rewards, following = mdp.play(plan.action[:, 0, 1:-1])
            episode = states + 1, actions, rewards, np.where(following >= 0, following + 1, -1)
        else:
            episode = mdp.play(plan.action[:, 0])
        learned(agent, episode)
        data.add(*episode)
        for h, (s, a) in enumerate(zip(*episode[:2], strict=True)):
            cell = (0 if pooled else h, s, a)
            seen[cell] = seen.get(cell, 0) + 1
            grown = grown or seen[cell] > factor * planned.get(cell, 0)


@pytest.mark.parametrize("case", ["outcomes", "outcomes pooled", "known pooled", "means", "one of each"])
def test_what_cert_vi_recommends_is_best_under_the_frequencies(case):
    """Dense backward induction, where a pair never seen earns the least; its lower values are the judge's."""
    parameters = dict(CASES[case])
    S, A, H = parameters.pop("sizes", (4, 3, 4))
    pooled, by_pair = parameters.get("homogeneous", False), "rewards" in parameters
    mdp = RandomMDP(S, A, H, seed=8, pooled=pooled, by_pair=by_pair)
    if by_pair:
        parameters["rewards"] = mdp.rewards()
    agent, data = CertVI(S, A, horizon=H, **parameters), judge.Data(pooled)
    for k in range(300):
        if k in (0, 1, 5, 50, 299):
            age = int(agent.state.age[0])
            policy, bound, lower = agent.recommended()
            assert agent.state.age[0] == age  # a question changes nothing
            Q, V = np.zeros((H, S, A)), np.zeros(S)
            for h in reversed(range(H)):
                for s in range(S):
                    for a in range(A):
                        seen = data.at(h, s, a)
                        n = sum(seen.values())
                        for (t, r), N in seen.items():
                            Q[h, s, a] += N / n * (r + (V[t] if t >= 0 else 0.0))
                        if n == 0:
                            known = (
                                np.broadcast_to(parameters["rewards"], Q.shape)[h, s, a] if by_pair else 0.0
                            )
                            Q[h, s, a] = known + min(0.0, V.min())
                V = Q[h].max(axis=1)
            assert agree(np.asarray(policy), Q)
            told = {"rewards": parameters.get("rewards"), "means": agent.reward_values == "many"}
            _, upper, expected = judge.cert_vi(data, S, A, H, agent.delta, policy=np.asarray(policy), **told)
            np.testing.assert_allclose(lower, expected, atol=1e-7)
            assert (bound >= upper - 1e-7).all()  # of the last plan
        plan = agent._plan()
        episode = mdp.play(plan.action[:, 0])
        learned(agent, episode)
        data.add(*episode)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("radius", ["printed", "stitched"])
def test_ubev_is_what_its_pseudo_code_says(pooled, known, radius):
    S, A, H = 4, 3, 4
    mdp = RandomMDP(S, A, H, seed=3, pooled=pooled, by_pair=known)
    rewards = mdp.rewards() if known else None
    agent = UBEV(S, A, horizon=H, homogeneous=pooled, rewards=rewards, radius=radius, delta=0.2)
    data = judge.Data(pooled)
    for k in range(1000):
        plan = agent._plan()
        if k < 20 or k % 50 == 0:
            Q = judge.ubev(data, S, A, H, 0.2, rewards=rewards, radius=radius)
            np.testing.assert_allclose(plan.bound, Q[0].max(axis=1), atol=1e-9)
            assert agree(plan.action[:, 0], Q)
        episode = mdp.play(plan.action[:, 0])
        learned(agent, episode)
        data.add(*episode)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("variant", ["hoeffding", "bernstein", "without third term"])
def test_ucbvi_is_what_its_pseudo_code_says(pooled, variant):
    """With K = 1 and δ close to 1 the bonus is small enough to matter within these episodes."""
    S, A, H = 3, 2, 3
    mdp = RandomMDP(S, A, H, seed=5, pooled=pooled, by_pair=True)
    bonus = "hoeffding" if variant == "hoeffding" else "bernstein"
    told = {"rewards": mdp.rewards(), "episodes": 1, "bonus": bonus, "third_term": variant == "bernstein"}
    agent = UCBVI(S, A, horizon=H, homogeneous=pooled, delta=0.9, **told)
    slow = judge.UCBVI(S, A, H, 0.9, pooled=pooled, **told)
    for k in range(1500):
        plan = agent._plan()
        slow.plan()
        if k % 10 == 0:
            np.testing.assert_allclose(agent.state.Q.reshape(H, S, A), slow.Q, atol=1e-9)
            assert agree(plan.action[:, 0], slow.Q)
            np.testing.assert_array_equal(agent._plan().action, plan.action)
        episode = mdp.play(plan.action[:, 0])
        learned(agent, episode)
        slow.learn(*episode)
    if variant == "without third term":
        assert (slow.Q < H).any()  # not only the start was compared


def test_ucb_advantage_is_what_its_pseudo_code_says():
    S, A, H = 2, 2, 2
    mdp = RandomMDP(S, A, H, seed=2, pooled=False)
    agent = UCBAdvantage(S, A, horizon=H, delta=0.9, episodes=1, reference_factor=0.005)
    slow = judge.UCBAdvantage(S, A, H, 0.9, episodes=1, reference_factor=0.005)
    rng = np.random.default_rng(0)
    for k in range(20_000):
        if k % 100 == 0:
            plan = agent._plan()
            np.testing.assert_allclose(agent.state.Q, slow.Q, atol=1e-9)
            np.testing.assert_allclose(agent.state.V, [slow.V, slow.reference], atol=1e-9)
            assert agree(plan.action[:, 0], slow.Q)
            np.testing.assert_allclose(plan.bound, slow.V[0])
        episode = mdp.play(rng.integers(A, size=(H, S)))
        learned(agent, episode)
        slow.learn(*episode)
    assert (np.arange(H, 0, -1)[:, None, None] > slow.Q).any()
    assert (slow.reference[:H] < H).any()


@pytest.mark.parametrize("pooled", [False, True])
def test_q_learning_is_what_its_pseudo_code_says(pooled):
    S, A, H = 4, 3, 4
    mdp = RandomMDP(S, A, H, seed=1, pooled=pooled)
    told = {"learning_rate": 0.7, "learning_power": 0.6, "discount": 0.9, "initial_value": 0.5}
    agent = QLearning(S, A, horizon=H, homogeneous=pooled, epsilon_decay=500, seed=4, **told)
    slow = judge.QLearning(S, A, H, rate=0.7, power=0.6, discount=0.9, initial=0.5, pooled=pooled)
    explored, choices = 0, 0
    for k in range(1000):
        plan = agent._plan()
        np.testing.assert_array_equal(agent._plan().action, plan.action)
        Q = np.repeat(slow.Q[:1], H, axis=0) if pooled else slow.Q[:H]
        worse = np.take_along_axis(Q, plan.action[:, 0, :, None], axis=2)[:, :, 0] < Q.max(axis=2)
        if k >= 500:  # ε = 0.01
            explored += worse.sum()
            choices += worse.size
        episode = mdp.play(plan.action[:, 0])
        learned(agent, episode)
        slow.learn(*episode)
        np.testing.assert_allclose(agent.state.Q, slow.Q[:1] if pooled else slow.Q[:H], atol=1e-12)
    # ε (1 − 1/A) of the choices are not greedy: 53 of 8,000 expected, standard deviation 7.3
    assert abs(explored - 0.01 * 2 / 3 * choices) < 5 * 7.3
    assert agree(np.asarray(agent.policy()), Q)


def test_psrl_draws_from_the_posterior_and_plays_the_best_policy():
    """Means and variances of the drawn probabilities are those of Dirichlet(1/S + N); 5 standard errors."""
    S, A, H, draws = 3, 1, 2, 4000
    agent = PSRL(S, A, horizon=H, homogeneous=True, rewards=np.zeros((S, A)))
    steps = [(0, 0, 0.0, 1)] * 6 + [(0, 0, 0.0, 2)] * 2
    for step in steps:
        learned(agent, tuple(np.array([x]) for x in step))
    counts = agent.state.counts
    drawn = np.zeros((draws, S))
    for k in range(draws):
        rng = np.random.default_rng([9, k])
        p, others, shares = psrl.sample(counts, S, 0.0, 1.0, rng, np.empty(S))
        for e in range(2):
            drawn[k, counts.following[e]] += p[e]
        drawn[k, 0] += shares[0].sum()  # of all states not seen; here it is one
        assert drawn[k].sum() == pytest.approx(1.0)
        assert ((others >= 0) & (others < S)).all()
    a = np.array([1 / 3, 6 + 1 / 3, 2 + 1 / 3])
    mean, total = a / a.sum(), a.sum()
    variance = mean * (1 - mean) / (total + 1)
    assert (abs(drawn.mean(axis=0) - mean) < 5 * np.sqrt(variance / draws)).all()
    assert (abs(drawn.var(axis=0) / variance - 1) < 0.15).all()


def test_psrl_plans_in_the_model_it_drew():
    """Dense backward induction with the same draw gives the same values."""
    S, A, H = 4, 3, 4
    mdp = RandomMDP(S, A, H, seed=6, pooled=True)
    agent = PSRL(S, A, horizon=H, homogeneous=True, seed=5)
    for k in range(200):
        plan = agent._plan()
        rng, means, counts = np.random.default_rng([5, k]), np.empty(S * A), agent.state.counts
        p, others, shares = psrl.sample(counts, S, 0.0, 1.0, rng, means)
        P = np.zeros((S * A, S))
        for cell in range(S * A):
            np.add.at(P[cell], others[cell], shares[cell])
            e = counts.first[cell]
            while e >= 0:
                if counts.following[e] >= 0:
                    P[cell, counts.following[e]] += p[e]
                e = counts.other[e]
        V = np.zeros(S)
        for h in reversed(range(H)):
            Q = (means + P @ V).reshape(S, A)
            V = Q.max(axis=1)
            assert agree(plan.action[h : h + 1, 0], Q[None])
        np.testing.assert_allclose(plan.bound, V, atol=1e-12)
        learned(agent, mdp.play(plan.action[:, 0]))
