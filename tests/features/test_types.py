"""Numbers for the values of a feature map."""

import gymnasium
import numpy as np
import pytest

from unipac import CertVI, envs
from unipac.features import Aggregation, Types


def groups():
    return Aggregation([0.0], [1.0], 2, bins=3)


def test_observations_of_one_type_have_one_number():
    types = Types(groups(), most=3)
    assert [types([x]) for x in (0.5, 0.1, 0.6, 0.9, 0.0)] == [0, 1, 0, 2, 1]
    assert types.seen == 3
    again = Types(groups(), most=3, features=types.features)
    assert [again([x]) for x in (0.9, 0.1, 0.5)] == [2, 1, 0]
    assert repr(again) == "<Types: 3 of at most 3>"


def test_zero_and_minus_zero_are_one_type():
    types = Types(lambda s: [[s, 1.0]], most=2)
    assert types(0.0) == types(-0.0) == 0
    assert types(0.5) == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Types(3, most=2), "feature_map must be a function, got 3"),
        (lambda: Types(groups(), most=0), "most must be"),
        (lambda: Types(lambda s: [0.5], most=1)(0), r"feature_map\(observation\) must be of shape \(A, d\)"),
        (
            lambda: Types(lambda s: [[float(s)]], most=1, features=[[[0.0]]])(1),
            "most must be large enough for 2 types",
        ),
        (lambda: Types(groups(), most=2, features=[[[0.5]], [[0.5]]]), "features must be different ones"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_an_agent_for_tables_learns_a_continuous_river_by_types():
    """Cells of a continuous swim as states: with features that are constant on cells the MDP is exactly finite."""
    mdp = envs.continuous_swim(3, 2)
    cells = np.linspace(0, 1, 5)[:-1] + 0.125

    def rounded(observation):
        return mdp.feature_map([cells[min(int(observation[0] * 4), 3)]])

    types = Types(rounded, most=4)
    swim = gymnasium.make("unipac.envs.gymnasium:unipac/ContinuousSwim-v0", dim=3, horizon=2)
    env = gymnasium.wrappers.TransformObservation(swim, types, gymnasium.spaces.Discrete(4))
    agent = CertVI(4, 3, horizon=2)
    agent.learn(env, episodes=50, seed=0)
    assert agent.episodes == 50
    assert types.seen <= 4
