"""Where OFUL keeps coming back to a bad action, the agents with levels stop."""

import math

import numpy as np
import pytest

import unipac
from unipac.envs import appendix_a, killer, killer_phases

EXPONENTS = (3, 6, 9, 12, 18)


def bad_pulls(agent, forced):
    """Pulls of the bad arm in the 2000 free rounds after the forced ones."""
    agent.update(agent.choose([[1.0, 0.0]]), 0.5, times=forced)
    trace = agent.play(killer(forced), rounds=2000)
    assert set(trace.gap) <= {0.0, 0.5}
    return int((trace.gap > 0.49).sum())


def test_oful_returns_to_the_bad_arm_without_end():
    """e2 is pulled while β/√(1+n) > 1/2 + ..., about 4 log K times: more for every larger K."""
    pulls = [bad_pulls(unipac.OFUL(2, radius="mixture", tight=False), 10**k) for k in EXPONENTS]
    assert pulls == sorted(set(pulls))
    slope = (pulls[4] - pulls[3]) / math.log(10**6)
    assert 3.5 < slope < 5.5


def test_the_pulls_of_oful_solve_its_inequality():
    """Beside the calculation: n pulls, where n is the first with √(L(n) + c)/√(1+n) ≤ 1/2 + small terms."""
    K = 10**12
    n = 0
    while True:
        logdet = math.log(1 + K) + math.log(1 + n)
        beta = math.sqrt(logdet + 2 * math.log(20) + 1)
        if beta / math.sqrt(1 + n) <= 0.5 * K / (1 + K) + beta / math.sqrt(1 + K):
            break
        n += 1
    assert bad_pulls(unipac.OFUL(2, radius="mixture", tight=False), K) == n == 158


@pytest.mark.parametrize(
    "agent",
    [
        lambda: unipac.NestedOFUL(2),
        lambda: unipac.NestedOFUL(2, all_data=False),
        lambda: unipac.UPACOFUL(2, radius="mixture"),
    ],
)
def test_agents_with_levels_stop(agent):
    pulls = [bad_pulls(agent(), 10**k) for k in EXPONENTS]
    assert pulls[2] == pulls[3] == pulls[4]


def test_nested_is_as_good_as_oful_on_the_killer():
    assert bad_pulls(unipac.NestedOFUL(2), 10**6) < bad_pulls(
        unipac.OFUL(2, radius="mixture", tight=False), 10**6
    )


def test_phases_bring_oful_back_each_time():
    """After every longer forced run OFUL pulls the bad arm again; NestedOFUL has learned."""
    instance = killer_phases(forced=(10**6, 10**9, 10**12, 10**15), choices=300)

    def pulls_by_phase(agent):
        pulls = []
        for _ in range(4):
            forced = instance.forced_at(agent.rounds)
            agent.update(agent.choose([[1.0, 0.0]]), 0.5, times=forced)
            trace = agent.play(instance, rounds=300)
            pulls.append(int((trace.gap > 0.49).sum()))
        return pulls

    assert all(pulls > 0 for pulls in pulls_by_phase(unipac.OFUL(2, radius="mixture", tight=False)))
    assert pulls_by_phase(unipac.NestedOFUL(2))[2:] == [0, 0]


def random_rounds(forced):
    """Rounds of Appendix A in which both actions look equally good to BallOFUL, and the mistakes made."""
    agent = unipac.BallOFUL(2)
    agent.update(agent.choose([[1.0, 0.0]]), 0.0, times=forced)
    X = appendix_a(forced).rounds(forced, 1, seed=0).actions[0]
    ties = mistakes = 0
    for _ in range(60):
        ucb = agent.bounds(X).ucb
        ties += abs(ucb[0] - ucb[1]) < 1e-9
        decision = agent.choose(X)
        mistakes += decision.index == 1
        agent.update(decision, X[decision.index, 1])
    return ties, mistakes


