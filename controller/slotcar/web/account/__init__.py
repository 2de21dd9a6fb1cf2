"""Who one is here, until when, in which zone, and from where else."""

from __future__ import annotations

from zoneinfo import available_timezones

from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.units import UnitError
from slotcar.book.delegating import delegation_to
from slotcar.desk.sharing import Shares
from slotcar.policy.asking import may, owner_of
from slotcar.policy.caller import Caller
from slotcar.policy.reading import rights
from slotcar.reservation.times import parse_zone
from slotcar.web.serving import WebPage
from slotcar.web.visit import Answer, Moved, Shown, Visit
from slotcar.web.words import proof_words, why_not_change, why_not_operator
from slotcar_client.wire import verbs


def show(visit: Visit) -> Answer:
    sessions = visit.sessions.store.of_token(visit.caller.name) if visit.session else ()
    limits = visit.desk.send(verbs.Limits(), visit.caller) if may(visit.caller, verbs.Limits.operation) else None
    delegated = [
        (entry.handle, "/".join(entry.reservation.key), one)
        for entry in visit.desk.ledger.delegated(visit.now, to=visit.caller.name)
        if (one := delegation_to(visit.caller, entry, visit.now)) is not None
    ]
    model = {
        "delegated": delegated,
        "proof": proof_words(visit.caller),
        "communities": Shares(visit.desk).communities(visit.caller, visit.now),
        "sessions": sessions, "session": visit.session, "zones": sorted(available_timezones()), "limits": limits,
        "rights": rights_of(visit.caller), "sequence": visit.desk.ledger.last_event(),
    }  # fmt: skip
    return Shown("account/page.html", model)


def rights_of(caller: Caller) -> list[tuple[str, str]]:
    """Each verb in words, and why the caller may not do it; empty where it may. Reservations are its own owner's."""
    owner = owner_of(caller)
    rows = []
    for name, verb in verbs.VERBS.items():
        is_owners = rights()[name] in ("see", "change")
        why = why_not_change(caller, name, owner) if is_owners else why_not_operator(caller, "do this", name)
        rows.append((verb.summary, why))
    return rows


def set_zone(visit: Visit) -> Answer:
    """
    Raises:
        InvalidInput: no such zone.
    """
    zone = visit.form_value("zone")
    try:
        parse_zone(zone)
    except UnitError as error:
        raise InvalidInput([Problem("request", 0, "zone", error.message, error.value, error.hint)]) from error
    if visit.session is None:
        return Moved("/account", cookie=visit.sessions.open_without_token(visit.now, zone))
    visit.sessions.store.set_zone(visit.session.id_sha256, zone)
    return Moved("/account")


def end_others(visit: Visit) -> Answer:
    """All sessions of the token, this one too: a stolen one ends with them."""
    visit.sessions.store.end_all(visit.caller.name)
    return Moved("/sign-in", cookie="")


PAGES = (
    WebPage("/account", show),
    WebPage("/account/zone", set_zone, "POST"),
    WebPage("/account/end-sessions", end_others, "POST"),
)
