"""The API's document is made from the wire's documents; and the client imports nothing of the controller."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, is_typeddict

import pytest

import slotcar_client
from slotcar.api.app import openapi_document
from slotcar_client.wire import documents
from tests.unit.test_layers import names_imported

ROOT = Path(__file__).resolve().parents[3]
MODULES = sorted((ROOT / "client" / "slotcar_client").rglob("*.py"))
WIRE = sorted((ROOT / "client" / "slotcar_client" / "wire").rglob("*.py"))
#: Documents that the controller describes as files and requests have them, too, with its name for each.
OF_RESERVATIONS = {
    documents.Reservation: "ReservationOut", documents.End: "Endpoint", documents.Share: "BackgroundShare",
    documents.Need: "VolumeByDeadline", documents.Claim: "Claim", documents.Together: "Membership",
    documents.TimeBound: "TimeBound",
}  # fmt: skip


@pytest.fixture(scope="module")
def schemas() -> dict[str, Any]:
    schemas: dict[str, Any] = openapi_document()["components"]["schemas"]
    return schemas


@pytest.mark.parametrize("document", OF_RESERVATIONS, ids=lambda document: document.__name__)
def test_a_type_has_the_keys_of_the_documents_schema(document: type, schemas: dict[str, Any]) -> None:
    assert set(document.__annotations__) == set(schemas[OF_RESERVATIONS[document]]["properties"])


def test_every_document_of_the_wire_is_in_the_apis_document(schemas: dict[str, Any]) -> None:
    """By its name with `Out` behind; `Free` is a part of two others, `PeerAnswers` goes between controllers, and
    `PolicyDifference` is what a command prints."""
    names = {name for name, one in vars(documents).items() if is_typeddict(one)}
    others = {one.__name__ for one in OF_RESERVATIONS} | {
        "Free",
        "SlotAtBoundary",
        "Mistake",
        "QuotaOfOwner",
        "PeerAnswers",
        "PolicyDifference",
    }
    assert {f"{name}Out" for name in names - others} <= set(schemas)
    assert {"SlotAtBoundary", "ErrorOut", "QuotaOut"} <= set(schemas)


def roots(module: Path) -> set[str]:
    return {name.partition(".")[0] for name in names_imported(module.read_text())}


def test_the_client_imports_httpx_and_itself_alone() -> None:
    assert len(MODULES) > 5
    # What `slotcar-client[yaml]` brings, to the one module that does without it in words.
    extra = {"vector.py": {"yaml"}}
    for module in MODULES:
        own = {"httpx", "slotcar_client", *extra.get(module.name, ())}
        assert roots(module) <= {*own, *sys.stdlib_module_names}, module


def test_the_wire_imports_the_standard_library_and_itself_alone() -> None:
    assert WIRE
    for module in WIRE:
        ours = {name for name in names_imported(module.read_text()) if name.startswith("slotcar_client")}
        assert all(name.startswith("slotcar_client.wire") for name in ours), module
        assert roots(module) <= {"slotcar_client", *sys.stdlib_module_names}, module


def test_who_needs_the_wire_alone_imports_no_client() -> None:
    program = "import sys; import slotcar_client.wire.documents; print(sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT / "client"
    )
    assert "slotcar_client.wire.documents" in done.stdout
    assert "httpx" not in done.stdout
    assert all(getattr(slotcar_client, name).__name__ == name for name in slotcar_client.__all__)


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
