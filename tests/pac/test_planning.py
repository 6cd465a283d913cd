"""Searches for a policy ask for what the transcription in ``helpers.judges.planning`` asks for, and answer so."""

import numpy as np
import pytest
from scipy.stats import binom

import unipac
from helpers.judges import planning as judges
from unipac import envs
from unipac.envs.play.visits import visits
from unipac.pac import certified_planning, oppq, planning

pytestmark = pytest.mark.nojit


def anchored(discount=0.5, seed=1):
    return envs.random_anchors(5, 2, 3, discount=discount, seed=seed)


def table(discount=0.5):
    mdp = anchored(discount)
    return envs.DiscountedMDP(mdp.transitions, mdp.rewards, discount)


def signed(discount=0.5):
    """Anchors of which others are no convex combination: P(· | 0, 1) = 1.5 P(· | 0, 0) − 0.5 P(· | 1, 0)."""
    first, second = np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.5, 0.2])
    rows = np.array([first, 1.5 * first - 0.5 * second, second, second, first, second])
    weights = np.array([[1, 0], [1.5, -0.5], [0, 1], [0, 1], [1, 0], [0, 1.0]]).reshape(3, 2, 2)
    rewards = [[0.1, 0.2], [0.9, 0.3], [0.0, 0.6]]
    return envs.DiscountedMDP(rows.reshape(3, 2, 3), rewards, discount, anchors=[0, 2], coefficients=weights)


WORLDS = {"anchored": anchored, "table": table, "signed": signed}


def follow(search, judge, mdp, seed, expected_stop=True):
    """Both are sent the same; they must ask for the same and say the same at every moment."""
    sent, k = None, 0
    while True:
        try:
            arms, counts, policy, certificate = judge.send(sent)
        except StopIteration as end:
            policy, certificate = end.value
            assert search.done == expected_stop
            assert search.answer.policy.tolist() == list(policy)
            assert search.answer.certificate == pytest.approx(certificate, abs=1e-9)
            return k
        assert not search.done
        assert search.answer.policy.tolist() == list(policy)
        assert search.answer.certificate == pytest.approx(certificate, abs=1e-9)
        batch = search.ask()
        assert batch.arms.tolist() == list(arms)
        assert batch.counts.tolist() == list(counts)
        sent = mdp.pulls(arms, counts, batch=k, seed=seed)
        search.tell(sent)
        k += 1


def judge_of(name, mdp, eps, delta, trail):
    world = judges.World(mdp.rewards, mdp.discount, mdp.anchors, mdp.coefficients)
    return {
        "CertifiedPlanning": lambda: judges.certified_planning(world, eps, delta),
        "PPQ": lambda: judges.ppq(world, eps, delta),
        "OPPQ": lambda: judges.oppq(world, eps, delta, trail),
    }[name]()


@pytest.mark.parametrize("kind", WORLDS)
@pytest.mark.parametrize("name", ["CertifiedPlanning", "PPQ", "OPPQ"])
def test_planners_ask_and_answer_as_the_pseudo_code(name, kind):
    for discount, eps in ((0.5, 0.5), (0.3, 0.1), (0.6, 0.4)):
        mdp = WORLDS[kind](discount)
        if (name, kind) == ("OPPQ", "signed"):
            with pytest.raises(ValueError, match="coefficients must be >= 0"):
                unipac.OPPQ.made_for(mdp, eps=eps)
            continue
        search = unipac.AGENTS[name].made_for(mdp, eps=eps, delta=0.1)
        trail = []
        assert follow(search, judge_of(name, mdp, eps, 0.1, trail), mdp, seed=3) > 1
        answer = search.answer
        value = mdp.policy_value(answer.policy)
        assert (mdp.optimal_value() - value).max() <= answer.certificate <= eps
        assert (answer.lower <= value + 1e-12).all()
        for lower, policy in trail:
            assert (lower <= mdp.policy_value(policy) + 1e-12).all()


def test_the_judge_can_say_no():
    mdp = anchored()
    for name in ("CertifiedPlanning", "PPQ", "OPPQ"):
        search = unipac.AGENTS[name].made_for(mdp, eps=0.5, delta=0.11)
        with pytest.raises(AssertionError):
            follow(search, judge_of(name, mdp, 0.5, 0.1, []), mdp, seed=3)


def test_what_needs_no_samples():
    one = envs.DiscountedMDP([[[1.0]]], [[0.5]], 0.9)
    myopic = envs.DiscountedMDP(table().transitions, table().rewards, 0.0)
    for name in ("CertifiedPlanning", "PPQ", "OPPQ"):
        for mdp in (one, myopic):
            search = unipac.AGENTS[name].made_for(mdp)
            assert search.done
            assert (search.answer.certificate, search.pulls) == (0.0, 0)
            assert (mdp.policy_value(search.answer.policy) == mdp.optimal_value()).all()


def test_a_deterministic_world_is_planned_exactly():
    chain = np.eye(4)[np.array([[0, 1], [0, 2], [1, 3], [3, 0]])]
    mdp = envs.DiscountedMDP(chain, [[0.05, 0], [0, 0], [0, 0], [1, 0]], 0.8)
    answer = unipac.CertifiedPlanning.made_for(mdp, eps=0.2).run(mdp)
    assert answer.policy.tolist() == [1, 1, 1, 0] == mdp.optimal_policy().tolist()


# -- what is proven ----------------------------------------------------------------------------


def wrong_runs(cls, mdp, eps, delta, runs, sampled=None, **more):
    """Runs in which, at some moment, the certificate was below the gap, or the lower value above that of the policy."""
    best, wrong = mdp.optimal_value(), 0
    for seed in range(runs):
        search = cls.made_for(mdp, eps=eps, delta=delta, **more)
        failed = False
        while True:
            answer = search.answer
            value = mdp.policy_value(answer.policy)
            failed |= bool((best - value).max() > answer.certificate + 1e-9)
            failed |= bool((answer.lower > value + 1e-9).any())
            if search.done or search.pulls > 10**8:
                break
            search.tell(search._sample(sampled or mdp, seed))
        wrong += failed
    return wrong


