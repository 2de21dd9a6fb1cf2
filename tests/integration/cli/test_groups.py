"""Groups on the command line: those of a file are reserved in one decision, and an approval is of what was shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.command_line import Cli


def group(name: str, port: int, rate: str) -> dict[str, Any]:
    flow = {"source": "anl-premium", "destination": f"lbnl-premium:{port}", "protocol": "udp", "service": "ip-premium"}
    members = [{"name": "line", "network": flow | {"rate": rate}}]
    return {"name": name, "owner": "hep", "start": "now + 1 h", "duration": "1 h", "members": members}


def file_of(folder: Path, *groups: dict[str, Any]) -> Path:
    file = folder / "groups.yml"
    file.write_text(yaml.safe_dump({"version": 1, "together": list(groups)}))
    return file


def test_the_groups_of_a_file_are_reserved_together_or_not_at_all(cli: Cli, tmp_path: Path) -> None:
    """The first was reserved, and "nothing of it was applied" was said of the second."""
    refused = cli("reserve", file_of(tmp_path, group("fits", 5001, "1 Mbit/s"), group("large", 5002, "900 Mbit/s")))
    assert (refused.code, refused.out) == (3, "")
    assert "nothing of it was applied: hep/large.line" in refused.err
    assert cli("status", "--groups", "--all", "-f", "json").items == []
    file = file_of(tmp_path, group("fits", 5001, "1 Mbit/s"), group("small", 5002, "2 Mbit/s"))
    reserved = cli("reserve", file, "-f", "json").data
    assert [(one["name"], one["state"]) for one in reserved] == [("fits", "committed"), ("small", "committed")]
    assert len({one["handle"] for one in reserved}) == 2
    assert len(cli("events", "-f", "json").items) == 2


def test_a_group_is_approved_as_it_was_shown(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOTCAR_APPROVAL_RATE", "2 Mbit/s")
    (waiting,) = cli("reserve", file_of(tmp_path, group("above", 5001, "4 Mbit/s")), "-f", "json").data
    assert waiting["state"] == "awaiting-approval"
    handle, version = waiting["handle"], waiting["version"]
    asks = cli("approve", handle)
    assert (asks.code, "--yes" in asks.err) == (2, True)
    stale = cli("approve", handle, "--if-version", str(version + 1))
    assert (stale.code, f"is at version {version}, not {version + 1}" in stale.err) == (1, True)
    approved = cli("approve", handle, "--yes", "-f", "json")
    assert approved.data["state"] == "committed"
    assert "hep/above" in approved.err, "what is approved is shown before"
    assert cli("cancel", handle, "--if-version", str(version), "--yes").code == 1
    assert cli("cancel", handle, "--yes", "-f", "json").data["state"] == "cancelled"
