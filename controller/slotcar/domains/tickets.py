"""Tickets: what a domain has signed that it carries (GARA §4.1's certificate of acceptance), as a JWS with Ed25519."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from joserfc import jws, jwt
from joserfc.errors import JoseError

from slotcar.base.timebase import iso
from slotcar.base.units import format_duration, format_rate
from slotcar.domains.errors import NotAuthentic, TicketRefused
from slotcar.domains.keys import DomainCertificate, DomainKey
from slotcar.reservation.model import Reservation, Slot

ALGORITHM = "Ed25519"
#: Clocks of domains may differ by so much; what differs more is refused.
LARGEST_CLOCK_DIFFERENCE = timedelta(seconds=30)
#: A message is said again, with another time, rather than believed for longer.
MESSAGE_LASTS = timedelta(seconds=60)
LONGEST_NUMBER = 200
_WAYS = ("forward", "reverse")


@dataclass(frozen=True, slots=True)
class TicketTerms:
    """What a ticket is for.

    Attributes:
        receiver: the domain that it is given to. connection, version: which attempt.
        digest: of the request (`digest_of`). sls: by which agreements the traffic crosses the border.
        who: the owner, as the first domain says it.
    """

    receiver: str
    connection: str
    version: int
    digest: str
    reservation: Reservation
    who: str
    sls: tuple[str, ...] = ()


def digest_of(request: Mapping[str, Any]) -> str:
    """The SHA-256 of a request in its one form: sorted keys, no blanks."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def signed_ticket(key: DomainKey, terms: TicketTerms, now: datetime) -> str:
    """The ticket as its domain gives it; it holds until the reservation's end."""
    slots = [
        {
            "start": iso(slot.start),
            "end": iso(slot.end),
            "forward_bps": slot.forward_bps,
            "reverse_bps": slot.reverse_bps,
        }
        for slot in terms.reservation.slots
    ]
    covers = {
        "aud": terms.receiver,
        "sub": terms.connection,
        "version": terms.version,
        "digest": terms.digest,
        "service": terms.reservation.service.value,
        "slots": slots,
        "sls": list(terms.sls),
        "who": terms.who,
    }
    return ticket_of(key, covers, terms.reservation.end, now)


def ticket_of(key: DomainKey, covers: Mapping[str, Any], ends: datetime, now: datetime) -> str:
    """A ticket for what it covers, with a number of its own; it holds until the end."""
    claims = {
        "iss": key.domain,
        **covers,
        "iat": int(now.timestamp()),
        "exp": int(ends.timestamp()) + 1,
        "jti": secrets.token_urlsafe(12),
    }
    return jwt.encode({"alg": ALGORITHM, "typ": "slotcar-ticket"}, claims, key.signing, algorithms=[ALGORITHM])


def checked_ticket(
    text: str, issuer: str, certificate: DomainCertificate, terms: TicketTerms, now: datetime
) -> dict[str, Any]:
    """What a ticket of `issuer` says, once it covers the terms.

    Raises:
        TicketRefused: it is forged, expired, for another domain, connection, request, window or service, or for less.
    """
    names = (
        ("aud", terms.receiver, "is for another domain"),
        ("sub", terms.connection, "is for another connection"),
        ("version", terms.version, "is for another version"),
        ("service", terms.reservation.service.value, "is for another service"),
        ("who", terms.who, "is for another owner"),
    )
    claims = claims_for(text, issuer, certificate, names, now)
    _require_slots(claims, issuer, terms.reservation)
    if claims.get("digest") != terms.digest:
        raise TicketRefused(f"{issuer}'s ticket is for another request")
    return claims


def claims_for(
    text: str, issuer: str, certificate: DomainCertificate, names: Sequence[tuple[str, object, str]], now: datetime
) -> dict[str, Any]:
    """What a ticket of `issuer` says, once it is one, holds now and covers `names`: claims, what each has to be, and
    what is said where it is not.

    Raises:
        TicketRefused.
    """
    claims = _claims(text, issuer, certificate, "slotcar-ticket", TicketRefused)
    _require_names(claims, issuer, [("iss", issuer, "is of another domain"), *names])
    expires = _time_of(claims, "exp", issuer)
    if expires <= now:
        raise TicketRefused(f"{issuer}'s ticket ended at {iso(expires)}")
    if _time_of(claims, "iat", issuer) > now + LARGEST_CLOCK_DIFFERENCE:
        raise TicketRefused(f"{issuer}'s ticket is of the future: the clocks of this domain and {issuer} differ")
    return claims


def claims_of(ticket: str) -> dict[str, Any] | None:
    """What a ticket says that was checked when it came; None where there is none, as of a neighbour by NSI."""
    try:
        claims: dict[str, Any] = json.loads(jws.extract_compact(ticket.encode()).payload)
    except (JoseError, ValueError, RecursionError):
        return None
    return claims


