"""Tickets and messages: what is taken, and each reason for which one is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Protocol, Service
from slotcar.domains.errors import KeyUnusable, NotAuthentic, TicketRefused
from slotcar.domains.keys import DomainCertificate, DomainKey, load_certificate, load_key, make_key
from slotcar.domains.tickets import (
    TicketTerms,
    checked_message,
    checked_ticket,
    digest_of,
    issuer_of,
    signed_message,
    signed_ticket,
    ticket_of,
)
from slotcar.reservation.model import Endpoint, Reservation

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def reservation(
    rate_bps: int = 10_000_000, start: datetime = NOW + HOUR, end: datetime = NOW + 2 * HOUR
) -> Reservation:
    return Reservation.constant(
        name="tonight", owner="hep", source=Endpoint(host="10.10.11.2"), destination=Endpoint(host="10.10.21.2"),
        protocol=Protocol.UDP, service=Service.IP_PREMIUM, windows=[Window(start, end)], rate_bps=rate_bps,
    )  # fmt: skip


TERMS = TicketTerms("anl", "anl-1", 1, digest_of({"name": "tonight"}), reservation(), "hep")


@pytest.fixture(scope="module")
def esnet(tmp_path_factory: pytest.TempPathFactory) -> DomainKey:
    return key_of("esnet", tmp_path_factory.mktemp("esnet"))


@pytest.fixture(scope="module")
def certificate(esnet: DomainKey) -> DomainCertificate:
    return load_certificate("esnet", esnet.certificate_file)


def key_of(domain: str, folder: Path) -> DomainKey:
    make_key(domain, folder / "key.pem", folder / "certificate.pem", NOW)
    return load_key(domain, folder / "key.pem", folder / "certificate.pem")


def test_a_ticket_that_covers_what_it_is_shown_for_is_taken(esnet: DomainKey, certificate: DomainCertificate) -> None:
    claims = checked_ticket(signed_ticket(esnet, TERMS, NOW), "esnet", certificate, TERMS, NOW)
    assert (claims["iss"], claims["aud"], claims["sub"], claims["who"]) == ("esnet", "anl", "anl-1", "hep")


def test_one_for_more_is_taken(esnet: DomainKey, certificate: DomainCertificate) -> None:
    more = replace(TERMS, reservation=reservation(20_000_000, NOW, NOW + 3 * HOUR))
    checked_ticket(signed_ticket(esnet, more, NOW), "esnet", certificate, TERMS, NOW)


WRONG: dict[str, tuple[Callable[[TicketTerms], TicketTerms], str]] = {
    "foreign": (
        lambda one: replace(one, receiver="cern"),
        "esnet's ticket is for another domain: cern instead of anl",
    ),
    "re-used": (lambda one: replace(one, connection="anl-2"), "another connection: anl-2 instead of anl-1"),
    "old version": (lambda one: replace(one, version=2), "another version: 2 instead of 1"),
    "another owner": (lambda one: replace(one, who="astro"), "another owner: astro instead of hep"),
    "another request": (lambda one: replace(one, digest="0" * 64), "esnet's ticket is for another request"),
    "another window": (
        lambda one: replace(one, reservation=reservation(start=NOW + 2 * HOUR, end=NOW + 3 * HOUR)),
        "esnet's ticket is for another window than 2027-03-01T13:00:00Z to 2027-03-01T14:00:00Z",
    ),
    "lower rate": (
        lambda one: replace(one, reservation=reservation(9_000_000)),
        "esnet's ticket is for 9 Mbit/s forward, which is less than 10 Mbit/s",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_ticket_for_something_else_is_refused(name: str, esnet: DomainKey, certificate: DomainCertificate) -> None:
    other, words = WRONG[name]
    with pytest.raises(TicketRefused) as refused:
        checked_ticket(signed_ticket(esnet, other(TERMS), NOW), "esnet", certificate, TERMS, NOW)
    assert words in str(refused.value)


def test_a_ticket_with_an_endless_rate_is_refused(esnet: DomainKey, certificate: DomainCertificate) -> None:
    slots = [
        {"start": "2027-03-01T13:00:00Z", "end": "2027-03-01T14:00:00Z", "forward_bps": float("inf"), "reverse_bps": 0}
    ]
    names = {"aud": "anl", "sub": "anl-1", "version": 1, "digest": TERMS.digest, "service": "ip-premium", "who": "hep"}
    ticket = ticket_of(esnet, {**names, "slots": slots}, NOW + 2 * HOUR, NOW)
    with pytest.raises(TicketRefused, match="has no slots that can be read"):
        checked_ticket(ticket, "esnet", certificate, TERMS, NOW)


def test_an_expired_ticket_is_refused(esnet: DomainKey, certificate: DomainCertificate) -> None:
    ticket = signed_ticket(esnet, TERMS, NOW)
    with pytest.raises(TicketRefused, match=r"esnet's ticket ended at 2027-03-01T14:00:01Z"):
        checked_ticket(ticket, "esnet", certificate, TERMS, NOW + 3 * HOUR)


def test_a_forged_ticket_is_refused(tmp_path: Path, certificate: DomainCertificate) -> None:
    forged = signed_ticket(key_of("esnet", tmp_path), TERMS, NOW)
    for text in (forged, "", "x.y.z", signed_message(key_of("e", tmp_path / "e"), "anl", {}, NOW)):
        with pytest.raises(TicketRefused, match="esnet's ticket is not signed with esnet's key"):
            checked_ticket(text, "esnet", certificate, TERMS, NOW)


def test_a_message_is_no_ticket(esnet: DomainKey, certificate: DomainCertificate) -> None:
    with pytest.raises(TicketRefused, match="esnet's ticket is no ticket"):
        checked_ticket(signed_message(esnet, "anl", {}, NOW), "esnet", certificate, TERMS, NOW)


def test_a_message_comes_with_the_difference_of_the_clocks(esnet: DomainKey, certificate: DomainCertificate) -> None:
    text = signed_message(esnet, "anl", {"kind": "query"}, NOW + timedelta(seconds=7))
    assert checked_message(text, "esnet", certificate, "anl", NOW) == ({"kind": "query"}, timedelta(seconds=7))
    assert issuer_of(text) == "esnet"
    assert issuer_of("rubbish") == ""


@pytest.mark.parametrize(("seconds", "words"), [(40, "40 s ahead of"), (-3600, "1 h behind")])
def test_a_clock_that_differs_too_much_is_refused(
    seconds: int, words: str, esnet: DomainKey, certificate: DomainCertificate
) -> None:
    text = signed_message(esnet, "anl", {}, NOW + timedelta(seconds=seconds))
    with pytest.raises(NotAuthentic, match=rf"the clock of esnet is {words} that of anl"):
        checked_message(text, "esnet", certificate, "anl", NOW)


def test_a_message_for_another_domain_is_refused(esnet: DomainKey, certificate: DomainCertificate) -> None:
    with pytest.raises(NotAuthentic, match="a message of esnet for cern came to anl"):
        checked_message(signed_message(esnet, "cern", {}, NOW), "esnet", certificate, "anl", NOW)


def test_a_key_is_made_once_and_for_its_owner_alone(esnet: DomainKey) -> None:
    assert esnet.key_file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(KeyUnusable, match="is there already"):
        make_key("esnet", esnet.key_file, esnet.certificate_file, NOW)


@pytest.mark.parametrize("content", ["", "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"])
def test_files_that_are_no_keys_are_named(content: str, esnet: DomainKey, tmp_path: Path) -> None:
    (tmp_path / "file.pem").write_text(content)
    with pytest.raises(KeyUnusable, match=r"file\.pem is no certificate in PEM, and should be that of esnet"):
        load_certificate("esnet", tmp_path / "file.pem")
    with pytest.raises(KeyUnusable, match=r"file\.pem is no private key in PEM"):
        load_key("esnet", tmp_path / "file.pem", esnet.certificate_file)
    with pytest.raises(KeyUnusable, match="cannot be read: No such file"):
        load_certificate("esnet", tmp_path / "none.pem")


def test_a_key_and_a_certificate_belong_together(esnet: DomainKey, tmp_path: Path) -> None:
    other = key_of("esnet", tmp_path)
    with pytest.raises(KeyUnusable, match="is not the certificate of"):
        load_key("esnet", other.key_file, esnet.certificate_file)
