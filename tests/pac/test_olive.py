"""OLIVE asks for what the transcription in ``helpers.judges.planning`` asks for, and answers as it does."""

import numpy as np
import pytest
from scipy.stats import binom

import unipac
from helpers.judges import planning as judges
from unipac import envs
from unipac.envs.play.visits import visits

pytestmark = pytest.mark.nojit


def game(seed=1, horizon=2):
    mdp = envs.random_simplex(3, 2, 2, horizon, seed=seed)
    return envs.FiniteMDP(mdp.transitions, mdp.rewards / horizon, mdp.initial)


def candidates(mdp, n, seed=0):
    """The truth promises least."""
    truth = mdp.optimal_q()
    rng = np.random.default_rng(seed)
    return np.array([*(np.minimum(truth + rng.random(truth.shape), 1) for _ in range(n - 1)), truth])


@pytest.mark.parametrize(("horizon", "rank", "eps"), [(1, 1, 0.3), (2, 1, 0.3), (2, 3, 0.8), (3, 2, 0.5)])
def test_olive_asks_and_answers_as_the_pseudo_code(horizon, rank, eps):
    mdp = game(2, horizon)
    functions = candidates(mdp, 6)
    search = unipac.OLIVE.made_for(mdp, functions=functions, eps=eps, delta=0.1, rank=rank)
    judge, sent, k = judges.olive(functions, mdp.rewards, eps, 0.1, rank), None, 0
    while True:
        try:
            (f, h), n, policy, certificate = judge.send(sent)
        except StopIteration as end:
            policy, certificate = end.value
            break
        assert search.answer.policy.tolist() == policy.tolist()
        assert search.answer.certificate == certificate
        assert (search.ask().arms.tolist(), search.ask().counts.tolist()) == ([f * (horizon + 1) + h], [n])
        played = np.array(policy if k else functions[0].argmax(axis=2))
        if h:
            played[h - 1] = -1
        assert search.policy_of(f * (horizon + 1) + h).tolist() == played.tolist()
        sent = visits(mdp, played, n, batch=k, seed=4)
        search.tell(sent[None])
        k += 1
    assert search.done
    assert search.answer.policy.tolist() == policy.tolist()
    assert search.answer.certificate == pytest.approx(certificate, abs=1e-9)
    lost = mdp.initial @ (mdp.optimal_value() - envs.policy_value(mdp, search.answer.policy)[0])
    assert lost <= search.answer.certificate <= eps
    assert k > 1


def test_olive_without_the_truth_says_so():
    mdp = game()
    search = unipac.OLIVE.made_for(mdp, functions=np.ones((2, 2, 3, 2)), eps=0.3)
    answer = search.run(mdp, max_pulls=10**9)
    assert search.done
    assert answer.certificate == 1.0  # which needs no proof


def test_olive_proves_nothing_when_scaled():
    mdp = game()
    search = unipac.OLIVE.made_for(mdp, functions=candidates(mdp, 4), eps=0.3, scale=0.01)
    answer = search.run(mdp)
    assert search.done
    assert np.isnan(answer.certificate)
    assert (search.guarantee, search.certified) == ("none", False)


def test_olive_refuses_returns_above_one():
    mdp = envs.river_swim(3, 4)
    rich = envs.FiniteMDP(mdp.transitions, mdp.rewards + 0.3, mdp.initial)
    with pytest.raises(ValueError, match="episodes bring at most 1"):
        unipac.OLIVE.made_for(rich, functions=np.zeros((1, 4, 3, 2)))


def test_visits_have_the_law_of_episodes():
    """Null: the state at the last stage is multinomial with the exact chances; false alarms at most 1e-5."""
    mdp, n = game(3, 3), 10**6
    policy = np.array([[0, 1, 0], [-1, -1, -1], [1, 1, 0]])
    steps = visits(mdp, policy, n, seed=5)
    here = mdp.initial
    for h in range(3):
        chances = np.array([np.full(2, 0.5) if a < 0 else np.eye(2)[a] for a in policy[h]])
        joint = here[:, None, None] * chances[..., None] * mdp.transitions[h]
        assert (binom.ppf(2e-7, n, joint) <= steps[h]).all()
        assert (steps[h] <= binom.isf(2e-7, n, joint)).all()
        here = joint.sum(axis=(0, 1))
    assert (steps[0] != visits(mdp, policy, n, seed=6)[0]).any()
