"""A policy may name any verb of the API, or the right that it stands under, and is heard."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from slotcar.auth.tokens import create_token
from slotcar.base.settings import Settings
from slotcar.book.rules.roles import Role
from slotcar.network.model import Network
from slotcar.policy.reading import rights
from slotcar.store import open_ledger
from tests.integration.api.conftest import GARNET, Running, created
from tests.integration.api.test_access import ROWS, World, arguments_of, file, group, operations
from tests.integration.conftest import copied
from tests.support.controllers import NO_TLS
from tests.support.patience import PATIENCE_S

OPERATIONS = {(method, path): name for name, method, path in operations()}
#: One policy for each verb: an operator of the name `no-VERB` may do everything but that.
POLICIES = "".join(
    f'@id("no-{verb}") forbid (principal == Person::"no-{verb}", action == Action::"{verb}", resource);\n'
    for verb in sorted({*rights(), "plan"})
)


@pytest.fixture(scope="module")
def forbidden(
    server_url: str, migrated: str, network: Network, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """One API, with an operator for each verb that may not do it."""
    folder, running, moment = tmp_path_factory.mktemp("verbs"), Running(), datetime.now(UTC)
    inventory = folder / "garnet"
    shutil.copytree(GARNET, inventory)
    (inventory / "policies").mkdir()
    (inventory / "policies" / "verbs.cedar").write_text(POLICIES)
    secrets = {
        name: create_token(folder / "tokens.json", name, Role.OPERATOR, "hep", moment)
        for name in ("operator", *(f"no-{verb}" for verb in {*rights(), "plan"}))
    }
    with copied(server_url, migrated) as url, open_ledger(url, folder) as ledger:
        anyone = running.start(ledger, network, Settings(state_dir=folder, inventory=inventory))
        clients = {
            name: httpx.Client(
                base_url=anyone.base_url, headers={"Authorization": f"Bearer {one}"}, timeout=PATIENCE_S, verify=NO_TLS
            )
            for name, one in secrets.items()
        }
        operator = clients["operator"]
        handles = {"own": created(operator, "mine", rate="1 Mbit/s")["handle"]}
        groups = {"own": operator.post("/v1/groups", json=group("hep")).json()["handle"]}
        yield World(clients, handles, groups, {"own": operator.post("/v1/plans", json=file("hep")).json()})
        for client in clients.values():
            client.close()
        running.stop()


WALKED = [row[:2] for row in ROWS if row[2] != "other's" and (row[0], row[1]) in OPERATIONS]


@pytest.mark.parametrize(("method", "path"), WALKED, ids=[" ".join(one) for one in WALKED])
def test_a_policy_that_forbids_a_verb_alone_is_heard(forbidden: World, method: str, path: str) -> None:
    verb = OPERATIONS[method, path]
    handles = forbidden.groups if path.startswith("/v1/groups") else forbidden.handles
    place = path.replace("{handle}", handles["own"]).replace("{device}", "anl-7507-1")
    place += "?device=anl-7507-1&interface=ATM1/0/0" if path == "/v1/usage/link" else ""
    given: dict[str, Any] = {} if method in ("GET", "DELETE") else arguments_of(forbidden, path, "own")
    answer = forbidden.clients[f"no-{verb}"].request(method, place, headers={"If-Match": '"999"'}, **given)
    if verb == "policy_why":  # who may not is not told whether there is such a reservation
        assert answer.status_code == 404
        return
    assert answer.status_code == 403, answer.text[:300]
    assert answer.json()["detail"].endswith(f"the policy no-{verb} forbids it")


def test_every_verb_was_walked() -> None:
    assert {*rights(), "plan"} - {OPERATIONS[method, path] for method, path in WALKED} == OVER_NO_HTTP


#: What the page and the controller's own machine do alone.
OVER_NO_HTTP = {"approvals", "device_events", "preview_rollback", "rollback"}
