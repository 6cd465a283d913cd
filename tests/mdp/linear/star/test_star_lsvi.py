"""StarLSVI against its slow judge: plans, bounds, certificates and the moments of planning."""

import pytest

from helpers import star


@pytest.mark.parametrize("case", star.CASES)
@pytest.mark.parametrize("episodes", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_agent_is_what_its_pseudo_code_says(episodes, case):
    star.check_is_its_pseudo_code(case, episodes)
