"""`slotcar serve` with TLS of its own: programs are known by their certificates, and people come without."""

from __future__ import annotations

import ipaddress
import json
import ssl
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from slotcar.api.tls import tls_of
from slotcar.auth.tokens import create_token
from slotcar.base.problems import InvalidInput
from slotcar.base.settings import Settings
from slotcar.book.rules.roles import Role
from slotcar_client import Slotcar
from tests.integration.api.conftest import GARNET, Serve, at, created
from tests.support.authority import Authority
from tests.support.issuers import inventory_with
from tests.support.patience import PATIENCE_S

URI = "spiffe://cern.example/transfers"
KNOWN = [
    {"uri": URI, "name": "transfers", "role": "requester", "owner": "hep"},
    {"subject": "CN=eye,O=Example", "name": "eye", "role": "auditor"},
]
NOW = datetime.now(UTC)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "site")


@pytest.fixture
def address(authority: Authority, serve: Serve, tmp_path: Path) -> str:
    """Of an API that speaks TLS and knows two certificates."""
    inventory = inventory_with(tmp_path, GARNET)
    (inventory / "policies" / "certificates.yml").write_text(json.dumps({"certificates": KNOWN}))
    (inventory / "policies" / "issuers.yml").unlink()
    own = authority.issue(
        {NameOID.COMMON_NAME: "slotcar"}, x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    )  # fmt: skip
    client = serve(inventory, open=False, tls_certificate=own, tls_key=own, tls_client_ca=authority.file)
    return f"https://{client.base_url.netloc.decode()}"


def trusting(authority: Authority, own: Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority.file))
    if own is not None:
        context.load_cert_chain(own)
    return context


def client_of(address: str, authority: Authority, own: Path | None = None) -> httpx.Client:
    return httpx.Client(base_url=address, verify=trusting(authority, own), timeout=PATIENCE_S)


def test_a_program_is_known_by_its_certificate(authority: Authority, address: str) -> None:
    own = authority.issue({NameOID.COMMON_NAME: "any"}, x509.UniformResourceIdentifier(URI))
    with client_of(address, authority, own) as client:
        who = client.get("/v1/whoami").json()
        assert (who["name"], who["role"], who["owner"]) == ("transfers@certificate", "requester", "hep")
        assert who["proof"] == f"certificate {URI}"
        entry = created(client)
        assert client.post(at(entry, "cancel"), headers={"If-Match": "*"}).status_code == 200
        assert client.get("/v1/network").status_code == 403
    by_subject = authority.issue({NameOID.ORGANIZATION_NAME: "Example", NameOID.COMMON_NAME: "eye"})
    with Slotcar(address, verify=trusting(authority, by_subject)) as slotcar:
        assert slotcar.whoami()["proof"] == "certificate CN=eye,O=Example"


def test_who_is_unknown_over_or_signed_by_another_is_nobody(
    authority: Authority, address: str, tmp_path: Path
) -> None:
    with client_of(address, authority) as client:
        assert client.get("/v1/whoami").status_code == 401
        token = create_token(tmp_path / "tokens.json", "cms", Role.REQUESTER, "hep", NOW)
        who = client.get("/v1/whoami", headers={"Authorization": f"Bearer {token}"}).json()
        assert who["proof"] == "token cms", "people and programs without a certificate come as ever"
    with client_of(address, authority, authority.issue({NameOID.COMMON_NAME: "stranger"})) as client:
        assert client.get("/v1/whoami").status_code == 401
    uri = x509.UniformResourceIdentifier(URI)
    other = Authority(tmp_path, "other").issue({NameOID.COMMON_NAME: "any"}, uri)
    for own in (other, authority.issue({NameOID.COMMON_NAME: "any"}, uri, over=True)):
        with client_of(address, authority, own) as client, pytest.raises(httpx.TransportError):
            client.get("/v1/whoami")


def test_a_certificate_counts_on_its_connection_alone(authority: Authority, address: str) -> None:
    own = authority.issue({NameOID.COMMON_NAME: "any"}, x509.UniformResourceIdentifier(URI))
    with client_of(address, authority, own) as known, client_of(address, authority) as nobody:
        for _ in range(3):
            assert known.get("/v1/whoami").status_code == 200
            assert nobody.get("/v1/whoami").status_code == 401


def test_less_than_tls_1_3_is_refused(authority: Authority, address: str) -> None:
    context = trusting(authority)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with (
        httpx.Client(base_url=address, verify=context, timeout=PATIENCE_S) as client,
        pytest.raises(httpx.ConnectError),
    ):
        client.get("/healthz")


def test_settings_that_cannot_be_used_are_told(authority: Authority, tmp_path: Path) -> None:
    own, empty = authority.issue({NameOID.COMMON_NAME: "x"}), tmp_path / "empty"
    empty.write_text("")
    assert tls_of(Settings()) is None
    for given, variable in (
        ({"tls_certificate": own}, "SLOTCAR_TLS_CERTIFICATE: TLS needs"),
        ({"tls_client_ca": own}, "SLOTCAR_TLS_CERTIFICATE: TLS needs"),
        ({"tls_certificate": empty, "tls_key": own}, "SLOTCAR_TLS_CERTIFICATE: cannot be used"),
        (
            {"tls_certificate": own, "tls_key": own, "tls_client_ca": empty},
            "SLOTCAR_TLS_CLIENT_CA: has no certificates",
        ),
    ):
        with pytest.raises(InvalidInput, match=variable):
            tls_of(Settings(**given))  # type: ignore[arg-type]
