"""Who is known and who is not: ends of one name, and crowds of connections that say nothing."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from slotcar_transfer import handshakes
from slotcar_transfer.errors import Broken, WrongPeer
from slotcar_transfer.handshakes import MOST, MOST_EACH, Handshakes
from slotcar_transfer.identity import Identity
from slotcar_transfer.serving import Server
from tests.integration.transfer.test_moving import Ends
from tests.integration.transfer.test_moving import ends as ends  # the fixture
from tests.support.patience import wait_for

#: More than the server once had places for.
CROWD = 322


@contextmanager
def idle(server: Server, count: int, address: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """Connections from an address that send nothing."""
    with ExitStack() as stack:
        crowd = []
        for _ in range(count):
            one = stack.enter_context(socket.socket())
            one.bind((address, 0))
            one.connect(("127.0.0.1", server.port))
            one.setblocking(False)
            crowd.append(one)
        yield crowd


def is_open(one: socket.socket) -> bool:
    with suppress(BlockingIOError):
        return one.recv(1) != b""
    return True


def is_answered(ends: Ends, name: str = "here") -> bool:
    return "free_port" in ends.caller("there", of=name).ask(verb="about")


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"], ids=["its own address", "another address"])
def test_a_crowd_that_says_nothing_keeps_no_known_end_waiting(ends: Ends, address: str) -> None:
    """Whoever is known is answered while all of the crowd waits; its time does not run out first."""
    server = ends.serve("there")
    with idle(server, CROWD, address) as crowd:
        assert is_answered(ends)
        # The known end's own one counts with those of its address.
        wait_for(lambda: sum(map(is_open, crowd)) <= MOST_EACH, "the oldest to be ended")
        assert len(server._handshakes) <= MOST_EACH
        assert is_answered(ends)
        assert all(map(is_open, crowd[-(MOST_EACH - 2) :])), "the newest stay"


def test_a_crowd_of_one_address_ends_no_handshake_of_another(ends: Ends) -> None:
    server = ends.serve("there")
    with idle(server, 1, "127.0.0.3") as (early,), idle(server, CROWD, "127.0.0.2") as crowd:
        wait_for(lambda: sum(map(is_open, crowd)) == MOST_EACH, "the oldest of the crowd to be ended")
        assert is_open(early)


def test_crowds_of_many_addresses_end_their_own_first(ends: Ends) -> None:
    server = ends.serve("there")
    with ExitStack() as stack:
        (early,) = stack.enter_context(idle(server, 1, "127.0.0.3"))
        crowds = [one for n in range(8) for one in stack.enter_context(idle(server, MOST_EACH, f"127.0.1.{n}"))]
        wait_for(lambda: sum(map(is_open, crowds)) == MOST - 1, "the oldest to be ended")
        assert is_open(early)
        assert is_answered(ends)


def test_a_server_without_a_descriptor_left_goes_on(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    server = ends.serve("there")
    refused: list[int] = []
    dup = os.dup

    def no_descriptor(descriptor: int) -> int:
        if not refused:
            refused.append(descriptor)
            raise OSError(errno.EMFILE, "Too many open files")
        return dup(descriptor)

    monkeypatch.setattr(handshakes.os, "dup", no_descriptor)
    with idle(server, 1) as (first,):
        wait_for(lambda: not is_open(first), "the first to be ended")
    assert is_answered(ends)


def test_a_handshake_that_is_over_leaves_nothing() -> None:
    waiting = Handshakes()
    near, far = socket.socketpair()
    with near, far:
        number = waiting.begin(near, "192.0.2.7")
        assert len(waiting) == 1
        waiting.over(number)
        waiting.over(number)
        waiting.end_oldest()
        assert len(waiting) == 0
        far.send(b"x")
        assert near.recv(1) == b"x", "it is not ended by it"


def test_ends_whose_certificates_have_one_name_are_all_known(ends: Ends, tmp_path: Path) -> None:
    """OpenSSL would look for each by its name, and find the first."""
    for name in ("here", "third"):
        home = ends.world.home(name)
        for file in ("key.pem", "cert.pem"):
            (home / file).unlink()
        ends.world.identity(name).make("dtn")
        ends.world.identity("there").trust(name, (home / "cert.pem").read_text(), "127.0.0.1")
    ends.serve("there")
    assert all(is_answered(ends, name) for name in ("here", "third"))
    stranger = Identity(tmp_path / "stranger")
    stranger.make("dtn")
    peer = stranger.trust("there", ends.world.identity("there").certificate.read_text(), "127.0.0.1")
    with pytest.raises(WrongPeer, match="does not know this end"):
        ends.caller("there").__class__(stranger, ends.caller("there").peer).ask(verb="about")
    assert peer.fingerprint == ends.caller("there").peer.fingerprint


def test_what_a_known_end_has_signed_is_nobody_who_is_known(ends: Ends, caplog: pytest.LogCaptureFixture) -> None:
    """Of a certificate that could sign others only the very one is known, to whoever serves and to whoever calls."""
    key = ec.generate_private_key(ec.SECP256R1())
    authority = certificate(key, key, "authority", "authority", can_sign=True)
    for name, other in (("here", "there"), ("there", "here")):
        own = ec.generate_private_key(ec.SECP256R1())
        home = ends.world.home(name)
        (home / "cert.pem").write_bytes(certificate(own, key, name, "authority"))
        (home / "key.pem").write_bytes(private_bytes(own))
        ends.world.identity(other).trust(name, authority.decode(), "127.0.0.1", ends.world.ports[name])
    ends.serve("there")
    with pytest.raises(WrongPeer, match="nothing was sent"):
        is_answered(ends)
    server_knows = ends.world.identity("here")
    server_knows.trust(
        "there", ends.world.identity("there").certificate.read_text(), "127.0.0.1", ends.world.ports["there"]
    )
    with pytest.raises(Broken, match="it was closed"):
        is_answered(ends)
    wait_for(
        lambda: "somebody who is not known here tried to connect, with SHA256" in caplog.text, "the server's word"
    )


def certificate(
    key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey, name: str, issuer: str, can_sign: bool = False
) -> bytes:
    now = datetime.now(UTC)
    subject, by = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, one)]) for one in (name, issuer))
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(by).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=1))
    builder = builder.not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.BasicConstraints(ca=can_sign, path_length=None), critical=True)
    return builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def private_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
