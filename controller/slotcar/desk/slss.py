"""SLSs with neighbours that have a controller of their own (ADR 93)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.timebase import Window, iso
from slotcar.book.agreed_slss import AgreedSls, SlsForm
from slotcar.book.errors import SlsRefused
from slotcar.book.rules.request_limits import require_reason
from slotcar.book.slss import promises
from slotcar.desk.agreeing import LONGEST_WAIT_S
from slotcar.desk.connections import agreement_of, asker_of
from slotcar.desk.desk import Desk, answers
from slotcar.desk.reading import parsed
from slotcar.domains.agreement import Agreement
from slotcar.domains.sls_requests import SlsRequest, change_of, changed_terms, opening
from slotcar.domains.tickets import LARGEST_CLOCK_DIFFERENCE
from slotcar.network.model import Sls
from slotcar.policy.asking import require
from slotcar.policy.caller import Caller
from slotcar.reservation import parse_time
from slotcar_client.wire import documents, verbs

MOST_PROMISES = 100
INSTEAD = "its SLSs stand there, and are changed there"


@answers(verbs.OpenSls)
def open_sls(verb: verbs.OpenSls, desk: Desk, caller: Caller, now: datetime) -> documents.NeighbourSls:
    require(caller, verb.operation, "open an SLS with a neighbour")
    agreement = agreement_of(desk, INSTEAD)
    request = opening(_written(verb.sls, now), agreement.network, agreement.name)
    _require_to_come(request.form, now)
    return _agreed(request, agreement, desk, caller, now)


@answers(verbs.ChangeSls)
def change_sls(verb: verbs.ChangeSls, desk: Desk, caller: Caller, now: datetime) -> documents.NeighbourSls:
    require(caller, verb.operation, "change an SLS with a neighbour")
    agreement = agreement_of(desk, INSTEAD)
    before, in_force = _in_force(verb.sls, desk)
    form = SlsForm(changed_terms(in_force.sls, _written(verb.change, now), agreement.network), in_force.ended_at)
    _require_to_come(form, now)
    return _agreed(change_of(before, form, agreement.network, agreement.name), agreement, desk, caller, now)


@answers(verbs.EndSls)
def end_sls(verb: verbs.EndSls, desk: Desk, caller: Caller, now: datetime) -> documents.NeighbourSls:
    require(caller, verb.operation, "end an SLS with a neighbour")
    require_reason(verb.reason)
    agreement = agreement_of(desk, INSTEAD)
    at = parsed("at", lambda text: parse_time(text, now), verb.at) or now
    if at < now - LARGEST_CLOCK_DIFFERENCE:  # whoever means now says it by another clock
        raise InvalidInput([Problem("request", 0, "at", "is in the past", iso(at), "leave it out, to end it now")])
    before, in_force = _in_force(verb.sls, desk)
    form = SlsForm(in_force.sls, max(at, now))
    request = change_of(before, form, agreement.network, agreement.name, verb.reason)
    return _agreed(request, agreement, desk, caller, now)


@answers(verbs.Slss)
def slss(verb: verbs.Slss, desk: Desk, caller: Caller, now: datetime) -> documents.NeighbourSlss:
    require(caller, verb.operation, "list SLSs with neighbours")
    if desk.agreement is None:
        return {"items": []}
    written = [sls for _, sls in sorted(desk.network.sls.items()) if not sls.agreed]
    kept = desk.ledger.slss()
    promised = _promises(desk, [*(sls.name for sls in written), *(one.name for one in kept)], now)
    items = [_document(sls, None, promised[sls.name], now) for sls in written]
    return {"items": [*items, *(_of_agreed(one, promised, now) for one in kept)]}


def _promises(desk: Desk, names: Sequence[str], now: datetime) -> Mapping[str, Sequence[tuple[Window, int]]]:
    """What is promised of SLSs from now on: layer-3 rates in bit/s, and when."""
    return desk.ledger.ask(lambda tables: {name: promises(tables, name, now) for name in names}, now)[0]


def _written(body: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """The body, with the times of its window as this controller reads times."""
    validity = body.get("validity")
    if not isinstance(validity, Mapping):
        return dict(body)
    times = {
        key: parsed("validity", lambda text: parse_time(text, now), value) if isinstance(value, str) else value
        for key, value in validity.items()
    }
    return {**body, "validity": times}


def _require_to_come(form: SlsForm, now: datetime) -> None:
    if form.end <= now:
        hint = "end it instead, where it is not to hold any longer"
        raise InvalidInput([Problem("request", 0, "validity", "ends in the past", iso(form.end), hint)])


def _in_force(name: str, desk: Desk) -> tuple[AgreedSls, SlsForm]:
    """
    Raises:
        SlsRefused: no SLS of the name was agreed on, or none is in force.
    """
    known = [one for one in desk.ledger.slss() if one.name == name and one.in_force is not None]
    if not known:
        written = name in desk.network.sls
        how = (
            "it stands in the inventory: change it there"
            if written
            else "`slotcar domains sls list` shows those there are"
        )
        raise SlsRefused(f"no SLS {name} was agreed on with a neighbour: {how}")
    in_force = known[-1].in_force
    assert in_force is not None
    return known[-1], in_force


def _agreed(
    request: SlsRequest, agreement: Agreement, desk: Desk, caller: Caller, now: datetime
) -> documents.NeighbourSls:
    attempt = agreement.agree_on(request, asker_of(caller, agreement.name))
    agreement.in_force(attempt.id, attempt.version, LONGEST_WAIT_S)
    kept = next(one for one in desk.ledger.slss() if one.id == (request.of or attempt.id))
    return _of_agreed(kept, _promises(desk, [kept.name], now), now)


def _of_agreed(
    one: AgreedSls, promised: Mapping[str, Sequence[tuple[Window, int]]], now: datetime
) -> documents.NeighbourSls:
    form = one.in_force or one.proposed
    assert form is not None
    window = form.window
    own = [each for each in promised[one.name] if window is not None and window.overlaps(each[0])]
    return _document(form.sls, one, own, now)


def _document(
    sls: Sls, one: AgreedSls | None, promised: Sequence[tuple[Window, int]], now: datetime
) -> documents.NeighbourSls:
    validity = sls.validity
    in_force = one.in_force if one else None
    start, end = (validity.start, in_force.end if in_force else validity.end) if validity else (None, None)
    return {
        "name": sls.name,
        "upstream": sls.upstream,
        "downstream": sls.downstream,
        "service": sls.service.value,
        "ingress": str(sls.ingress),
        "egress": list(map(str, sls.egresses if len(sls.egresses) == len(sls.scope) or not sls.scope else sls.scope)),
        "rate_bps": sls.rate_bps,
        "burst_bytes": sls.burst_bytes,
        "excess": sls.excess,
        "pscheduler": [one.task for one in sls.pscheduler],
        "start": iso(start) if start else None,
        "end": iso(end) if end else None,
        "agreed": one is not None,
        "state": _state(one, start, end, now),
        "connection": one.rests_on or one.attempt if one else "",
        "proposed": _proposed(one),
        "promised": [
            {"start": iso(window.start), "end": iso(window.end), "rate_bps": rate_bps}
            for window, rate_bps in promised[:MOST_PROMISES]
        ],
        "why": one.closed if one else "",
    }


def _proposed(one: AgreedSls | None) -> documents.SlsForm | None:
    if one is None or one.proposed is None or one.proposed.sls.validity is None:
        return None
    start, end = one.proposed.sls.validity.start, one.proposed.end
    return {"rate_bps": one.proposed.sls.rate_bps, "start": iso(start), "end": iso(end)}


def _state(one: AgreedSls | None, start: datetime | None, end: datetime | None, now: datetime) -> str:
    if one is not None and one.in_force is None:
        return "is being opened"
    if end is not None and end <= now:
        return "over"
    if one is not None and one.proposed is not None:
        return "is being changed"
    return "to come" if start is not None and start > now else "in force"
