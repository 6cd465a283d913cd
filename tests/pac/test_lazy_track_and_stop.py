"""LazyTrackAndStop asks for what the slow transcription in ``helpers.judges.searches`` asks for, and answers so."""

import numpy as np
import pytest

import unipac
from helpers import searches
from helpers.judges import searches as judges


def judge(*given):
    return judges.lazy_track_and_stop(*given, lam=0.3)


@pytest.mark.parametrize("kind", searches.KINDS)
def test_asks_and_answers_as_the_pseudo_code(kind):
    searches.check_asks_and_answers(unipac.LazyTrackAndStop, judge, kind, regularization=0.3)


def test_the_judge_can_say_no():
    searches.check_judge_says_no(unipac.LazyTrackAndStop, judge, regularization=0.3)


def test_a_regularization_that_is_lost_to_rounding_is_refused():
    with pytest.raises(ValueError, match="regularization must be at least 1e-10"):
        unipac.LazyTrackAndStop(np.eye(2), regularization=1e-11)
    with pytest.raises(ValueError, match="regularization must be at least 1e-06"):
        unipac.LazyTrackAndStop(100.0 * np.eye(2), regularization=1e-7)
    assert unipac.LazyTrackAndStop(1e-3 * np.eye(2), regularization=1e-11).regularization == 1e-11
