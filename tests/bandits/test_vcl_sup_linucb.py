"""VCLSupLinUCB decides as the slow transcription in ``helpers.judges.bandits``."""

import pytest

import unipac
from helpers import regressions
from helpers.judges import bandits as judges
from helpers.regressions import COMMON, KINDS, N, T, nothing


def make(d, lam):
    agent = unipac.VCLSupLinUCB(d, total_rounds=T, regularization=lam, **COMMON)
    return agent, judges.VCLSupLinUCB(d, T, N, regularization=lam, **COMMON), nothing


@pytest.mark.parametrize("kind", KINDS)
def test_decides_as_the_pseudo_code(kind):
    regressions.check_decides(make, kind, 2, least_levels=3 if kind != "norms" else 1)


def test_the_judge_can_say_no():
    regressions.check_judge_says_no(make, make(3, 0.15)[0])


def test_files_and_copies(tmp_path):
    regressions.check_files_and_copies(make, tmp_path)


def test_capabilities():
    assert unipac.VCLSupLinUCB(2, total_rounds=9).guarantee == "none"
