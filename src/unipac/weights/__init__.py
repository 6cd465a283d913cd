"""What a policy would have earned, whatever the truth: bounds by importance weights, at all times at once.

`RunningMean` bounds the mean reward of a policy on the rounds that were logged, or the difference of two policies. It
assumes that the propensities are right and that rewards lie in a known range. It assumes no model: rewards may drift,
and may depend on everything that happened before.

>>> from unipac import weights
>>> mean = weights.RunningMean(reward_range=(0.0, 1.0), largest_weight=2.0)
>>> mean.add([2.0, 0.0] * 500, [1.0, 0.0] * 500)         # the policy agrees with every other choice of a fair coin
>>> mean.lower(0.025) > 0.8
True
"""

from unipac import _lazy

__all__, __getattr__, __dir__ = _lazy.names(__name__, {"weights.running": "RunningMean"})
