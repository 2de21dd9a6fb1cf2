"""The examples of the API's document, from the JSON files beside this one: one evening in the GARNET inventory.

`OPERATION.json` has the `request`, where there is a body, and the `answer`, or a text by its media type; `problems.json` a
problem by its status. `{"$ref": "status.json#/answer", "state": "cancelled"}` is what stands there but for the keys beside
it, and so in the objects within. Tests hold every example to its schema.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

Json = dict[str, Any]
FOLDER = Path(__file__).parent


class Example(NamedTuple):
    """Of an operation. `request` is None without a body; `answers` are by media type."""

    request: Json | None
    answers: dict[str, Any]


@cache
def _file(name: str) -> Json:
    whole: Json = _resolved(json.loads((FOLDER / name).read_text(encoding="utf-8")))
    return whole


def _resolved(value: Any) -> Any:
    if isinstance(value, list):
        return [_resolved(one) for one in value]
    if not isinstance(value, dict):
        return value
    beside = {key: _resolved(one) for key, one in value.items() if key != "$ref"}
    return _replaced(_at(value["$ref"]), beside) if "$ref" in value else beside


def _at(reference: str) -> Any:
    name, _, pointer = reference.partition("#/")
    value: Any = _file(name)
    for part in pointer.split("/"):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def _replaced(value: Any, beside: Any) -> Any:
    if not (isinstance(value, dict) and isinstance(beside, dict)):
        return beside
    return value | {key: _replaced(value.get(key), one) for key, one in beside.items()}


def _example(name: str) -> Example:
    file = dict(_file(name))
    request, answer = file.pop("request", None), file.pop("answer", None)
    return Example(request, ({} if answer is None else {"application/json": answer}) | file)


PROBLEMS: dict[int, Json] = {int(status): problem for status, problem in _file("problems.json").items()}
EXAMPLES = {path.stem: _example(path.name) for path in sorted(FOLDER.glob("*.json")) if path.stem != "problems"}
