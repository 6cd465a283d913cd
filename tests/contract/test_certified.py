"""``certified`` is False exactly where a certificate is NaN: for agents of every kind, decisions, answers and traces.

Also after the agent was refuted, beyond the rounds it was told to expect, and for decisions of a deployment.
"""

import math

import numpy as np
import pytest

import unipac
from helpers import bandit_checks, mdp_checks, registry_cases as cases, search_checks

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")

BEYOND = cases.ROUNDS + 10
"""More rounds or episodes than an agent expects."""


def agree(certified, *certificates):
    """Every certificate is a number if certified, and none is otherwise."""
    for certificate in certificates:
        missing = np.isnan(np.asarray(certificate, dtype=np.float64))
        assert not missing.any() if certified else missing.all(), (certified, certificate)


@pytest.mark.parametrize("case", cases.all_cases("bandit"), ids=str)
@pytest.mark.parametrize("lies", [False, True], ids=["as told", "refuted"])
def test_bandits(case, lies):
    """``agent.certified`` speaks of the next decision, so of the first round of the next trace."""
    agent = case.make()
    for t in range(40):
        before = agent.certified
        decision = agent.choose(bandit_checks.offered(case, t))
        agree(decision.certified, decision.certificate)
        assert agent.certified == decision.certified <= before
        agent.update(decision, reward=bandit_checks.far_off(agent, t) if lies else 0.1)
    if not lies:
        agree(agent.certified, agent.play(case.instance, rounds=1, seed=3).certificate)
        agent.play(case.instance, rounds=BEYOND, seed=3)
    agree(agent.certified, agent.choose(bandit_checks.offered(case, 0)).certificate)


def test_bandits_are_refuted():
    """The control of the test above: it meets agents that turn, and agents that never were certified."""
    turned = [case for case in cases.all_cases("bandit") if case.make().certified]
    assert len(turned) > 10
    agent = unipac.OFUL(1)
    for t in range(40):
        agent.update(agent.choose([[1.0]]), 1e3 * (-1) ** t)
    assert (agent.certified, agent.guarantee) == (False, "regret")


@pytest.mark.parametrize("case", cases.all_cases("mdp"), ids=str)
def test_agents_for_mdps(case):
    agent, mdp = case.make(), case.instance
    states = range(mdp.n_states)
    agree(agent.certified, *map(agent.certificate, states))
    for k in range(10):
        mdp_checks.episode(agent, mdp, k, 3)
    agree(agent.certified, *map(agent.certificate, states))
    if case.features is None:
        traced = agent.certified and agent.traces_certificates
        agree(traced, agent.play(mdp, episodes=10, seed=3).certificate)
        agent.play(mdp, episodes=BEYOND, seed=3)
        agree(agent.certified, *map(agent.certificate, states))
        agree(agent.certified and agent.traces_certificates, agent.play(mdp, episodes=5, seed=3).certificate)


@pytest.mark.parametrize("case", cases.all_cases("mdp"), ids=str)
def test_agents_for_mdps_that_are_refuted(case):
    """Rewards 0 and 1 in turn, and next states that no model explains; whoever notices says so."""
    agent, mdp = case.make(), case.instance
    for k in range(60):
        for h in range(mdp.horizon):
            agent.act((k + h) % mdp.n_states)
            agent.observe(float(k % 2), (k + h + 1) % mdp.n_states)
    agree(agent.certified, *map(agent.certificate, range(mdp.n_states)))
    if case.features is None:
        traced = agent.certified and agent.traces_certificates
        missing = np.isnan(agent.play(mdp, episodes=40, seed=3).certificate)
        assert missing[0] == (not traced)
        assert (np.diff(missing.astype(int)) >= 0).all()  # refuted once, refuted for ever
        assert not agent.traces_certificates or missing[-1] or agent.certified


def test_some_agents_for_mdps_are_refuted():
    """The control of the test above."""
    mdp = unipac.envs.river_swim(3, 3)
    agent = unipac.UPACLSVI(mdp.features, horizon=3)
    assert agent.certified
    for k in range(10):
        for s in range(3):
            agent.act(0)
            agent.observe(float(k % 2), s)
    assert not agent.certified
    assert math.isnan(agent.certificate(0))


@pytest.mark.parametrize("case", cases.all_cases("search"), ids=str)
def test_searches(case):
    search = case.make()
    agree(search.certified, search.answer.certificate)
    search_checks.told(search, case.instance, 1, 5)
    agree(search.certified, search.answer.certificate)
    answer = search.run(case.instance, seed=1, max_pulls=search_checks.FEW[case.cls.samples])
    agree(search.certified, answer.certificate)


def test_a_search_without_a_proof():
    (case, *_) = (case for case in cases.all_cases("search") if cases.taken(case.cls, {"scale": 0.5}))
    search = case.make(scale=0.5)
    assert not search.certified
    agree(False, search.answer.certificate, search.run(case.instance, seed=1).certificate)


@pytest.mark.parametrize("make", [unipac.OFUL, unipac.LinUCB], ids=["certified", "not"])
@pytest.mark.parametrize("lies", [False, True], ids=["as told", "refuted"])
def test_decisions_of_a_deployment(make, lies):
    """Those drawn at random too."""
    deployment, drawn = unipac.Deployment(make(2), holdout=0.3, seed=1), 0
    for t in range(60):
        decision = deployment.decide(None, [[1.0, 0.0], [0.0, 1.0]], id=t)
        agree(decision.certified, decision.certificate)
        deployment.reward(t, 1e3 * (-1) ** t if lies else 0.1)
        drawn += decision.holdout
    assert 5 < drawn < 40
    assert decision.certified == (make is unipac.OFUL and not lies)
