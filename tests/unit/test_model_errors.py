"""Errors of a model in words: each below its own key, with the keys of the value that it is in."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from slotcar.base.model_errors import Words, explained


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Tape(Strict):
    label: str = Field(pattern="^[A-Z]{3}$", description="As it stands on it.")
    length: int = 1


class Library(Strict):
    tapes: list[Tape] = []
    by_name: dict[str, Tape] = {}
    one: Tape | str | None = None
    colour: Colour = Colour.RED
    options: dict[str, bool | int] = {}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"tapes": [{"label": "ABC"}, {"label": "ABC", "lenght": 2}]}, ("tapes.1.lenght", "did you mean `length`?")),
        ({"by_name": {"a": {"label": "ABC", "lenght": 2}}}, ("by_name.a.lenght", "did you mean `length`?")),
        ({"by_name": {"a": {}}}, ("by_name.a.label", "As it stands on it.")),
        ({"tapes": [{"label": "abc"}]}, ("tapes.0.label", "it matches `^[A-Z]{3}$`")),
        ({"one": {"label": "ABC", "lenght": 2}}, ("one.lenght", "did you mean `length`?")),
        ({"colour": "green"}, ("colour", "say 'red' or 'blue'")),
        ({"options": {"int": "much"}}, ("options.int", "")),
        ({"tape": []}, ("tape", "did you mean `tapes`?")),
    ],
)
def test_the_hint_is_of_the_value_that_is_wrong(data: dict[str, Any], expected: tuple[str, str]) -> None:
    with pytest.raises(ValidationError) as wrong:
        Library.model_validate(data)
    assert expected in [(".".join(key), hint) for key, _, _, hint in explained(wrong.value, Library, data)]


def test_a_room_has_words_of_its_own() -> None:
    words = Words(missing={"label": "say three letters"}, choices={"colour": Colour}, nouns={Colour: "colour"})
    data = {"colour": "green", "tapes": [{}]}
    with pytest.raises(ValidationError) as wrong:
        Library.model_validate(data)
    assert {".".join(key): rest for key, *rest in explained(wrong.value, Library, data, words)} == {
        "colour": ["is no colour", "green", "say one of Colour.RED, Colour.BLUE"],
        "tapes.0.label": ["is missing", "", "say three letters"],
    }
