"""An inventory's policies over the API: a right of one verb, and a reservation that none permits."""

from __future__ import annotations

import shutil
from pathlib import Path

import httpx
import pytest

from slotcar.auth.tokens import create_token
from slotcar.base.timebase import SYSTEM
from slotcar.policy.caller import Role
from tests.integration.api.conftest import GARNET, Serve, at, body, problem
from tests.support.patience import PATIENCE_S

DUTY = """
@id("duty-approves")
permit (principal in Group::"duty", action in [Action::"approve", Action::"see"], resource);

@id("holds-are-kept")
@refusal("let the hold run out")
forbid (principal, action == Action::"cancel", resource);

@id("no-bulk")
@refusal("{who} may not have more than 20 Mbit/s")
forbid (principal, action == Action::"reserve", resource) when { context.rate_bps > 20000000 };
"""


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    folder = tmp_path / "garnet"
    shutil.copytree(GARNET, folder)
    (folder / "policies").mkdir()
    (folder / "policies" / "duty.cedar").write_text(DUTY)
    (folder / "policies" / "site.yml").write_text("groups: {duty: [ann]}\n")
    return folder


def test_who_is_on_duty_approves_and_does_nothing_else(serve: Serve, inventory: Path, tmp_path: Path) -> None:
    client = serve(inventory, approval_rate_bps="5 Mbit/s", open=False)

    def as_(name: str, owner: str) -> httpx.Client:
        token = create_token(tmp_path / "tokens.json", name, Role.REQUESTER, owner, SYSTEM.now())
        return httpx.Client(base_url=client.base_url, timeout=PATIENCE_S, headers={"Authorization": f"Bearer {token}"})

    with as_("cms", "hep") as cms, as_("ann", "noc") as ann:
        reserved = cms.post("/v1/reservations", json=body("big", owner="hep", rate="9 Mbit/s"))
        assert (reserved.status_code, reserved.json()["state"]) == (201, "awaiting-approval"), reserved.text
        version = {"If-Match": f'"{reserved.json()["version"]}"'}
        refusal = problem(cms.post(at(reserved.json(), "approve"), headers=version), 403, "not-allowed")
        assert 'the nearest is duty-approves (duty.cedar), but not: principal in Group::"duty"' in refusal["detail"]
        problem(ann.post(at(reserved.json(), "reject"), headers=version, json={"reason": ""}), 403, "not-allowed")
        problem(ann.post(at(reserved.json(), "cancel"), headers=version, json={"reason": ""}), 403, "not-allowed")
        approved = ann.post(at(reserved.json(), "approve"), headers=version)
        assert approved.json()["state"] == "committed", approved.text

        refusal = problem(
            cms.post("/v1/reservations", json=body("huge", owner="hep", rate="21 Mbit/s")), 403, "not-permitted"
        )
        named = "cms may not have more than 20 Mbit/s (the policy no-bulk)"
        assert refusal["detail"] == f"{named}; they allow up to 20 Mbit/s in its place"
        file = {"version": 1, "reservations": [body("huge", owner="hep", rate="21 Mbit/s")]}
        problem(cms.post("/v1/plans", json=file), 403, "not-permitted")
        problem(cms.post(at(reserved.json(), "cancel"), json={"reason": ""}), 403, "not-allowed")
