"""docs/reference/api.md: its program runs, and it names every path and every status of the API."""

from __future__ import annotations

import re

import httpx

from slotcar.api.app import openapi_document
from slotcar.api.openapi import ERRORS
from tests.integration.api.conftest import ROOT

TEXT = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")


def test_the_transfer_tool_runs(api: httpx.Client) -> None:
    program = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)[0]
    assert "http://127.0.0.1:8470" in program
    names: dict[str, object] = {}
    exec(compile(program.replace("http://127.0.0.1:8470", str(api.base_url)), "api.md", "exec"), names)
    reservation = api.get(str(names["mine"])).json()
    assert (reservation["state"], reservation["version"]) == ("cancelled", 3)
    assert reservation["reservation"]["rate_bps"] == int(str(names["highest_bps"])) // 2


def test_every_operation_is_named() -> None:
    table = TEXT.partition("## A transfer tool")[0]
    for path, operations in openapi_document()["paths"].items():
        for method in operations:
            last = path.rpartition("/")[2]
            shown = path if path in ("/healthz", "/readyz", "/metrics") else f"{method.upper()} {path}"
            assert shown in table or f"{method.upper()} …/{last}" in table, f"{method.upper()} {path}"


def test_every_status_is_named() -> None:
    statuses_named = {
        int(one) for row in re.findall(r"^\| ([0-9, ]+) \|", TEXT, re.MULTILINE) for one in row.split(", ")
    }
    assert statuses_named == {status for statuses in ERRORS.values() for status in statuses} | {405, 408, 421}
