"""ConfidenceBall decides as the slow transcription in ``helpers.judges.bandits``, and its certificates hold."""

import pytest

import unipac
from helpers import regressions
from helpers.judges import bandits as judges
from helpers.regressions import COMMON, KINDS, nothing

VARIANTS = {
    "2 mixture": {"norm_kind": 2, "radius": "mixture"},
    "1 mixture": {"norm_kind": 1, "radius": "mixture"},
    "2 paper": {"norm_kind": 2, "radius": "paper"},
    "1 paper": {"norm_kind": 1, "radius": "paper"},
}


def making(variant):
    def make(d, lam):
        told = {**VARIANTS[variant], "delta": 0.1, "regularization": lam, **COMMON}
        return unipac.ConfidenceBall(d, **told), judges.ConfidenceBall(d, **told), nothing

    return make


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_decides_as_the_pseudo_code(variant, kind):
    regressions.check_decides(making(variant), kind, 3 + [*VARIANTS].index(variant))


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_judge_can_say_no(variant):
    """The radius of the paper is so large that λ hardly matters."""
    make = making(variant)
    regressions.check_judge_says_no(make, make(3, 3.0 if "paper" in variant else 0.15)[0])


@pytest.mark.parametrize("variant", VARIANTS)
def test_files_and_copies(variant, tmp_path):
    regressions.check_files_and_copies(making(variant), tmp_path)


def test_capabilities():
    assert unipac.ConfidenceBall(2).certified
    assert unipac.ConfidenceBall(2).guarantee == "regret"
    assert not unipac.ConfidenceBall(2, radius="paper").certified
    assert unipac.ConfidenceBall(2, radius="paper").guarantee == "none"


@pytest.mark.parametrize("norm_kind", [2, 1])
@pytest.mark.parametrize("runs", regressions.RUNS)
def test_certificates_hold(norm_kind, runs):
    regressions.check_certificates(unipac.ConfidenceBall, runs, regularization=0.05, norm_kind=norm_kind)


@pytest.mark.parametrize("norm_kind", [2, 1])
@pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")
@pytest.mark.parametrize("runs", regressions.RUNS)
def test_an_eighth_of_the_noise_does_not_hold(norm_kind, runs):
    regressions.check_too_little_noise(unipac.ConfidenceBall, runs, regularization=0.05, norm_kind=norm_kind)
