"""A token of the user's goes to the HTTP server that the user named, and to no other one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slotcar_transfer import http_source
from slotcar_transfer.errors import Broken, NotAllowed
from tests.integration.transfer.test_http import Site
from tests.support.https_server import Requested, certificate, https_server
from tests.support.transfers import content

TOKEN = "a-secret"
BODY = b"0123456789" * 1000


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Requested, Requested]]:
    """The one that is named, and another one."""
    pem = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    monkeypatch.setenv("SLOTCAR_TRANSFER_BEARER_TOKEN", TOKEN)
    with https_server(pem) as first, https_server(pem) as second:
        first.body = second.body = BODY
        yield first, second


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_another_origin_never_gets_the_token(site: Site, servers: tuple[Requested, Requested]) -> None:
    first, second = servers
    first.to = f"{second.address}/file"
    site.fetch(f"{first.address}/file")
    assert content(site.into)["file"] == BODY
    assert set(first.authorizations) == {f"Bearer {TOKEN}"}
    assert set(second.authorizations) == {None}
    assert len(second.authorizations) >= 2, "the first look, and the blocks"


def test_another_name_of_the_same_host_is_another_origin(site: Site, servers: tuple[Requested, Requested]) -> None:
    first, second = servers
    first.to = second.address.replace("127.0.0.1", "localhost") + "/file"
    second.to = f"{first.address.replace('https', 'http')}/file"
    with pytest.raises(Broken, match="does not answer"):
        site.fetch(f"{first.address}/file")
    assert set(second.authorizations) == {None}


def test_the_same_origin_keeps_it(site: Site, servers: tuple[Requested, Requested]) -> None:
    first, second = servers
    first.to = f"{second.address}/file"
    site.fetch(f"{second.address}/file")
    assert set(second.authorizations) == {f"Bearer {TOKEN}"}


def test_it_never_goes_in_plain(site: Site, servers: tuple[Requested, Requested]) -> None:
    with pytest.raises(NotAllowed, match="over https only"):
        site.fetch(servers[0].address.replace("https", "http") + "/file")
    resource, _ = http_source.probe(f"{servers[0].address}/file")
    assert TOKEN not in repr(resource)
