"""What was shared out to one's owner; a community's manager shares out what it has."""

from __future__ import annotations

from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.units import UnitError, parse_any_bps
from slotcar.broker.shares import Shares
from slotcar.web.serving import WebPage
from slotcar.web.visit import Answer, Moved, Shown, Visit


def show(visit: Visit) -> Answer:
    shares = Shares(visit.broker)
    model = {
        "shares": shares.listed(visit.caller, visit.now),
        "communities": shares.communities(visit.caller, visit.now),
        "sequence": visit.broker.ledger.last_event(),
    }
    return Shown("shares/page.html", model)


def give(visit: Visit) -> Answer:
    """
    Raises:
        InvalidInput: the rate or the end is none.
    """
    try:
        rate_bps = parse_any_bps(visit.form_value("rate"))
    except UnitError as error:
        raise InvalidInput([Problem("request", 0, "rate", error.message, error.value, error.hint)]) from error
    end = visit.form_value("until")
    until = visit.time("until", end) if end else None
    name, members = visit.form_value("name"), visit.form.get("members", ())
    Shares(visit.broker).give(
        str(visit.path["community"]), name, members, rate_bps, until, (), (), visit.caller, visit.now
    )
    return Moved("/shares")


def withdraw(visit: Visit) -> Answer:
    Shares(visit.broker).withdraw(str(visit.path["community"]), visit.form_value("name"), visit.caller, visit.now)
    return Moved("/shares")


PAGES = (
    WebPage("/shares", show),
    WebPage("/shares/{community}/give", give, "POST"),
    WebPage("/shares/{community}/withdraw", withdraw, "POST"),
)
