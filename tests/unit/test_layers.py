"""Imports run down the rooms' order and never back (docs/architecture.md)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from controller.registry import FOLDERS

ROOT = Path(__file__).parents[2]
#: Lower first. A room imports itself and what stands before it.
ORDER = [
    "problems",
    "private_files",
    "stopping",
    "timebase",
    "vocabulary",
    "units",
    "registry",
    "files",
    "logs",
    "located_yaml",
    "reservation",
    "network",
    "path",
    "policy",
    "admission",
    "ledger",
    "timeline",
    "intent",
    "platforms",
    "rollout",
    "settings",
    "auth",
    "views",
    "wiring",
    "planning",
    "recovery",
    "broker",
    "notify",
    "api",
    "cli",
]
MODULES = sorted((ROOT / "controller").rglob("*.py"))


def imported(source: str) -> set[str]:
    """Rooms that a module imports, at its top or inside a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "controller" and len(parts) > 1:
                found.add(parts[1])
    return found & set(ORDER)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_down_the_rooms(module: Path) -> None:
    parts = module.relative_to(ROOT / "controller").with_suffix("").parts
    room = parts[0]
    if room == "__init__":
        return
    assert room in ORDER, f"{room} is no known room: give it its place in ORDER and in docs/architecture.md"
    above = {name for name in imported(module.read_text()) if ORDER.index(name) > ORDER.index(room)}
    assert not above, f"{module.name} in {room} imports {sorted(above)}, which stand above it"


def test_the_check_sees_an_import_that_runs_back() -> None:
    assert imported("def f():\n    from controller.api import app\n") == {"api"}


def test_platform_facts_import_only_rooms_below_the_network() -> None:
    """The network asks them, so they must not ask it; `controller.platforms.ios.facts` is a part of them."""
    for module in MODULES:
        if module.name == "facts.py":
            above = imported(module.read_text()) - {*ORDER[: ORDER.index("network")], "platforms"}
            assert not above, f"{module} imports {sorted(above)}"


def test_no_other_room_has_a_branch_for_a_platform() -> None:
    """Code outside of `controller/platforms/` compares with no platform's name; help and examples may show one."""
    for module in MODULES:
        if module.relative_to(ROOT / "controller").parts[0] == "platforms" or module.name == "registry.py":
            continue
        for node in ast.walk(ast.parse(module.read_text())):
            compared = [*node.comparators, node.left] if isinstance(node, ast.Compare) else []
            keys = node.keys if isinstance(node, ast.Dict) else []
            named = [
                one.value
                for top in (*compared, *keys)
                if top is not None
                for one in ast.walk(top)
                if isinstance(one, ast.Constant) and one.value in FOLDERS
            ]
            assert not named, (
                f"{module}:{getattr(node, 'lineno', 0)} has a branch for {named}: ask controller.registry"
            )
