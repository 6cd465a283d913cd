"""How likely an observed number of failures is."""


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

    if not 0 <= failures <= trials:
        raise ValueError(f"failures must be from 0 to trials = {trials}, got {failures!r}")
    if not 0 <= probability <= 1:
        raise ValueError(f"probability must lie in [0, 1], got {probability!r}")
    return float(bdtrc(failures - 1, trials, probability)) if failures else 1.0
