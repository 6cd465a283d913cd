"""NestedFLUTE: FLUTE with nested levels, lazy replanning and the cap H − h + 1; what we recommend.

It differs from Algorithm 2 (``flute``) in four ways; Theorem 2 holds with other absolute constants:

    1. Level l regresses on D_h^l = C_h^1 ∪ ... ∪ C_h^l, all with the target V_{h+1}^l. The size of C_h^l
       keeps its bound.
    2. Q_h is clipped to [0, H − h + 1], the largest value that is possible from stage h on.
    3. The plan is renewed only when a level was opened at stage 1, or some det Σ_h^l has grown by
       ``replan_factor`` since; the level test always uses the current Σ, so level sizes keep their bound.
    4. The radius is "finite", proven for finitely many states.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from unipac._checks import one_of
from unipac.linalg.levels import NESTED
from unipac.mdp.base.agent import EpisodicAgent, FeatureFunction


class NestedFLUTE(EpisodicAgent):
    """Optimistic value iteration over nested levels of data, planned anew only when it pays.

    Args:
        features: φ, (states, actions, d), norms at most 1, for finitely many states.
        feature_map: instead, a function from observations to φ, (actions, d), for any state space.
        n_actions: A, with a feature map that does not tell.
        dim: d, with a feature map that does not tell.
        horizon: H, stages of an episode.
        delta: δ, the probability that some bound fails.
        regularization: λ > 0 of the ridge regressions.
        radius: "finite", "explicit", "theorem", or the heuristic "mixture"; by default "finite" with finitely
            many states, else "explicit".
        constant: C of "theorem".
        bonus_scale: multiplies the radius; other than 1, nothing is certified.
        replan: "lazy", or "always" before every episode.
        replan_factor: lazy replanning waits until some det Σ has grown by this factor.
        reward_range: of the rewards to observe, rescaled to [0, 1]; other than (0, 1), nothing is certified.

    >>> from unipac.envs import river_swim
    >>> mdp = river_swim(n_states=3, horizon=3)
    >>> agent = NestedFLUTE(mdp.features, horizon=3)
    >>> trace = agent.play(mdp, episodes=2000, seed=0)
    >>> agent.certified, int(trace.replanned.sum()) < 300
    (True, True)
    """

    def __init__(
        self,
        features: ArrayLike | None = None,
        *,
        feature_map: FeatureFunction | None = None,
        n_actions: int | None = None,
        dim: int | None = None,
        horizon: int,
        delta: float = 0.05,
        regularization: float = 1.0,
        radius: str | None = None,
        constant: float = 1.0,
        bonus_scale: float = 1.0,
        replan: str = "lazy",
        replan_factor: float = 1.25,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        if radius is None:
            radius = "explicit" if features is None else "finite"
        super().__init__(
            features,
            feature_map=feature_map,
            n_actions=n_actions,
            dim=dim,
            horizon=horizon,
            rule=NESTED,
            radius=one_of("radius", radius, ("finite", "explicit", "theorem", "mixture")),
            delta=delta,
            regularization=regularization,
            constant=constant,
            bonus_scale=bonus_scale,
            replan=replan,
            replan_factor=replan_factor,
            reward_range=reward_range,
        )
