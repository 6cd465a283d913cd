"""The contract of searches, held against every one in the registry."""

import pytest

import unipac
from helpers import any_checks, registry_cases as cases, search_checks

pytestmark = pytest.mark.nojit

NAMES = cases.names("search")
CASES = cases.all_cases("search")


@pytest.mark.boundscheck
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("word", search_checks.CHECKS)
def test_promises(case, word):
    search_checks.CHECKS[word](case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_copies_and_files_go_on_alone(case, tmp_path):
    search_checks.check_goes_on(case, any_checks.WAYS, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_says_what_is_proven(case):
    any_checks.check_says_what_is_proven(case)
    any_checks.check_parameters_are_fields(case)


@pytest.mark.parametrize("name", NAMES)
def test_is_documented(name):
    any_checks.check_is_documented(name, unipac.AGENTS[name])


@pytest.mark.parametrize("name", [name for name in NAMES if unipac.AGENTS[name].samples != "rewards"])
def test_a_search_for_a_policy_that_is_too_sure_is_found(name):
    """The control of the certificates: an answer before any sample, said to be the best."""
    cls = unipac.AGENTS[name]
    sure = property(lambda self: cls.answer.fget(self)._replace(certificate=0.0))
    mine = type("TooSure", (cls,), {"__doc__": "Too sure.", "answer": sure})
    with pytest.raises(AssertionError, match="certificates"):
        search_checks.check_certificates(cases.search_cases(mine)[0], runs=20)
