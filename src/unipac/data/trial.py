"""ACTG175: a randomised trial of four treatments of HIV (Hammer et al. 1996), as a log of uniform choices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unipac import _checks as check
from unipac.data.files import content
from unipac.data.tables import columns
from unipac.logs import Log

ARMS = ("zidovudine", "zidovudine and didanosine", "zidovudine and zalcitabine", "didanosine")
"""The treatments, in the order of the log's actions.

>>> ARMS[0]
'zidovudine'
"""

COVARIATES = (
    "age", "wtkg", "hemo", "homo", "drugs", "karnof", "oprior", "z30", "preanti", "race", "gender", "str2",
    "symptom", "cd40", "cd80",
)  # fmt: skip
"""Facts about a patient from before the treatment, by their names in the file.

>>> "age" in COVARIATES, len(COVARIATES)
(True, 15)
"""


def actg175(covariates: Sequence[str] = (), *, outcome: str = "cd4") -> Log:
    """2,139 patients, each assigned to one of four treatments at random, with propensity 1/4.

    The vector of a treatment has x in its own block of four, x = (1, z_1, ..., z_k)/√(1+k), where each covariate z is
    scaled to [-1, 1] by its least and largest value. Without covariates the vectors are the unit vectors, in which any
    expected rewards are linear: then only the noise is assumed, and rewards in [0, 1] have noise 1/2.

    The first call needs ``unipac data get actg175``.

    Args:
        covariates: names of columns that were known before the treatment: age, wtkg, hemo, homo, drugs,
            karnof, oprior, z30, preanti, race, gender, str2, symptom, cd40, cd80.
        outcome: the reward. "cd4": 1 if a patient has at least as many CD4 cells per mm³ after 20 weeks as at the
            beginning, else 0. "event": 1 if there was no event (CD4 cells down by half, AIDS, death) while the patient
            was followed, else 0.

    Returns:
        The patients in the order of the file; ids are those of the file.

    Raises:
        FileNotFoundError: if the file is missing; says how to get it.

    Example:
        >>> actg175(outcome="cd8")
        Traceback (most recent call last):
        ValueError: outcome must be one of 'cd4', 'event', got 'cd8'
    """
    check.one_of("outcome", outcome, ("cd4", "event"))
    for name in covariates:
        check.one_of("covariates", name, COVARIATES)
    table = columns(content("actg175"))
    arms = table["arms"].astype(np.int64)
    patients, n = len(arms), len(ARMS)
    scaled = [np.ones(patients), *(_scaled(table[name]) for name in covariates)]
    x = np.column_stack(scaled) / np.sqrt(len(scaled))
    vectors = np.zeros((patients, n, n, x.shape[1]))
    vectors[:, np.arange(n), np.arange(n)] = x[:, None, :]
    better = table["cd420"] >= table["cd40"] if outcome == "cd4" else table["cens"] == 0.0
    ids = table["pidnum"].astype(np.int64).tolist()
    sets = np.eye(n) if x.shape[1] == 1 else vectors.reshape(patients, n, -1)
    return Log(sets, arms, better.astype(np.float64), np.full(patients, 1.0 / n), ids=ids)


def _scaled(
    values: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    low, high = values.min(), values.max()
    return np.asarray(2.0 * (values - low) / (high - low) - 1.0)
