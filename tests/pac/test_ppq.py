"""PPQ asks for what the transcription in ``helpers.judges.planning`` asks for, and answers as it does."""

import pytest

import unipac
from helpers import planners
from helpers.judges import planning as judges
from helpers.planners import WORLDS

pytestmark = pytest.mark.nojit


def judge(world, eps, delta, trail):
    return judges.ppq(world, eps, delta)


@pytest.mark.parametrize("kind", WORLDS)
def test_asks_and_answers_as_the_pseudo_code(kind):
    planners.check_asks_and_answers(unipac.PPQ, judge, kind)


def test_the_judge_can_say_no():
    planners.check_judge_says_no(unipac.PPQ, judge)
