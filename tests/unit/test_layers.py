"""Imports run down the rooms' order and never back (docs/architecture.md)."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from itertools import groupby
from pathlib import Path

import networkx

from slotcar.base.registry import FOLDERS

ROOT = Path(__file__).parents[2]
#: Lower first. A room imports itself and what stands before it.
ORDER = [
    "base",
    "managers",
    "reservation",
    "network",
    "admission",
    "policy",
    "book",
    "store",
    "platforms",
    "rollout",
    "auth",
    "views",
    "planning",
    "domains",
    "recovery",
    "measuring",
    "wiring",
    "notify",
    "watching",
    "desk",
    "api",
    "web",
    "cli",
]
PACKAGES = [
    (ROOT / "controller", "slotcar"), (ROOT / "client", "slotcar_client"), (ROOT / "mover", "slotcar_transfer"),
    (ROOT / "lab", "slotcar_lab"), (ROOT, "benchmarks"),
]  # fmt: skip
MODULES = sorted((ROOT / "controller" / "slotcar").rglob("*.py"))


@cache
def names_imported(source: str, package: str = "") -> frozenset[str]:
    """What a module of a package imports, at its top or inside a function: modules, and names that may be modules."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            names |= {module} | {f"{module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return frozenset(names)


def imported(source: str) -> set[str]:
    """Rooms that a module imports."""
    parts = [name.split(".") for name in names_imported(source)]
    return {part[1] for part in parts if part[0] == "slotcar" and len(part) > 1} & set(ORDER)


def test_imports_run_down_the_rooms() -> None:
    unknown, upward = set(), []
    for module in MODULES:
        path = module.relative_to(ROOT / "controller" / "slotcar").with_suffix("")
        room = path.parts[0]
        if room == "__init__":
            continue
        if room not in ORDER:
            unknown.add(room)
            continue
        above = {name for name in imported(module.read_text()) if ORDER.index(name) > ORDER.index(room)}
        upward += [f"{path} imports {name}, which stands above it" for name in sorted(above)]
    assert not unknown, "no known rooms: give each its place in ORDER and in docs/architecture.md"
    assert upward == []


def test_the_order_is_that_of_the_table_of_rooms() -> None:
    """A room is a row's first cell, or a part of it: `controller/slotcar/book/`, or a module that stands by itself. One
    within another has a row beside it.
    """
    page = (ROOT / "docs" / "architecture.md").read_text()
    cells = re.findall(r"^\| (`controller/slotcar/[^|]*) \|", page.partition("Outside the package:")[0], re.MULTILINE)
    rooms = [room for cell in cells for room in re.findall(r"`controller/slotcar/(\w+)", cell)]
    assert [room for room, _ in groupby(rooms)] == ORDER


def test_the_rule_names_the_rooms_in_the_same_order() -> None:
    rule = re.search(r"^18\. .*?A room\s", (ROOT / "docs" / "design.md").read_text(), re.MULTILINE | re.DOTALL)
    assert rule is not None
    assert re.findall(r"`(\w+)`", rule[0]) == ORDER


def test_the_book_knows_no_database() -> None:
    """It reads through a `Shelf`, so that a transaction, a snapshot and a ledger in memory are decided alike."""
    for module in MODULES:
        if module.relative_to(ROOT / "controller" / "slotcar").parts[0] == "book":
            names = {name.partition(".")[0] for name in names_imported(module.read_text())}
            assert not names & {"alembic", "psycopg", "sqlalchemy"}, module


def test_the_check_sees_an_import_that_runs_back() -> None:
    assert imported("def f():\n    from slotcar.api import app\n") == {"api"}


def test_the_controller_imports_nothing_of_the_lab() -> None:
    """The lab is a distribution of its own, which the controller does without; `slotcar lab` comes by an entry point."""
    for module in MODULES:
        names = {name.split(".")[0] for name in names_imported(module.read_text())}
        assert not names & {"slotcar_lab", "benchmarks", "tests"}, module


def test_only_the_command_line_stands_on_the_client() -> None:
    """The others know of it what goes over the wire, and no more. The client imports nothing of the controller:
    tests/unit/client holds that.
    """
    for module in MODULES:
        if module.relative_to(ROOT / "controller" / "slotcar").parts[0] != "cli":
            names = {name for name in names_imported(module.read_text()) if name.startswith("slotcar_client.")}
            assert all(name.startswith("slotcar_client.wire") for name in names), module


def circles(sources: Mapping[str, tuple[str, bool]]) -> list[list[str]]:
    """The sets of modules that import each other, by their sources and whether each is a package's own module."""
    graph = networkx.DiGraph()
    for name, (source, is_package) in sources.items():
        package = name if is_package else name.rpartition(".")[0]
        graph.add_edges_from((name, other) for other in names_imported(source, package) & sources.keys() - {name})
    # A package that names its own modules runs before them and does not wait for itself.
    graph.remove_edges_from(
        [(name, other) for name, other in graph.edges if sources[other][1] and name.startswith(f"{other}.")]
    )
    return [sorted(those) for those in networkx.strongly_connected_components(graph) if len(those) > 1]


def test_modules_import_each_other_in_one_direction() -> None:
    """Also inside functions, and for types only."""
    sources = {
        ".".join(path.relative_to(top).with_suffix("").parts).removesuffix(".__init__"): (
            path.read_text(), path.name == "__init__.py"
        )
        for top, folder in PACKAGES
        for path in (top / folder).rglob("*.py")
    }  # fmt: skip
    assert len(sources) > len(MODULES)
    assert circles(sources) == []


def test_the_check_sees_a_circle_of_whichever_imports() -> None:
    sources = {
        "room": ("from room.first import one", True),
        "room.first": ("def f():\n    from . import second", False),
        "room.second": ("from .first import one", False),
        "room.third": ("import room.first", False),
    }
    assert circles(sources) == [["room.first", "room.second"]]


def test_platform_facts_import_only_rooms_below_the_network() -> None:
    """The network asks them, so they must not ask it; `slotcar.platforms.ios.facts` is a part of them."""
    for module in MODULES:
        if module.name == "facts.py":
            above = imported(module.read_text()) - {*ORDER[: ORDER.index("network")], "platforms"}
            assert not above, f"{module} imports {sorted(above)}"


def test_no_other_room_has_a_branch_for_a_platform() -> None:
    """Code outside of `controller/slotcar/platforms/` compares with no platform's name; help and examples may show one."""
    for module in MODULES:
        if module.relative_to(ROOT / "controller" / "slotcar").parts[0] == "platforms" or module.name == "registry.py":
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
                f"{module}:{getattr(node, 'lineno', 0)} has a branch for {named}: ask slotcar.base.registry"
            )
