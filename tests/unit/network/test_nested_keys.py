"""A wrong key within a value of an inventory: the hint is a key of that value, and not one of the router's."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from slotcar.network.findings import explained
from slotcar.network.variables import RouterVariables


@pytest.mark.parametrize(
    ("position", "key", "hint"),
    [
        ({"x": 10, "Y": 20}, "Y", "there is y"),
        ({"y": 20, "xx": 10}, "xx", "did you mean `x`?"),
        ({"left": 10, "top": 20}, "left", "there is x, y"),
    ],
)
def test_the_hint_is_of_the_value(position: dict[str, Any], key: str, hint: str) -> None:
    data = {"slotcar_platform": "linux-tc", "slotcar_position": position}
    with pytest.raises(ValidationError) as wrong:
        RouterVariables.model_validate(data)
    problems = {path: (message, value) for path, message, _, value in explained(wrong.value, RouterVariables, data)}
    assert problems["slotcar_position", key] == ("is no key that is known here", hint)
