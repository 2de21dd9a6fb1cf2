"""What was shared out to one's owner; a community's manager shares out what it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.units import UnitError, parse_any_bps
from slotcar.desk.sharing import Shares
from slotcar.policy.sharing import ALL_SERVICES, hours_of, hours_text
from slotcar.web.serving import WebPage
from slotcar.web.visit import Answer, Moved, Shown, Visit

Value = TypeVar("Value")


def show(visit: Visit) -> Answer:
    shares = Shares(visit.desk)
    model = {
        "shares": shares.listed(visit.caller, visit.now),
        "communities": shares.communities(visit.caller, visit.now),
        "overview": visit.may_overview,
        "services": ALL_SERVICES,
        "hours_text": hours_text,
        "sequence": visit.desk.ledger.last_event(),
    }
    return Shown("shares/page.html", model)


def give(visit: Visit) -> Answer:
    """
    Raises:
        InvalidInput: the rate, the end or the hours are none.
    """
    hours = visit.form_value("hours", "")
    rate_bps = _read("rate", parse_any_bps, "0 bit/s" if visit.form_value("rate") == "0" else visit.form_value("rate"))
    at = _read("hours", hours_of, hours) if hours else ()
    end = visit.form_value("until")
    until = visit.time("until", end) if end else None
    name = visit.form_value("name")
    members, services = visit.form.get("members", ()), visit.form.get("services", ())
    Shares(visit.desk).give(
        str(visit.path["community"]), name, members, rate_bps, until, at, services, visit.caller, visit.now
    )
    return Moved("/shares")


def _read(key: str, parse: Callable[[str], Value], text: str) -> Value:
    """
    Raises:
        InvalidInput: it is none.
    """
    try:
        return parse(text)
    except UnitError as error:
        raise InvalidInput([Problem("request", 0, key, error.message, error.value, error.hint)]) from error


def withdraw(visit: Visit) -> Answer:
    Shares(visit.desk).withdraw(str(visit.path["community"]), visit.form_value("name"), visit.caller, visit.now)
    return Moved("/shares")


PAGES = (
    WebPage("/shares", show, verb="share_list"),
    WebPage("/shares/{community}/give", give, "POST"),
    WebPage("/shares/{community}/withdraw", withdraw, "POST"),
)
