"""Accounts of the controller's host, at the socket of a running controller: who they are is what the kernel says."""

from __future__ import annotations

import json
import os
import pwd
import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.integration.api.conftest import GARNET, START
from tests.integration.conftest import copied
from tests.support.controllers import Controller
from tests.support.issuers import inventory_with
from tests.support.patience import PATIENCE_S

OWN = pwd.getpwuid(os.geteuid()).pw_name
#: Of another account of this machine, and a number of none: what only root can become.
OTHER, NAMELESS = "daemon", 54_321
IS_ROOT = os.geteuid() == 0
#: By which proxies and other programs say who somebody is.
SPOOFED = {
    "X-Forwarded-User": "root", "Remote-User": "root", "X-Remote-User": "root", "X-Forwarded-For": "127.0.0.1",
    "Forwarded": "for=127.0.0.1", "X-Account": "0",
}  # fmt: skip


@pytest.fixture(scope="module")
def controller(server_url: str, migrated: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    """It is open to its machine by TCP, so that what a request by the socket is answered is the account's alone."""
    folder = tmp_path_factory.mktemp("here")
    inventory = inventory_with(folder, GARNET)
    (inventory / "policies" / "issuers.yml").unlink()
    accounts = [{"account": OTHER, "role": "requester", "owner": "hep"}]
    (inventory / "policies" / "accounts.yml").write_text(json.dumps({"accounts": accounts}))
    with (
        copied(server_url, migrated) as url,
        Controller(
            folder, inventory, SLOTCAR_DATABASE_URL=url, SLOTCAR_RECONCILE="false", SLOTCAR_OPEN="false"
        ) as one,
    ):
        yield one


def asked_as(
    controller: Controller, uid: int, path: str, headers: Mapping[str, str] | None = None, gid: int | None = None
) -> tuple[int, Any]:
    """What a process of that account and group is answered at the socket; (0, words) where it cannot connect."""
    folder = Path(controller.environment["SLOTCAR_STATE_DIR"])
    reading_end, writing_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.chdir(folder)  # before: the folders above are closed to others
            if uid != os.geteuid():
                os.setgroups([])
                os.setresgid(*[os.getegid() if gid is None else gid] * 3)
                os.setresuid(uid, uid, uid)
            os.write(writing_end, _answer_to("slotcar.sock", path, headers or {}))
        except OSError as error:
            os.write(writing_end, json.dumps([0, error.strerror]).encode())
        finally:
            os._exit(0)
    os.close(writing_end)
    with os.fdopen(reading_end, "rb") as answer:
        status, body = json.loads(answer.read())
    os.waitpid(child, 0)
    return status, body


def _answer_to(name: str, path: str, headers: Mapping[str, str]) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(name)
        given = {"Host": "localhost", "Connection": "close", **headers}
        lines = [f"GET {path} HTTP/1.1", *(f"{key}: {value}" for key, value in given.items()), "", ""]
        connection.sendall("\r\n".join(lines).encode())
        whole = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = whole.partition(b"\r\n\r\n")
    return json.dumps([int(head.split()[1]), json.loads(body)]).encode()


def test_the_controllers_own_account_is_an_operator_whatever_a_request_says(controller: Controller) -> None:
    for headers in ({}, SPOOFED, {"X-Forwarded-User": "nobody", "Remote-User": "nobody"}):
        status, who = asked_as(controller, os.geteuid(), "/v1/whoami", headers)
        assert (status, who["name"], who["role"]) == (200, f"{OWN}@cli", "operator")
        assert who["proof"] == f"account {OWN} (uid {os.geteuid()}) of the controller's host, by its socket"
    status, problem = asked_as(controller, os.geteuid(), "/v1/whoami", {"Authorization": "Bearer nobody's"})
    assert (status, problem["title"]) == (401, "Who asks is not known"), "a token that is shown is what counts"


def test_other_accounts_are_what_the_site_says_and_else_nobody(controller: Controller) -> None:
    if not IS_ROOT:  # another account is one that only root becomes: what there is without is the case above
        return
    Path(controller.environment["SLOTCAR_STATE_DIR"]).chmod(0o711)
    uid = pwd.getpwnam(OTHER).pw_uid
    status, who = asked_as(controller, uid, "/v1/whoami", SPOOFED)
    assert (status, who["name"], who["role"], who["owner"]) == (200, f"{OTHER}@cli", "requester", "hep")
    assert who["proof"] == f"account {OTHER} (uid {uid}) of the controller's host, by its socket"
    assert asked_as(controller, uid, "/v1/network", SPOOFED)[0] == 403
    status, problem = asked_as(controller, NAMELESS, "/v1/whoami", SPOOFED)
    assert status == 401
    assert (
        f"the account uid{NAMELESS} (uid {NAMELESS}) of the controller's host may do nothing here" in problem["detail"]
    )
    status, problem = asked_as(controller, 65_534, "/v1/whoami", SPOOFED)
    assert (status, "user namespace" in problem["detail"]) == (401, True)
    assert asked_as(controller, uid, "/v1/whoami", gid=uid) == (0, "Permission denied"), "it is not in the group"


def test_a_command_asks_the_running_controller_and_the_event_names_the_account(controller: Controller) -> None:
    words = (
        "create", "--name", "by-socket", "--owner", "hep", "--source", "anl-premium", "--destination", "lbnl-premium:5001",
        "--protocol", "udp", "--service", "ip-premium", "--rate", "1 Mbit/s", "--start", START.isoformat(),
        "--duration", "PT1H",
    )  # fmt: skip
    environment = controller.environment | {"USER": "eve", "LOGNAME": "eve", "SUDO_USER": "eve"}
    environment.pop("SLOTCAR_INVENTORY")  # where a controller answers, a command needs nothing else
    environment.pop("SLOTCAR_LISTEN_PORT")
    environment["SLOTCAR_LOCAL"] = "socket"
    controller.environment = environment
    controller.slotcar(*words)
    (event,) = json.loads(controller.slotcar("events", "--kind", "reservation.committed", "-f", "json"))["items"]
    proof = f"account {OWN} (uid {os.geteuid()}) of the controller's host"
    assert (event["details"]["actor"], event["details"]["proof"]) == (f"{OWN}@cli", f"{proof}, by its socket")
    assert f"by {proof}, by its socket" in controller.slotcar("whoami")
    environment["SLOTCAR_LOCAL"] = "ledger"
    assert re.search(f"by {re.escape(proof)}; SUDO_USER says eve, which nobody checked", controller.slotcar("whoami"))