def hard(chance=0.5):
    """Two actions of nearly the same value: a wrong answer is likely as soon as one believes too much."""
    P = [[[1 - chance, chance], [0.52, 0.48]], [[0.5, 0.5], [0.48, 0.52]]]
    return envs.DiscountedMDP(P, [[0, 0], [1, 1]], 0.5)


@pytest.mark.parametrize("name", ["CertifiedPlanning", "OPPQ"])
def test_certificates_and_lower_values_hold(name):
    """Null: a run fails with probability at most δ = .5; 60 runs, false alarms at most 1e-6."""
    cls = unipac.AGENTS[name]
    assert wrong_runs(cls, hard(), 0.02, 0.5, 60) <= binom.isf(1e-6, 60, 0.5)


def test_certificates_from_shrunk_widths_are_found_wrong(monkeypatch):
    """The control: with a twentieth of the width, more runs fail than a δ of .05 allows."""

    def too_sure(counts, value, failure):
        w, e = planning.means(counts, value, failure)
        return w, 0.05 * e

    monkeypatch.setattr(certified_planning, "means", too_sure)
    assert wrong_runs(unipac.CertifiedPlanning, hard(), 0.02, 0.05, 60, first=8) > binom.isf(1e-6, 60, 0.05)


def test_lower_values_of_another_world_are_found_wrong():
    """The control for OPPQ, whose value is below by more than its widths when it stops: a world a little worse."""
    worse = hard(chance=0.48)
    for name in ("CertifiedPlanning", "OPPQ"):
        wrong = wrong_runs(unipac.AGENTS[name], worse, 0.02, 0.05, 20, sampled=hard())
        assert wrong > binom.isf(1e-6, 20, 0.05)


def test_on_its_event_oppq_is_below_in_every_run(monkeypatch):
    """Where all means are within their widths, V ≤ V^π for sure: no run may break it. The widths are cut so that
    the event fails in some runs; with all of it, in none of these 40."""
    mdp = anchored(0.7, seed=4)
    rows = mdp.transitions.reshape(10, 5)[mdp.anchors]
    held = []
    for share in (0.5, 1.0):
        event = True

        def means(counts, value, failure):
            nonlocal event
            w, e = planning.means(counts, value, failure)
            event &= bool((np.abs(w - rows @ value) <= share * e + 1e-12).all())  # noqa: B023
            return w, share * e  # noqa: B023

        monkeypatch.setattr(oppq, "means", means)
        for seed in range(40):
            event = True
            answer = unipac.OPPQ.made_for(mdp, eps=0.5, delta=0.5).run(mdp, seed=seed, max_pulls=10**9)
            if event:
                value = mdp.policy_value(answer.policy)
                assert (answer.lower <= value + 1e-12).all()
                assert (mdp.optimal_value() - value).max() <= answer.certificate + 1e-12
            held.append(event)
    assert 0 < sum(held[:40]) < 40
    assert all(held[40:])


BUDGETS = [(0.5, 0.1, 200_000), (0.8, 0.3, 200_000), (0.9, 0.5, 400_000)]


def planned(discount, eps, seeds, name="CertifiedPlanning"):
    """Samples and true gaps of runs on 30 states, 3 actions, 5 anchors."""
    mdp = envs.random_anchors(discount=discount)
    best = mdp.optimal_value()
    found = []
    for seed in seeds:
        answer = unipac.AGENTS[name].made_for(mdp, eps=eps).run(mdp, seed=seed, max_pulls=10**12)
        value = mdp.policy_value(answer.policy)
        assert answer.certificate <= eps
        found.append((answer.pulls, (best - value).max(), bool((answer.lower <= value + 1e-9).all())))
    return found


@pytest.mark.parametrize(("discount", "eps", "most"), BUDGETS)
def test_planning_stays_within_its_budget(discount, eps, most):
    for pulls, gap, below in planned(discount, eps, range(3)):
        assert pulls <= most
        assert gap <= eps
        assert below


@pytest.mark.slow
@pytest.mark.parametrize(("discount", "eps", "most"), BUDGETS)
def test_planning_keeps_its_promise_in_200_runs(discount, eps, most):
    """Null: the gap exceeds ε with probability at most δ = .05; 200 runs, false alarms at most 1e-6."""
    found = planned(discount, eps, range(200))
    assert max(pulls for pulls, _, _ in found) <= most
    assert sum(gap > eps for _, gap, _ in found) <= binom.isf(1e-6, 200, 0.05)
    pulls, gaps, below = map(np.array, zip(*found, strict=True))
    print(discount, eps, pulls.mean(), pulls.max(), (gaps > eps).sum(), gaps.max(), (~below).sum())


@pytest.mark.slow
@pytest.mark.parametrize(("discount", "eps"), [budget[:2] for budget in BUDGETS])
def test_the_lower_value_of_oppq_is_below_in_200_runs(discount, eps):
    """Null: it is not, with probability at most δ = .05; 200 runs, false alarms at most 1e-6."""
    found = planned(discount, eps, range(200), "OPPQ")
    assert sum(not below or gap > eps for _, gap, below in found) <= binom.isf(1e-6, 200, 0.05)
    pulls, gaps, below = map(np.array, zip(*found, strict=True))
    print(discount, eps, pulls.mean(), pulls.max(), (gaps > eps).sum(), gaps.max(), (~below).sum())


# -- OLIVE -------------------------------------------------------------------------------------


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
