"""LSVI-UCB: Algorithm 1 of Jin, Yang, Wang and Jordan (2020), one Gram matrix per stage.

    pseudo-code                                                                   here
    Λ_h = λI + Σ φφᵀ, w_h = Λ_h⁻¹ Σ φ [r + max_a Q_{h+1}(s', a)]                  mdp.backward._regress
    Q_h(s, a) = min{⟨w_h, φ⟩ + β ‖φ‖_{Λ_h⁻¹}, H}, clipped at 0 from below too     mdp.backward.backward
    a_h = argmax_a Q_h(s_h, a)                                                    mdp.episodes.choose
    β = c d H √log(2 d K H/δ)                                                     theory.lsvi_ucb

K, the number of episodes, must be known beforehand, and β grows with it: regret, but no convergence.
``replan="lazy"`` is the rare-switching form (Wang, Zhou and Gu 2021).
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from unipac._checks import one_of
from unipac.linalg.levels import SINGLE
from unipac.mdp.base.agent import EpisodicAgent, FeatureFunction


class LSVIUCB(EpisodicAgent):
    """Optimistic value iteration on all data.

    Args:
        features: φ, (states, actions, d), norms at most 1, for finitely many states.
        feature_map: instead, a function from observations to φ, (actions, d), for any state space.
        n_actions: A, with a feature map that does not tell.
        dim: d, with a feature map that does not tell.
        horizon: H, stages of an episode.
        episodes: K, for how many episodes the radius is made; nothing is certified beyond.
        delta: δ, the probability that some bound fails.
        regularization: λ > 0 of the ridge regressions.
        radius: "theorem" as in the paper, "finite" for finitely many states, or the heuristic "mixture".
        constant: c of "theorem"; the paper does not give it, so "theorem" is never certified.
        bonus_scale: multiplies the radius; other than 1, nothing is certified.
        replan: "always" before every episode as in the paper, or "lazy".
        replan_factor: lazy replanning waits until some det Λ has grown by this factor.
        reward_range: of the rewards to observe, rescaled to [0, 1]; other than (0, 1), nothing is certified.

    >>> from unipac.envs import river_swim
    >>> mdp = river_swim(n_states=3, horizon=3)
    >>> agent = LSVIUCB(mdp.features, horizon=3, episodes=100, radius="finite")
    >>> trace = agent.play(mdp, episodes=100, seed=0)
    >>> bool((trace.bound >= mdp.optimal_value()[0]).all())
    True
    """

    def __init__(
        self,
        features: ArrayLike | None = None,
        *,
        feature_map: FeatureFunction | None = None,
        n_actions: int | None = None,
        dim: int | None = None,
        horizon: int,
        episodes: int,
        delta: float = 0.05,
        regularization: float = 1.0,
        radius: str = "theorem",
        constant: float = 1.0,
        bonus_scale: float = 1.0,
        replan: str = "always",
        replan_factor: float = 1.25,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        super().__init__(
            features,
            feature_map=feature_map,
            n_actions=n_actions,
            dim=dim,
            horizon=horizon,
            rule=SINGLE,
            radius=one_of("radius", radius, ("theorem", "finite", "mixture")),
            delta=delta,
            regularization=regularization,
            constant=constant,
            bonus_scale=bonus_scale,
            replan=replan,
            replan_factor=replan_factor,
            reward_range=reward_range,
            episodes=episodes,
        )
        self._parameters["episodes"] = self._length