def test_appendix_a():
    """θ = (0, −1) is possible while (1 + 2j)²/(1 + j) ≤ β² after j informative rounds: log K/4 of them."""
    for k in (4, 9, 18):
        K = 10**k
        expected = 0
        for j in range(60):
            logdet = math.log(1 + K) + math.log(1 + j)
            beta = math.sqrt(logdet + 2 * math.log(20)) + 1
            expected += (1 + 2 * j) ** 2 / (1 + j) <= beta**2
        ties, mistakes = random_rounds(K)
        assert ties == expected
        assert 0 < mistakes <= ties
    slope = (random_rounds(10**18)[0] - random_rounds(10**6)[0]) / math.log(10**12)
    assert slope == pytest.approx(1 / 4, abs=0.1)


def test_nested_errs_a_bounded_number_of_times_on_appendix_a():
    def mistakes(forced):
        agent = unipac.NestedOFUL(2)
        agent.update(agent.choose([[1.0, 0.0]]), 0.0, times=forced)
        trace = agent.play(appendix_a(forced), rounds=300)
        return (trace.gap > 1).sum()

    assert mistakes(10**9) == mistakes(10**18) <= 1


def test_last_iterate_on_fixed_arms():
    """On arms with a gap NestedOFUL settles on the best one; the envelope of its gaps falls to zero."""
    instance = unipac.envs.soare(3, angle=0.6, noise=0.1)
    trace = unipac.NestedOFUL(3, noise=0.1).play(instance, rounds=20_000, seed=1)
    envelope = unipac.metrics.last_iterate_envelope(trace.gap)
    assert envelope[0] == pytest.approx(1.0)
    assert envelope[15_000] == 0.0
    assert np.all(np.diff(envelope) <= 0)


@pytest.mark.parametrize("norm_kind", [1, 2])
def test_the_ball_returns_without_end(norm_kind):
    pulls = [bad_pulls(unipac.ConfidenceBall(2, norm_kind=norm_kind), 10**k) for k in EXPONENTS]
    assert pulls == sorted(set(pulls))
    if norm_kind == 2:  # with the mixture radius it is OFUL
        assert pulls == [bad_pulls(unipac.OFUL(2, radius="mixture", tight=False), 10**k) for k in EXPONENTS]


def eliminations(forced, **told):
    """Bad pulls of AnytimeSupLinUCB in 1,000 free rounds, and those that no level stored."""
    agent = unipac.AnytimeSupLinUCB(2, **told)
    agent.absorb(np.tile([1.0, 0.0], (forced, 1)), np.full(forced, 0.5))  # one action: no level stores it
    trace = agent.play(np.eye(2), np.tile([0.5, 0.0], (1000, 1)))
    return int(trace.index.sum()), int((trace.level[trace.index == 1] == 0).sum())


@pytest.mark.parametrize(
    ("told", "pulls"), [({"gate": 4.0}, 201), ({"gate": 1.0, "nested": False, "exploit": "level"}, 270)]
)
def test_levels_that_eliminate_stop(told, pulls):
    """The gap ½ is seen at level 4, whose stored rounds do not depend on K once the gates below it are behind.

    That is from round 128 g on: at once for g = 4. AnytimeSupLinUCB does not count many.
    """
    assert [eliminations(forced, **told) for forced in (10**3, 10**4, 10**5)] == [(pulls, 0)] * 3
    judge = unipac.AnytimeSupLinUCB(2, **told)  # forced rounds played are forced rounds absorbed
    judge.play(np.eye(2)[:1], np.full((1000, 1), 0.5))
    assert judge.play(np.eye(2), np.tile([0.5, 0.0], (1000, 1))).index.sum() == pulls


def test_a_gate_that_is_still_ahead_puts_the_pulls_off():
    """With g = 64 level 3 exploits until round 8,192: pulls by upper bounds first, stored ones later."""
    few, exploited = eliminations(10**3, gate=64.0)
    assert exploited > 0
    assert few < eliminations(10**4, gate=64.0)[0] == 201
