"""The contract of agents for MDPs, held against every one in the registry."""

import pytest

import unipac
from helpers import any_checks, mdp_checks, registry_cases as cases

pytestmark = pytest.mark.filterwarnings("ignore:.*nothing is certified:RuntimeWarning")

NAMES = cases.names("mdp")
CASES = cases.all_cases("mdp")


@pytest.mark.boundscheck
@pytest.mark.parametrize("case", CASES, ids=str)
def test_play_is_the_loop(case):
    mdp_checks.check_play_is_the_loop(case)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("word", mdp_checks.CHECKS)
def test_promises(case, word):
    mdp_checks.CHECKS[word](case)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_certificates_in_many_runs(case):
    mdp_checks.check_certificates(case, runs=100)


@pytest.mark.parametrize("stages", [0, pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_copies_and_files_go_on_alone(case, stages, tmp_path):
    mdp_checks.check_goes_on(case, any_checks.WAYS, tmp_path, stages)


@pytest.mark.boundscheck
@pytest.mark.parametrize("case", CASES, ids=str)
def test_says_what_is_proven(case):
    any_checks.check_says_what_is_proven(case)
    any_checks.check_parameters_are_fields(case)


@pytest.mark.parametrize("name", NAMES)
def test_is_documented(name):
    any_checks.check_is_documented(name, unipac.AGENTS[name])
