"""The command line in this process, over a database of the test's own and the inventory of the lab."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Cli, in_this_process

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Cli:
    """`slotcar …` with the lab's inventory and no database."""
    for name, value in {
        "SLOTCAR_STATE_DIR": str(tmp_path / "state"),
        "SLOTCAR_INVENTORY": str(ROOT / "inventories" / "lab"),
        "COLUMNS": "200",
        "USER": "tester",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SLOTCAR_DATABASE_URL", raising=False)
    return in_this_process(monkeypatch, capfd)


@pytest.fixture
def cli(offline: Cli, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """`slotcar …` over a ledger of its own."""
    monkeypatch.setenv("SLOTCAR_DATABASE_URL", database_url)
    return offline


@pytest.fixture
def reservations(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file of reservations on the lab; keys given override the first one's, None takes one away."""

    def write(*entries: dict[str, Any], name: str = "reservations.yml") -> Path:
        usual = {
            "name": "cms", "owner": "hep", "source": "anl-premium", "destination": "lbnl-premium:5001",
            "protocol": "udp", "service": "ip-premium", "rate": "20 Mbit/s", "start": "2027-03-01T22:00:00+01:00",
            "duration": "PT2H",
        }  # fmt: skip
        listed = [{k: v for k, v in (usual | entry).items() if v is not None} for entry in entries or ({},)]
        file = tmp_path / name
        file.write_text(json.dumps({"version": 1, "reservations": listed}, indent=1))
        return file

    return write