def _require_names(claims: Mapping[str, Any], issuer: str, names: Sequence[tuple[str, object, str]]) -> None:
    for name, wanted, what in names:
        if claims.get(name) != wanted:
            raise TicketRefused(f"{issuer}'s ticket {what}: {_shown(claims.get(name))} instead of {wanted}")
    number = claims.get("jti")
    if not isinstance(number, str) or not number.isprintable() or not 1 <= len(number) <= LONGEST_NUMBER:
        raise TicketRefused(f"{issuer}'s ticket has no number of its own")


def _require_slots(claims: Mapping[str, Any], issuer: str, reservation: Reservation) -> None:
    """Each slot of the request lies in one of the ticket, at no lower rate."""
    try:
        slots = [
            Slot(
                datetime.fromisoformat(slot["start"]),
                datetime.fromisoformat(slot["end"]),
                int(slot["forward_bps"]),
                int(slot["reverse_bps"]),
            )
            for slot in claims["slots"]
        ]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise TicketRefused(f"{issuer}'s ticket has no slots that can be read") from error
    for slot in reservation.slots:
        around = [each for each in slots if each.start <= slot.start and slot.end <= each.end]
        if not around:
            raise TicketRefused(f"{issuer}'s ticket is for another window than {iso(slot.start)} to {iso(slot.end)}")
        for number, way in enumerate(_WAYS):
            highest_bps = max(each.rates[number] for each in around)
            if highest_bps < slot.rates[number]:
                raise TicketRefused(
                    f"{issuer}'s ticket is for {format_rate(highest_bps)} {way},"
                    f" which is less than {format_rate(slot.rates[number])}"
                )


# -- messages ------------------------------------------------------------------------------------------------------


def signed_message(key: DomainKey, receiver: str, body: Mapping[str, Any], now: datetime) -> str:
    """A message between domains, which a proxy on the way can neither make nor change."""
    claims = {
        "iss": key.domain,
        "aud": receiver,
        "iat": now.timestamp(),
        "exp": (now + MESSAGE_LASTS).timestamp(),
        "jti": secrets.token_urlsafe(12),
        "body": dict(body),
    }
    return jwt.encode({"alg": ALGORITHM, "typ": "slotcar-message"}, claims, key.signing, algorithms=[ALGORITHM])


def checked_message(
    text: str, sender: str, certificate: DomainCertificate, receiver: str, now: datetime
) -> tuple[dict[str, Any], timedelta]:
    """The body, and by how much the sender's clock is before this one's, its way here included.

    Raises:
        NotAuthentic: it is forged, of another domain, for another one, or said too long ago; or the clocks differ too much.
    """
    claims = _claims(text, sender, certificate, "slotcar-message", NotAuthentic)
    if claims.get("iss") != sender or claims.get("aud") != receiver:
        raise NotAuthentic(
            f"a message of {_shown(claims.get('iss'))} for {_shown(claims.get('aud'))} came to {receiver} as {sender}'s"
        )
    difference = _time_of(claims, "iat", sender) - now
    if abs(difference) > LARGEST_CLOCK_DIFFERENCE:
        side = "ahead of" if difference > timedelta() else "behind"
        raise NotAuthentic(
            f"the clock of {sender} is {format_duration(_whole(abs(difference)))} {side} that of {receiver}, or its message"
            f" took so long: at most {format_duration(LARGEST_CLOCK_DIFFERENCE)} is taken"
        )
    body = claims.get("body")
    if not isinstance(body, dict):
        raise NotAuthentic(f"a message of {sender} has no body")
    return body, difference


def issuer_of(text: str) -> str:
    """Whom a message names as its sender, unchecked; empty where it names none."""
    from joserfc import jws

    try:
        claims = json.loads(jws.extract_compact(text.encode()).payload)
        return claims["iss"] if isinstance(claims["iss"], str) else ""
    except (JoseError, ValueError, KeyError, TypeError, RecursionError):
        return ""


def _claims(
    text: str, issuer: str, certificate: DomainCertificate, kind: str, error: type[NotAuthentic]
) -> dict[str, Any]:
    what = "ticket" if kind == "slotcar-ticket" else "message"
    try:
        token = jwt.decode(text, certificate.checking, algorithms=[ALGORITHM])
    except (JoseError, ValueError, RecursionError) as problem:
        raise error(f"{issuer}'s {what} is not signed with {issuer}'s key") from problem
    if token.header.get("typ") != kind:
        raise error(f"{issuer}'s {what} is no {what}")
    return dict(token.claims)


def _time_of(claims: Mapping[str, Any], name: str, issuer: str) -> datetime:
    try:
        return datetime.fromtimestamp(float(claims[name]), UTC)
    except (KeyError, TypeError, ValueError, OverflowError, OSError) as error:
        raise TicketRefused(f"what {issuer} signed does not say when it was, or until when it holds") from error


def _whole(duration: timedelta) -> timedelta:
    return timedelta(seconds=round(duration.total_seconds()))


def _shown(value: object) -> str:
    text = str(value)
    return text if text.isprintable() and len(text) <= 60 else "something else"
