"""UCRLVTR is what its slow judge in ``helpers.judges.mixture`` says."""

import pytest

import unipac
from helpers import mixtures
from helpers.judges import mixture as judge

CASES = [
    ("per stage", {}),
    ("killer", {}),
    ("killer", {"homogeneous": True}),
    ("swim", {"homogeneous": True}),
    ("per stage", {"radius": "mixture", "scaling": "span", "regularization": 0.3}),
]


@pytest.mark.parametrize(("world", "told"), CASES, ids=mixtures.named(CASES))
def test_agent_is_what_its_pseudo_code_says(world, told):
    mixtures.check_is_its_pseudo_code(
        unipac.UCRLVTR, judge.SINGLE, world, told, radius="determinant", scaling="horizon"
    )


def test_the_judge_can_say_no():
    """Negative control: the judge of another rule of levels."""
    with pytest.raises(AssertionError):
        mixtures.check_is_its_pseudo_code(
            unipac.UCRLVTR, judge.NESTED, *("killer", {}), radius="determinant", scaling="horizon"
        )
