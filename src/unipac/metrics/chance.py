"""How likely an observed number of failures is."""

from unipac import _checks as check


def binomial_upper_tail(failures: int, trials: int, probability: float) -> float:
    """Probability of at least `failures` failures in `trials` independent trials.

    It is the false-alarm rate of a test that rejects at `failures` or more.

    Args:
        failures: from 0 to `trials`.
        trials: number of trials, at least 0.
        probability: probability of a failure in one trial.

    Example:
        >>> binomial_upper_tail(2, 3, 0.5)
        0.5
    """
    from scipy.special import bdtrc

    n = check.count("trials", trials, least=0, most=2**31 - 1)  # scipy counts them in 32 bits
    least = check.count("failures", failures, least=0, most=n)
    chance = check.nonnegative("probability", probability)
    check.require(chance <= 1.0, "probability", "in [0, 1]", probability)
    return float(bdtrc(least - 1, n, chance)) if least else 1.0
