"""LinTS decides as the slow transcription in ``helpers.judges.bandits`` with the same draws."""

import itertools

import numpy as np
import pytest

import unipac
from helpers import regressions
from helpers.judges import bandits as judges
from helpers.regressions import COMMON, KINDS


def draws(seed):
    """The draws of LinTS, for the judge: those of decision k come from (seed, k)."""
    numbers = itertools.count()
    return lambda dim: (np.random.default_rng((seed, next(numbers))).standard_normal(dim),)


def making(scale):
    def make(d, lam):
        told = {"scale": scale, "delta": 0.1, "regularization": lam, **COMMON}
        return unipac.LinTS(d, seed=7, **told), judges.LinTS(d, **told), draws(7)

    return make


SCALES = ["posterior", "frequentist"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", SCALES)
def test_decides_as_the_pseudo_code(scale, kind):
    regressions.check_decides(making(scale), kind, 7 + SCALES.index(scale))


@pytest.mark.parametrize("scale", SCALES)
def test_the_judge_can_say_no(scale):
    """Draws are of such a direction that λ hardly matters unless it is large."""
    regressions.check_judge_says_no(making(scale), making(scale)(3, 3.0)[0])


@pytest.mark.parametrize("scale", SCALES)
def test_files_and_copies(scale, tmp_path):
    regressions.check_files_and_copies(making(scale), tmp_path)


def test_capabilities():
    assert unipac.LinTS(2).guarantee == "none"
    assert not unipac.LinTS(2).certified
    assert unipac.LinTS(2, scale="frequentist").guarantee == "regret"
