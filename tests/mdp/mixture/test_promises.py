"""The contract on mixture MDPs, with what only NestedVTR can do there: likelihood sets, pooled stages, two targets."""

import pytest

import unipac
from helpers import any_checks, mdp_checks
from helpers.registry_cases import Case
from unipac.envs import hypercube_mixture, mixture_swim

pytestmark = pytest.mark.filterwarnings("ignore:.*nothing is certified:RuntimeWarning")

SWIM = mixture_swim(3, 3)
CASES = [
    Case("likelihood", unipac.NestedVTR, SWIM, {"likelihood": True}),
    Case("pooled likelihood", unipac.NestedVTR, SWIM, {"likelihood": True, "homogeneous": True}),
    Case(
        "widest", unipac.NestedVTR, SWIM, {"targets": "widest", "homogeneous": True, "regularization": 0.01}
    ),
    Case("hypercube", unipac.UPACVTR, hypercube_mixture(2, 3), {"regularization": 0.01}),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_play_is_the_loop(case):
    mdp_checks.check_play_is_the_loop(case)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("word", mdp_checks.CHECKS)
def test_promises(case, word):
    mdp_checks.CHECKS[word](case)


@pytest.mark.parametrize("stages", [0, 2])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_copies_and_files_go_on_alone(case, stages, tmp_path):
    mdp_checks.check_goes_on(case, any_checks.WAYS, tmp_path, stages)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_says_what_is_proven(case):
    any_checks.check_says_what_is_proven(case)
    any_checks.check_parameters_are_fields(case)
