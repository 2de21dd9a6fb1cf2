"""As `test_contract`, for a requester that is known by each kind of proof: no fault, and no right that its role has not."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import schemathesis
from cryptography import x509
from cryptography.x509.oid import NameOID
from hypothesis import HealthCheck, settings

from slotcar.api.streaming import Streams
from slotcar.auth.tokens import create_token
from slotcar.base.settings import Settings
from slotcar.book.rules.roles import Role
from slotcar.network.model import Network
from slotcar.policy.scopes import lets_pass
from slotcar.store import open_ledger
from tests.integration.api.conftest import GARNET, Running
from tests.integration.api.test_access import ROWS
from tests.integration.api.test_contract import CHECKS, NO_HTTP, schema
from tests.integration.conftest import copied
from tests.support.authority import Authority
from tests.support.examples import NEW, examples
from tests.support.issuers import entry_of, inventory_with, issuing
from tests.support.patience import PATIENCE_S

URI = "spiffe://cern.example/transfers"
KINDS = ("token", "scoped", "issuer", "certificate")
#: Of the scoped token.
SCOPES = ("reservations:read", "see", "extend")
SOME = examples(few=2, many=25, suppress_health_check=list(HealthCheck))
_REQUESTER = 4
#: What a requester may not do, whoever it is about.
FORBIDDEN = {
    (method, path)
    for method, path, *_ in ROWS
    if all(row[_REQUESTER].startswith("403") for row in ROWS if row[:2] == (method, path))
}


@dataclass(frozen=True)
class Known:
    """Where to ask; by kind of proof, what goes with each request, and with each connection."""

    address: str
    headers: Mapping[str, Mapping[str, str]]
    connection: Mapping[str, Mapping[str, Any]]


@pytest.fixture(scope="module")
def known(
    server_url: str, migrated: str, network: Network, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Known]:
    """An API with TLS and an issuer of its own."""
    folder, running = tmp_path_factory.mktemp("kinds"), Running()
    authority = Authority(folder, "site")
    own = authority.issue({NameOID.COMMON_NAME: "here"}, x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    program = authority.issue({NameOID.COMMON_NAME: "any"}, x509.UniformResourceIdentifier(URI))
    with issuing() as issuer, copied(server_url, migrated) as url, open_ledger(url, folder) as ledger:
        inventory = _inventory(folder, issuer.url)
        tls = {"tls_certificate": own, "tls_key": own, "tls_client_ca": authority.file}
        settings = Settings(state_dir=folder, inventory=inventory, **tls)
        port = running.start(ledger, network, settings, streams=Streams(each=0)).base_url.port
        secret = create_token(folder / "tokens.json", "cms", Role.REQUESTER, "hep", datetime.now(UTC))
        narrow = create_token(
            folder / "tokens.json", "cms-reads", Role.REQUESTER, "hep", datetime.now(UTC), scopes=SCOPES
        )
        day_s = int(datetime.now(UTC).timestamp()) + 86_400
        bearer = {"token": secret, "scoped": narrow, "issuer": issuer.token(exp=day_s, **{"wlcg.groups": ["/cms"]})}
        headers = {kind: {"Authorization": f"Bearer {one}"} for kind, one in bearer.items()} | {"certificate": {}}
        connection = {kind: {"verify": str(authority.file)} for kind in KINDS}
        connection["certificate"] |= {"cert": str(program)}
        yield Known(f"https://127.0.0.1:{port}", headers, connection)
        running.stop()


def _inventory(folder: Path, issuer: str) -> Path:
    inventory = inventory_with(folder, GARNET, entry_of(issuer))
    program = {"uri": URI, "name": "transfers", "role": "requester", "owner": "hep"}
    (inventory / "policies" / "certificates.yml").write_text(json.dumps({"certificates": [program]}))
    return inventory


def test_the_table_forbids_a_requester_something() -> None:
    assert ("POST", "/v1/reservations/{handle}/approve") in FORBIDDEN
    assert ("POST", "/v1/reservations") not in FORBIDDEN


def kinds_of(operation: str) -> tuple[str, ...]:
    """Of an operation all, one after the other; in `make test` one: each kind has a fourth of the operations."""
    if settings.get_current_profile_name() == NEW:
        return KINDS
    return (KINDS[crc32(operation.encode()) % len(KINDS)],)


@schema.parametrize()
@SOME
def test_no_fault_and_no_right_too_many(case: schemathesis.Case, known: Known) -> None:
    for kind in kinds_of(f"{case.method} {case.path}"):
        check(case, known, kind)


def check(case: schemathesis.Case, known: Known, kind: str) -> None:
    case.headers = {key: value for key, value in (case.headers or {}).items() if key.lower() != "authorization"}
    case.headers |= known.headers[kind]
    options = {"base_url": known.address, "headers": dict(known.headers[kind]), **known.connection[kind]}
    response = case.call(timeout=PATIENCE_S, **options)
    if (response.status_code, response.content) == NO_HTTP:
        return
    case.validate_response(response, CHECKS, headers=options["headers"], transport_kwargs=options)
    if (
        kind == "scoped"
        and not lets_pass(SCOPES, case.operation.definition.raw["operationId"])
        and case.path[:4] == "/v1/"
    ):
        assert response.status_code >= 400, (case.method, case.path, kind)
    if (case.method, case.path) in FORBIDDEN:
        assert response.status_code >= 400, (case.method, case.path, kind)
    if (case.method, case.path) == ("GET", "/v1/whoami") and response.status_code == 200:
        assert response.json()["role"] == "requester"
