"""UCRLVTRPlus is what its slow judge in ``helpers.judges.mixture`` says."""

import numpy as np
import pytest

import unipac
from helpers.judges import mixture as judge
from helpers.mixtures import CLOSE, small


@pytest.mark.parametrize(
    "told", [{}, {"bonus_scale": 0.02}, {"bonus_scale": 0.01, "norm": 3.0, "delta": 0.3}]
)
def test_weighted_regression_is_what_its_pseudo_code_says(told):
    mdp = small(homogeneous=False)
    agent = unipac.UCRLVTRPlus.made_for(mdp, **told)
    given = {"delta": 0.05, "norm": agent.norm, "bonus_scale": 1.0, **told}
    slow = judge.Plus(mdp.features, mdp.rewards, mdp.horizon, **given)
    for k in range(60):
        plan = agent._plan()
        slow.plan()
        action = plan.action[:, 0]
        np.testing.assert_allclose(plan.bound, slow.V[0], atol=1e-9)
        taken = np.take_along_axis(slow.Q, action[:, :, None], axis=2)[:, :, 0]
        assert (taken >= slow.Q.max(axis=2) - CLOSE).all()
        rng = np.random.default_rng(k)
        s, steps = int(rng.integers(4)), []
        for h in range(mdp.horizon):
            a = agent.act(s)
            t = int(rng.choice(4, p=mdp.transitions[h, s, a]))
            agent.observe(float(mdp.rewards[h, s, a]), t)
            steps.append((s, a, t))
            s = t
        slow.learn(*zip(*steps, strict=True))
    assert not agent.certified
