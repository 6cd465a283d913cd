"""StarLSVI, held against its slow judge on random linear MDPs."""

import numpy as np

import unipac
from helpers.judges.star import Problem, StarJudge
from helpers.values import Linear
from unipac.mdp.linear.star import episodes as kernels
from unipac.mdp.linear.star.chains import BOTTOM, TOP
from unipac.mdp.protocol.plan import Episode

TIE = 1e-7

CASES = {
    "mixture": {"mixture": True},
    "mixture, no ends": {"mixture": True, "ends": False},
    "known rewards": {"mixture": True, "ends": False, "known": True},
    "general": {},
    "general, known rewards": {"known": True, "norm": 0.7},
    "noisy": {"mixture": True, "rewards": "noisy"},
    "noisy, general": {"rewards": "noisy", "ends": False},
    "two blocks": {"blocks": [2, 2], "mixture": True},
    "one coordinate": {"blocks": [1], "mixture": True},
    "one action": {"A": 1, "mixture": True},
    "one stage": {"H": 1, "mixture": True},
    "one stage, noisy": {"H": 1, "rewards": "noisy", "mixture": True},
    "two stages": {"H": 2, "mixture": True},
    "collinear": {"collinear": 1e-3, "mixture": True},
    "tiny": {"norm": 0.05},
    "scaled, explores": {"mixture": True, "bonus_scale": 0.2, "explore": 4},
    "at once": {"mixture": True, "wait": False, "ends": False},
    "range": {"mixture": True, "reward_range": (-1.0, 3.0)},
    "little ridge": {"mixture": True, "regularization": 0.01},
}


def made(case, seed):
    """A world, an agent and a judge."""
    options = dict(case)
    S, A, H = 5, options.pop("A", 3), options.pop("H", 3)
    shape = {name: options.pop(name) for name in ("norm", "collinear") if name in options}
    ends = options.pop("ends", True)
    world = Linear(S, A, H, options.pop("blocks", [3]), seed=seed, ends=ends, **shape)
    low, high = options.get("reward_range", (0.0, 1.0))
    options.setdefault("regularization", 0.7)
    known = options.pop("known", False)
    if known:
        options["rewards"] = world.weights.copy()
    agent = unipac.StarLSVI(world.features, horizon=H, terminates=ends, **options)
    kind = "known" if known else options.get("rewards", "deterministic")
    problem = Problem(
        H,
        world.features.shape[2],
        A,
        lam=options["regularization"],
        mixture=options.get("mixture", False),
        rewards=kind,
        weights=world.weights if known else None,
        terminates=ends,
        end=-low / (high - low),
        scale=options.get("bonus_scale", 1.0),
    )
    judge = StarJudge(problem, wait=options.get("wait", True), explore=options.get("explore", 0))
    return world, agent, judge


def check_plan(world, agent, judge):
    """Actions, bounds on V* and certificates of the next episode, in all states."""
    plan, unit = agent._plan(), agent._rules.unit
    low = agent.horizon * agent._rules.low
    live = judge.newest if judge.explores() else judge.current
    theirs = live["plan"]
    for h in range(agent.horizon):
        action = plan.action[h, 0]
        hat, up, lower = theirs.bounds(h, world.features)
        centre = np.clip(hat, lower, up)
        scale = 1.0 if judge.explores() else judge.p.scale
        score = centre + scale * (up - centre)
        expected = theirs.decide(h, world.features, scale)[0]
        i = np.arange(world.S)
        assert (np.abs(score[i, action] - score[i, expected]) <= TIE).all()
        for number, value in ((BOTTOM, theirs.lo[h]), (TOP, theirs.hi[h])):
            which = kernels.NEWEST if judge.explores() else kernels.CURRENT
            assert abs(agent.state.chains.number[which, h, number] - value) <= TIE
    tops = [live["plan"].decide(0, world.features)[2] for live in (judge.current, judge.newest)]
    top = np.minimum(np.minimum(*tops), judge.current["plan"].hi[0])
    np.testing.assert_allclose((plan.bound - low) / unit, top, atol=TIE)
    if not judge.explores():
        told = [judge.certificate(phi) for phi in world.features]
        found = [agent.certificate(s) for s in range(world.S)]
        np.testing.assert_allclose(np.array(found) / unit, told, atol=1e-6)
        value = judge.current["judged"][1]
        lower = np.maximum(value.first(world.features)[0], value.a[0])
        np.testing.assert_allclose((plan.lower - low) / unit, lower, atol=1e-6)
    return plan


def check_is_its_pseudo_code(case, episodes, seed=3):
    """Episode by episode; the judge is told what the agent did."""
    world, agent, judge = made(CASES[case], seed)
    low, unit = agent._rules.low, agent._rules.unit
    noise = np.random.default_rng(seed)
    for k in range(episodes):
        plan = check_plan(world, agent, judge) if k < 30 or k % 11 == 0 else agent._plan()
        s, a, r, t = world.play(plan.action[:, 0])
        r = np.clip(r, 0.0, 1.0)
        if judge.p.noisy:
            r = (noise.random(len(r)) < r).astype(float)
        agent._commit(agent._learn(Episode(s, a, 0 * s, low + unit * r, t)), 1)
        judge.learn(
            [
                (world.features[s[h]], a[h], r[h], None if t[h] < 0 else world.features[t[h]])
                for h in range(len(s))
            ]
        )
        counters = agent.state.counters
        assert counters[kernels.PLANS] == judge.plans, k
        assert counters[kernels.NUMBER] == judge.current["number"], k
        assert counters[kernels.WAITS] == (judge.waiting is not None), k
        np.testing.assert_allclose(agent.state.told[0], judge.current["told"], atol=1e-6)
        np.testing.assert_allclose(agent.state.lost[0], judge.lost, rtol=1e-6, atol=1e-6)
    assert judge.plans > 1
    return agent, judge
