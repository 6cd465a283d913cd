"""SupLinRel decides as the slow transcription in ``helpers.judges.bandits``, and its certificates hold."""

import pytest

import unipac
from helpers import regressions
from helpers.judges import bandits as judges
from helpers.regressions import COMMON, KINDS, N, T, nothing


def make(d, lam):
    """It has no λ."""
    agent = unipac.SupLinRel(d, total_rounds=T, delta=0.1, **COMMON)
    return agent, judges.SupLinRel(d, T, N, delta=0.1, **COMMON), nothing


@pytest.mark.parametrize("kind", KINDS)
def test_decides_as_the_pseudo_code(kind):
    regressions.check_decides(make, kind, 1, least_levels=3 if kind != "norms" else 1)


def test_the_judge_can_say_no():
    regressions.check_judge_says_no(make, unipac.SupLinRel(3, total_rounds=T, delta=0.01, **COMMON))


def test_files_and_copies(tmp_path):
    regressions.check_files_and_copies(make, tmp_path)


def test_the_horizon():
    regressions.check_horizon(unipac.SupLinRel)


@pytest.mark.parametrize("runs", regressions.RUNS)
def test_certificates_hold(runs):
    regressions.check_certificates(unipac.SupLinRel, runs)


@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
@pytest.mark.parametrize("runs", regressions.RUNS)
def test_an_eighth_of_the_noise_does_not_hold(runs):
    regressions.check_too_little_noise(unipac.SupLinRel, runs)
