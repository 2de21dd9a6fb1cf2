"""The question whether a reservation may take its place, and the largest rate at which policies allow it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from typing import Any

from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Service
from slotcar.policy.asking import asked_by, parents_of_owner, principal_of
from slotcar.policy.caller import Caller
from slotcar.policy.policies import Policies
from slotcar.policy.questions import MOST, Question, Uid, entity, integer, named
from slotcar.policy.site import Site

ACTION = "reserve"
#: The label that holds what a community's server has signed (`slotcar.policy.attesting`).
ATTESTATION = "attestation"
#: The label that says of which community it is. This and the attestation go along to other domains, unchanged.
COMMUNITY = "community"
#: The label by which an entry of the ledger is known as a segment of a connection.
CONNECTION = "slotcar.connection"
#: The label of a segment of a connection, with the domain that asked for it.
ASKED_BY = "slotcar.asked-by"
#: What begins sooner is an immediate reservation.
IMMEDIATE = timedelta(minutes=1)
#: What may be asked for by a domain with which nothing else was agreed.
UNLIMITED: Mapping[str, Any] = {"at_most_bps": MOST, "services": [named("Service", one.value) for one in Service]}
#: What of a question's context is known when its slots are.
_SLOTS_IN_CONTEXT = frozenset({"rate_bps", "duration_s", "volume_bits", "in_advance", "notice_s", "hours", "weekdays"})
#: What of a question is known when its slots are: of the caller's domain, which of its SLSs bind it, too.
OF_SLOTS = _SLOTS_IN_CONTEXT | {"sla_bps"}
_HOUR = timedelta(hours=1)
_WHOLE_WEEK = 7 * 24


@dataclass(frozen=True, slots=True)
class Attested:
    """Up to which rate a community lets a reservation be asked for."""

    community: str
    rate_bps: int


@dataclass(frozen=True, slots=True)
class Total:
    """What live reservations of some owners have together; see `Total` of the schema."""

    reservations: int = 0
    peak_bps: int = 0
    volume_bits: int = 0


@dataclass(frozen=True, slots=True)
class WantedReservation:
    """A reservation as policies see it.

    Attributes:
        needs: the services, SLSs, links, domains, hosts and kind of resource that it is in, by type and name.
        rate_bps: the highest payload rate of one direction.
        domain: what is known of the caller's; see `Domain` of the schema.
        totals: of its owner, and of the community and the domain of that, each with it.
    """

    owner: str
    name: str
    needs: Sequence[Uid]
    rate_bps: int
    volume_bits: int
    windows: Sequence[Window]
    labels: Mapping[str, str]
    is_change: bool
    is_hold: bool
    domain: Mapping[str, Any] = field(default_factory=dict)
    attested: Attested | None = None
    totals: Mapping[str, Total] | None = None

    def at_rate(self, rate_bps: int) -> WantedReservation:
        """The same at another rate, also in the totals."""
        less_bps = self.rate_bps - rate_bps
        volume_bits = self.volume_bits * rate_bps // self.rate_bps if self.rate_bps else 0
        less_bits = self.volume_bits - volume_bits
        totals = {
            of: Total(one.reservations, max(one.peak_bps - less_bps, 0), max(one.volume_bits - less_bits, 0))
            for of, one in (self.totals or {}).items()
        }
        return replace(self, rate_bps=rate_bps, volume_bits=volume_bits, totals=totals)


def question_of(caller: Caller, wanted: WantedReservation, site: Site, now: datetime) -> Question:
    """Whether the caller may have it."""
    who, entities = principal_of(caller)
    resource: Uid = ("Reservation", f"{wanted.owner}/{wanted.name}")
    owner = named("Owner", wanted.owner)
    entities.append(entity(resource, wanted.needs, owner=owner, asked_by=asked_by(caller)))
    community, domain = site.community_of(wanted.owner), site.domain_of(wanted.owner)
    if not any(one["uid"] == {"type": "Owner", "id": wanted.owner} for one in entities):
        entities.append(entity(("Owner", wanted.owner), parents_of_owner(community, domain)))
    if caller.member_of.domain is not None:
        entities.append(entity(("Domain", caller.member_of.domain), **{**UNLIMITED, **wanted.domain}))
    return Question(who, ACTION, resource, entities, _context(wanted, site.zone, now))


def largest_bps(policies: Policies, caller: Caller, wanted: WantedReservation, site: Site, now: datetime) -> int:
    """The largest rate at which the policies allow what they refuse, found by asking them; 0 where they allow none.

    Between what is allowed and what is refused it is halved: policies that allow a rate and refuse a smaller one make it
    one of the largest.
    """
    allowed, refused = 0, wanted.rate_bps
    question = question_of(caller, wanted, site, now)
    while refused - allowed > 1:
        middle = (allowed + refused) // 2
        slower = wanted.at_rate(middle)
        rates = {"rate_bps": integer(middle), "volume_bits": integer(slower.volume_bits)}
        if policies.permits(question.with_context(**rates, totals=totals_in_context(slower))):
            allowed = middle
        else:
            refused = middle
    return allowed


def _context(wanted: WantedReservation, zone: tzinfo, now: datetime) -> Mapping[str, Any]:
    attested = wanted.attested
    given = {
        **slots_in_context(wanted, zone, now),
        "is_change": wanted.is_change,
        "is_hold": wanted.is_hold,
        "labels": [f"{key}={value}" for key, value in sorted(wanted.labels.items())],
        "totals": totals_in_context(wanted),
    }
    if attested is not None:
        given["attested"] = {
            "community": named("Community", attested.community),
            "rate_bps": integer(attested.rate_bps),
        }
    return given


def slots_in_context(wanted: WantedReservation, zone: tzinfo, now: datetime) -> Mapping[str, Any]:
    """What slots say, as policies read it."""
    notice = wanted.windows[0].start - now
    hours, weekdays = local_hours(wanted.windows, zone)
    return {
        "rate_bps": integer(wanted.rate_bps),
        "duration_s": int(sum((one.duration for one in wanted.windows), timedelta()).total_seconds()),
        "volume_bits": integer(wanted.volume_bits),
        "in_advance": notice > IMMEDIATE,
        "notice_s": max(int(notice.total_seconds()), 0),
        "hours": hours,
        "weekdays": weekdays,
    }


def totals_in_context(wanted: WantedReservation) -> Mapping[str, Mapping[str, int]]:
    """As policies read them."""
    return {of: _total(one) for of, one in ({"owner": Total()} | dict(wanted.totals or {})).items()}


def local_hours(windows: Iterable[Window], zone: tzinfo) -> tuple[list[int], list[int]]:
    """The hours of the day and the weekdays, from 1 for Monday, that the windows touch in a zone."""
    touched: set[tuple[int, int]] = set()
    for window in windows:
        moment, end = window.start, window.end
        # Steps in UTC: an hour that a change of clocks leaves out, or repeats, is none of its own.
        while moment < end and len(touched) < _WHOLE_WEEK:
            local = moment.astimezone(zone)
            touched.add((local.isoweekday(), local.hour))
            moment += _HOUR - timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
    return sorted({hour for _, hour in touched}), sorted({day for day, _ in touched})


def _total(total: Total) -> Mapping[str, int]:
    return {
        "reservations": total.reservations,
        "peak_bps": integer(total.peak_bps),
        "volume_bits": integer(total.volume_bits),
    }
