"""SupLinUCB decides as the slow transcription in ``helpers.judges.bandits``, and its certificates hold."""

import pytest

import unipac
from helpers import regressions
from helpers.judges import bandits as judges
from helpers.regressions import COMMON, KINDS, N, T, nothing


def make(d, lam):
    agent = unipac.SupLinUCB(d, total_rounds=T, delta=0.1, regularization=lam, **COMMON)
    return agent, judges.SupLinUCB(d, T, N, delta=0.1, regularization=lam, **COMMON), nothing


@pytest.mark.parametrize("kind", KINDS)
def test_decides_as_the_pseudo_code(kind):
    regressions.check_decides(make, kind, 0, least_levels=3 if kind != "norms" else 1)


def test_the_judge_can_say_no():
    regressions.check_judge_says_no(make, make(3, 0.15)[0])


def test_files_and_copies(tmp_path):
    regressions.check_files_and_copies(make, tmp_path)


def test_the_horizon():
    regressions.check_horizon(unipac.SupLinUCB)


def test_capabilities():
    assert unipac.SupLinUCB(2, total_rounds=9).guarantee == "regret"


@pytest.mark.parametrize("runs", regressions.RUNS)
def test_certificates_hold(runs):
    regressions.check_certificates(unipac.SupLinUCB, runs, regularization=0.05)


@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
@pytest.mark.parametrize("runs", regressions.RUNS)
def test_an_eighth_of_the_noise_does_not_hold(runs):
    regressions.check_too_little_noise(unipac.SupLinUCB, runs, regularization=0.05)
