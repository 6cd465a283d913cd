"""RAGE asks for what the slow transcription in ``helpers.judges.searches`` asks for, and answers so."""

import pytest

import unipac
from helpers import searches
from helpers.judges import searches as judges


def judge(*given):
    return judges.rage(*given, judges.checked_design(searches.solver))


@pytest.mark.parametrize("kind", searches.KINDS)
def test_asks_and_answers_as_the_pseudo_code(kind):
    searches.check_asks_and_answers(unipac.RAGE, judge, kind)


def test_the_judge_can_say_no():
    searches.check_judge_says_no(unipac.RAGE, judge)
