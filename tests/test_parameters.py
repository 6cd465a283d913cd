"""How constructors refuse what they do not take."""

from __future__ import annotations

from typing import ClassVar

import pytest

import unipac
from unipac._parameters import agent, parameter

SENTENCE = "the size is given as size, not as width"


@agent
class Old:
    size: int = parameter(kw_only=False)
    moved: ClassVar[dict[str, str]] = {"width": SENTENCE}


@agent
class Derived(Old):
    depth: int = parameter(default=1)
    moved: ClassVar[dict[str, str]] = {"height": "there is no height"}


@agent
class Again(Old):
    width: int = parameter(default=1)


@pytest.mark.parametrize("cls", [Old, Derived])
def test_a_keyword_that_moved_is_refused_with_its_sentence(cls):
    with pytest.raises(ValueError, match=f"^{cls.__name__} takes no width: {SENTENCE}$"):
        cls(3, width=4)
    with pytest.raises(ValueError, match=f"^{cls.__name__} takes no width: {SENTENCE}$"):
        cls(width=4)  # rather than "size is missing"


def test_derived_classes_add_keywords_that_moved():
    with pytest.raises(ValueError, match=r"^Derived takes no height: there is no height$"):
        Derived(3, height=1)
    with pytest.raises(TypeError, match="height"):
        Old(3, height=1)


def test_a_class_may_declare_a_parameter_of_that_name_again():
    assert Again(3, width=4).width == 4


@pytest.mark.parametrize("cls", [Old, Derived, unipac.UCBVI])
def test_unknown_and_missing_arguments_are_named(cls):
    with pytest.raises(TypeError, match="colour"):
        cls(3, colour="red")
    with pytest.raises(TypeError, match=r"size|n_states"):
        cls()


def test_the_number_of_episodes_has_one_name():
    with pytest.raises(ValueError, match="total_episodes"):
        unipac.UCBVI(3, 2, horizon=3, episodes=10)
