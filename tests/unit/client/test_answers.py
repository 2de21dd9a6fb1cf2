"""What the client says of answers is what the API's document says; and it imports nothing of the controller."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, is_typeddict

import pytest

from slotcar.api.app import openapi_document
from slotcar_client import answers

ROOT = Path(__file__).resolve().parents[3]
MODULES = sorted((ROOT / "client" / "slotcar_client").rglob("*.py"))
TYPES = {name: one for name, one in vars(answers).items() if is_typeddict(one)}
#: Where the two differ in their names.
NAMES = {
    "SlotAtBoundary": "SlotAtBoundary",
    "End": "Endpoint", "Share": "BackgroundShare",
    "Mistake": "ErrorOut", "QuotaOfOwner": "QuotaOut", "DifferenceOfDevice": "DifferenceOfDeviceOut",
}  # fmt: skip
#: The client knows the part of it that programs look at.
PARTS = {"Reservation"}


@pytest.fixture(scope="module")
def schemas() -> dict[str, Any]:
    schemas: dict[str, Any] = openapi_document()["components"]["schemas"]
    return schemas


@pytest.mark.parametrize("name", TYPES)
def test_a_type_has_the_keys_of_the_documents_schema(name: str, schemas: dict[str, Any]) -> None:
    schema = schemas[NAMES.get(name, f"{name}Out")]["properties"]
    stated = set(TYPES[name].__annotations__)
    assert (stated <= set(schema)) if name in PARTS else (stated == set(schema))


def test_the_client_imports_httpx_and_itself_alone() -> None:
    assert len(MODULES) > 5
    allowed = {"httpx", "slotcar_client", *sys.stdlib_module_names}
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert {name.partition(".")[0] for name in names} <= allowed, module


def test_its_distribution_needs_httpx_alone_and_says_that_it_is_typed() -> None:
    project = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text())
    assert project["project"]["dependencies"] == ["httpx>=0.28"]
    assert project["tool"]["setuptools"]["package-data"] == {"slotcar_client": ["py.typed"]}
    assert (ROOT / "client" / "slotcar_client" / "py.typed").exists()


@pytest.mark.slow
def test_a_program_that_uses_it_is_checked_with_its_types(tmp_path: Path) -> None:
    """As whoever writes one sees it: both clients' verbs have the types of their answers."""
    program = tmp_path / "program.py"
    program.write_text(
        "from slotcar_client import AsyncSlotcar, Slotcar\n"
        "def sync(one: Slotcar) -> int:\n    return one.create({'rate': '1 Mbit/s'}, hold='5 min')['version']\n"
        "async def other(one: AsyncSlotcar) -> str:\n    return (await one.reservation('r-1'))['state']\n"
        "def wrong(one: Slotcar) -> str:\n    return one.whoami()['nmae']\n"
        "def missing(one: Slotcar) -> None:\n    one.extend('r-1')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-warn-return-any", "--config-file", "",
         "--cache-dir", tmp_path / "cache", program],
        env={"MYPYPATH": str(ROOT / "client"), "PATH": ""}, capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if "error:" in line]
    assert len(lines) == 2, done.stdout
    assert '"nmae" is not a valid TypedDict key' in lines[0]
    assert "Too few arguments" in lines[1]
