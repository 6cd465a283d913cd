"""CertVI against its slow judge: bounds, decisions and moments of planning."""

import numpy as np
import pytest

from helpers.judges import tabular as judge
from helpers.random_mdps import RandomMDP
from helpers.tabular import agree, learned
from unipac.mdp.tabular.cert_vi.cert_vi import CertVI

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


@pytest.mark.boundscheck
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
