"""The checks of the contract let right agents pass and find wrong ones: each of these is wrong in one way."""

import pytest

from helpers import (
    any_checks,
    bandit_checks,
    mdp_checks,
    perturbed,
    registry_cases as cases,
    search_checks,
    toys,
)

BANDIT, MDP, SEARCH = bandit_checks.CHECKS, mdp_checks.CHECKS, search_checks.CHECKS
REFUTED = pytest.mark.filterwarnings("ignore:.*lower bound exceeds:RuntimeWarning")


def goes_on(checks, way, *more):
    return lambda case, folder: checks.check_goes_on(case, [way], folder, *more)


def plain(check):
    return lambda case, folder: check(case)


WRONG = {
    "TrustsFiles": lambda case, folder: perturbed.check_perturbed(case, folder),
    "TrustsCounts": lambda case, folder: perturbed.check_perturbed(case, folder),
    "WrongTimes": plain(BANDIT["times"]),
    "NearlyRightTimes": plain(BANDIT["times"]),
    "TakesBadTimes": plain(BANDIT["times"]),
    "SharedMemory": goes_on(bandit_checks, "copy"),
    "OwnPlay": plain(BANDIT["play is the loop"]),
    "ForgetsPending": goes_on(bandit_checks, "file"),
    "ForgetsPart": goes_on(bandit_checks, "pickle"),
    "TooSureBandit": plain(BANDIT["certificates"]),
    "CarelessUpdate": plain(BANDIT["bad input"]),
    "WrongError": plain(BANDIT["bad input"]),
    "OldIds": bandit_checks.check_ids,
    "ChoosingLearns": plain(BANDIT["choosing learns nothing"]),
    "TakesTwice": plain(BANDIT["late rewards"]),
    "AbsorbsNothing": plain(BANDIT["absorb"]),
    "RandomPlan": plain(MDP["plan"]),
    "HiddenPlan": goes_on(mdp_checks, "file", 0),
    "SharedMDP": goes_on(mdp_checks, "deepcopy", 0),
    "ForgetsEpisode": goes_on(mdp_checks, "file", 2),
    "OwnPlayMDP": plain(mdp_checks.check_play_is_the_loop),
    "TooSureMDP": plain(MDP["certificates"]),
    "LowBound": plain(MDP["certificates"]),
    "CarelessObserve": plain(MDP["bad input"]),
    "NeverTerminates": plain(MDP["ends"]),
    "RandomSearch": plain(SEARCH["run is the loop"]),
    "TooSureSearch": plain(SEARCH["certificates"]),
    "StopsEarly": plain(SEARCH["run is the loop"]),
    "SameSearch": goes_on(search_checks, "copy"),
    "CarelessTell": plain(SEARCH["bad input"]),
    "ForgetsBatch": goes_on(search_checks, "file"),
}


def case_of(cls):
    """The first case of the kind."""
    return cases.MAKERS[cls.kind](cls)[0]


def test_all_wrong_ones_are_tried():
    classes = [thing for thing in vars(toys).values() if isinstance(thing, type) and hasattr(thing, "kind")]
    wrong = {cls.__name__ for cls in classes if cls.__module__ == toys.__name__ and cls not in toys.RIGHT}
    assert set(WRONG) == wrong


@REFUTED
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_agent_is_found(name, tmp_path):
    case = case_of(getattr(toys, name))
    with pytest.raises(AssertionError):
        WRONG[name](case, tmp_path)
    WRONG[name](case_of(case.cls.__mro__[1]), tmp_path)  # which is right


@REFUTED
@pytest.mark.parametrize("case", [c for cls in toys.RIGHT for c in cases.MAKERS[cls.kind](cls)], ids=str)
def test_a_right_agent_passes(case, tmp_path):
    kind = case.cls.kind
    checks = {"bandit": BANDIT, "mdp": MDP, "search": SEARCH}[kind]
    for word, check in checks.items():
        if word != "certificates" or "reward_range" not in case.parameters:
            check(case)
    any_checks.check_says_what_is_proven(case)
    any_checks.check_parameters_are_fields(case)
    ways = any_checks.WAYS
    if kind == "bandit":
        bandit_checks.check_goes_on(case, ways, tmp_path)
        bandit_checks.check_ids(case, tmp_path)
    elif kind == "mdp":
        mdp_checks.check_play_is_the_loop(case)
        for stages in (0, 1, 2):
            mdp_checks.check_goes_on(case, ways, tmp_path, stages)
    else:
        search_checks.check_goes_on(case, ways, tmp_path)
