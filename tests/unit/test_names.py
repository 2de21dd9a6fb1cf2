"""Names say what a value holds, and not what was done to it: a reader does not guess what `told` is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VAGUE = {
    "said", "told", "made", "seen", "asked", "gone", "there", "had", "found", "carrying", "rewinding", "rolling",
    "expressing", "asking", "standing", "unready",
}  # fmt: skip
#: Keys of plan files and of the API's answers, which other programs read.
KEYS = {
    ("controller/slotcar/planning/step.py", "seen"),
    ("controller/slotcar/planning/plan_file.py", "seen"),
    ("controller/slotcar/api/plan_models.py", "seen"),
    ("controller/slotcar/api/models.py", "asked"),
    ("client/slotcar_client/answers/planning.py", "seen"),
    ("client/slotcar_client/answers/problems.py", "asked"),
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


def given_names(source: str) -> Iterator[str]:
    """The names that a module gives: of variables, parameters, functions, methods and classes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            yield node.name.lower()


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in MODULES}), ids=lambda path: str(path.relative_to(ROOT))
)
def test_no_name_is_vague(folder: Path) -> None:
    for module in (path for path in MODULES if path.parent == folder):
        place = module.relative_to(ROOT).as_posix()
        vague = {name.strip("_") for name in given_names(module.read_text())} & VAGUE
        assert not {name for name in vague if (place, name) not in KEYS}, place


def test_the_check_sees_each_way_to_give_a_name() -> None:
    source = "def told(asked): pass\nfor seen in (): pass\nclass Said: pass\nwith x as gone: made: int = 1\n"
    source += "[0 for there in x]\n"
    assert set(given_names(source)) == {"told", "asked", "seen", "said", "gone", "made", "there"}
