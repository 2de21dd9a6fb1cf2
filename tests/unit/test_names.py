"""Names say what a value holds, and not what was done to it: a reader does not guess what `told` is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VAGUE = {
    "said", "told", "made", "seen", "asked", "gone", "there", "had", "found", "carrying", "rewinding", "rolling",
    "expressing", "asking", "standing", "unready",
}  # fmt: skip
#: No part of a longer name either, in what runs in production.
VAGUE_PARTS = {"said", "told", "carrying", "rewinding", "rolling", "expressing", "asking", "standing"}
#: Keys of plan files and of the API's answers, which other programs read.
KEYS = {
    ("controller/slotcar/planning/step.py", "seen"),
    ("controller/slotcar/planning/plan_file.py", "seen"),
    ("client/slotcar_client/wire/documents.py", "seen"),
    ("client/slotcar_client/wire/documents.py", "asked"),
}
MODULES = sorted(
    path
    for folder in (
        "controller/slotcar",
        "lab/slotcar_lab",
        "client/slotcar_client",
        "mover/slotcar_transfer",
        "tests",
        "benchmarks",
        "examples",
    )
    for path in (ROOT / folder).rglob("*.py")
    if not {"migrations", "vendor"} & set(path.parts)  # the first stay as they ran, the second are others'
)


@cache
def given_names(source: str) -> frozenset[str]:
    """The names that a module gives: of variables, parameters, functions, methods and classes."""
    return frozenset(_given_names(source))


def _given_names(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in MODULES}), ids=lambda path: str(path.relative_to(ROOT))
)
def test_no_name_is_vague(folder: Path) -> None:
    for module in (path for path in MODULES if path.parent == folder):
        place = module.relative_to(ROOT).as_posix()
        vague = {name.strip("_").lower() for name in given_names(module.read_text())} & VAGUE
        assert not {name for name in vague if (place, name) not in KEYS}, place


@pytest.mark.parametrize(
    "package", ["controller/slotcar", "client/slotcar_client", "mover/slotcar_transfer", "lab/slotcar_lab"]
)
def test_no_part_of_a_name_is_a_riddle(package: str) -> None:
    for module in (path for path in MODULES if path.is_relative_to(ROOT / package)):
        riddles = {name for name in given_names(module.read_text()) if set(parts_of(name)) & VAGUE_PARTS}
        assert not riddles, module.relative_to(ROOT)


def parts_of(name: str) -> list[str]:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")


#: A class of `admission/kernels.py` too: numba's caches of earlier versions hold its name, and are not even looked at, and
#: so not replaced, where the class has another one.
IN_CACHES = {"State"}


def test_a_class_name_stands_for_one_thing() -> None:
    """But for platforms: what a folder of theirs holds is named as that vendor names it."""
    modules: dict[str, list[str]] = {}
    for path in (ROOT / "controller" / "slotcar").rglob("*.py"):
        place = path.relative_to(ROOT / "controller" / "slotcar")
        if not {"migrations", "vendor", "platforms"} & set(place.parts):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    modules.setdefault(node.name.strip("_"), []).append(place.as_posix())
    assert len(modules) > 400, "classes were looked for where they are not"
    assert {name: places for name, places in modules.items() if len(places) > 1 and name not in IN_CACHES} == {}


def test_the_check_sees_each_way_to_give_a_name() -> None:
    source = "def told(asked): pass\nfor seen in (): pass\nclass Said: pass\nwith x as gone: made: int = 1\n"
    source += "[0 for there in x]\n"
    assert given_names(source) == {"told", "asked", "seen", "Said", "gone", "made", "there"}
    assert parts_of("_WhatWasSaid_then") == ["", "what", "was", "said", "then"]
