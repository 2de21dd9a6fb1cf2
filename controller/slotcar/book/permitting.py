"""The site's policies about what a transaction holds. Those that read totals are asked under the ledger's lock: totals are
exact, and nobody can race past them. The others are asked before it is taken, and their answer counts there only where
nothing that it rests on is otherwise by then."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Protocol

from slotcar.admission.placing import profile_of
from slotcar.admission.rates import excess
from slotcar.base.timebase import Window
from slotcar.book.model import AdmissionRequest, Entry, Requester, State, Terms
from slotcar.book.rights import with_proposed_change
from slotcar.book.rules.errors import NotPermitted
from slotcar.book.rules.reserving import BY_NEIGHBOUR, Whose, whose_of
from slotcar.book.transaction import Transaction
from slotcar.policy.asking import kind_of
from slotcar.policy.caller import Caller
from slotcar.policy.policies import TOTALS, FirstHalf
from slotcar.policy.recalling import kept_of, recalled
from slotcar.policy.reserving import (
    ACTION,
    ASKED_BY,
    ATTESTATION,
    OF_SLOTS,
    Attested,
    Total,
    WantedReservation,
    largest_bps,
    question_of,
    slots_in_context,
    totals_in_context,
)
from slotcar.policy.site import Site
from slotcar.policy.verdict import Verdict
from slotcar.reservation.model import Reservation
from slotcar_client.wire.events import PolicyPermitted, PolicyRefused

TOTALS_ALONE = frozenset({TOTALS})
TOTALS_AND_SLOTS = TOTALS_ALONE | OF_SLOTS


class LiveBeside(Protocol):
    """What is live beside an entry."""

    def totals(self, entry: Entry, wanted: Collection[Whose], site: Site, now: datetime) -> Mapping[Whose, Total]:
        """With the entry, which may be there in another form: the peaks are those from now on while it is open."""


@dataclass(frozen=True, slots=True)
class LiveInTransaction:
    """What a transaction sees."""

    transaction: Transaction

    def totals(self, entry: Entry, wanted: Collection[Whose], _site: Site, now: datetime) -> Mapping[Whose, Total]:
        running = self.transaction.totals(now)
        return running.totals_with(entry.number, entry.counted, wanted, windows_from(entry, now), now)


def windows_from(entry: Entry, now: datetime) -> tuple[Window, ...]:
    """Its windows, as far as they are to come."""
    left = (Window(max(one.start, now), one.end) for one in entry.reservation.slots if one.end > now)
    return tuple(left)


@dataclass(frozen=True, slots=True)
class AskedFor:
    """What policies are asked about. `not_attested`: why what it brings of a community is not believed."""

    wanted: WantedReservation
    not_attested: str = ""

    @property
    def totals(self) -> Mapping[str, Any]:
        """For the log."""
        return {of: asdict(one) for of, one in (self.wanted.totals or {}).items()}


@dataclass(frozen=True, slots=True)
class DecidedAhead:
    """What policies say of a request on one of its ways before the lock is taken, but for totals; of a volume by a deadline
    but for what its slots say, too.

    Attributes:
        terms: with the policies that were asked.
    """

    terms: Terms
    request: AdmissionRequest
    about: AskedFor
    half: FirstHalf

    def is_about(self, terms: Terms, request: AdmissionRequest, entry: Entry) -> bool:
        """Whether all that policies are told of a request and its entry is as it was, but for what was not known."""
        was = self.request
        return (
            self.terms is terms
            and was.caller is request.caller
            and was.replaces == request.replaces
            and was.hold_until == request.hold_until
            and (was.attestation, was.not_attested) == (request.attestation, request.not_attested)
            and was.paths == entry.paths
            and (was.reservation is entry.reservation or was.reservation == self._as_asked(entry.reservation))
        )

    def _as_asked(self, reservation: Reservation) -> Reservation:
        """Of a volume by a deadline: with the slots that it had before it was placed."""
        before = self.request.reservation
        return reservation if before.need is None else reservation.model_copy(update={"slots": before.slots})


class _Uncounted:
    """Totals that nobody counts yet."""

    def totals(self, _entry: Entry, wanted: Collection[Whose], _site: Site, _now: datetime) -> Mapping[Whose, Total]:
        return dict.fromkeys(wanted, Total())


def _beside(transaction: Transaction) -> LiveBeside:
    """What is live, which nobody needs to count where no policy reads it."""
    site = transaction.terms.policy.reserving.site
    return LiveInTransaction(transaction) if site.policies.asks_totals else _Uncounted()


def decide_ahead(terms: Terms, request: AdmissionRequest, now: datetime) -> tuple[DecidedAhead, ...]:
    """Asks what can be asked of a request before the lock, for each of its ways; nothing where nobody is asked. Of a volume
    by a deadline that is asked, too, which will be when it is to have other slots."""
    caller, site, need = request.caller, terms.policy.reserving.site, request.reservation.need
    if caller is None or site.policies.is_open(ACTION, kind_of(caller)):
        return ()
    unknown = TOTALS_ALONE if need is None else TOTALS_AND_SLOTS
    ahead = []
    for number in range(1 + len(request.alternatives)):
        way = request.on(number)
        entry = Entry("", 0, State.COMMITTED, 0, way.reservation, way.paths, way.demands, now, now)
        about = _about(terms, _Uncounted(), way, entry, caller, now)
        half = site.policies.first_half(question_of(caller, about.wanted, site, now), unknown)
        ahead.append(DecidedAhead(terms, way, about, half))
        if need is not None:
            ask_ahead_of_move(terms, replace(entry, requester=requester_of(request, now)))
    return tuple(ahead)


def requester_of(request: AdmissionRequest, now: datetime, together: str = "") -> Requester | None:
    """Who asks, where the reservation may be moved later. `together`: see `slotcar.policy.recalling`."""
    if request.caller is None or request.reservation.need is None:
        return None
    kept = kept_of(request.caller, request.reservation.owner, together)
    return Requester(str(request.actor), kept, now, request.attestation)


def check_permitted(
    transaction: Transaction, done: Iterable[tuple[AdmissionRequest, Entry, Sequence[DecidedAhead]]], now: datetime
) -> None:
    """`done`: each request with what it has got, and what was decided of it before the lock.

    Raises:
        NotPermitted: the site's policies do not let a request have what it has got.
    """
    site = transaction.terms.policy.reserving.site
    for request, entry, ahead in done:
        if request.caller is not None and not site.policies.is_open(ACTION, kind_of(request.caller)):
            _check(transaction, request, with_proposed_change(entry), request.caller, ahead, now)


@dataclass(frozen=True, slots=True)
class MoveQuestion:
    """What policies are asked about slots of a transfer that nobody asked for: as whom it was that asked for it, with the
    notice and the attestation of then.

    Attributes:
        wanted: with neither totals nor the slots that it would get.
        half: what they say without these.
    """

    caller: Caller
    wanted: WantedReservation
    at: datetime
    half: FirstHalf


def ask_ahead_of_move(terms: Terms, entry: Entry) -> MoveQuestion | None:
    """What policies that read neither totals nor slots say of it; they are asked once, for all its moves. None where nobody
    is asked."""
    site, reservation = terms.policy.reserving.site, entry.reservation
    requester = entry.requester or Requester(reservation.owner, None, entry.created_at)
    caller = recalled(requester.name, reservation.owner, requester.kept, site)
    if not reservation.slots or site.policies.is_open(ACTION, kind_of(caller)):
        return None
    wanted = asked_for(
        terms, _Uncounted(), entry, caller, requester.at, is_change=False, is_hold=False,
        attestation=requester.attestation,
    ).wanted  # fmt: skip
    half = site.policies.first_half_once(question_of(caller, wanted, site, requester.at), TOTALS_AND_SLOTS)
    return MoveQuestion(caller, wanted, requester.at, half)


def policies_against_move(transaction: Transaction, entry: Entry, old: Entry, now: datetime) -> str:
    """Which policies do not let a transfer have slots that nobody asked for, to make room or to be done in time, in words;
    empty where they do. They are asked about its slots to come. What takes no more at any instant than it has is not asked
    about.
    """
    terms = transaction.terms
    site, windows = terms.policy.reserving.site, windows_from(entry, now)
    is_more = any(step.rate_bps for step in excess(profile_of(entry.reservation), profile_of(old.reservation)))
    question = ask_ahead_of_move(terms, entry) if windows and is_more else None
    if question is None:
        return ""
    wanted = replace(question.wanted, windows=windows)
    if not question.half.is_certain:
        wanted = replace(wanted, totals=_totals(site, _beside(transaction), entry, question.caller, now))
    rest = {TOTALS: totals_in_context(wanted), **slots_in_context(wanted, site.zone, question.at)}
    verdict = site.policies.second_half(question.half, rest)
    if verdict.allowed:
        return ""
    names = ", ".join(rule.name for rule in verdict.by)
    return f"the policy {names}" if names else "no policy that permits it"


def asked_for(
    terms: Terms,
    beside: LiveBeside,
    entry: Entry,
    caller: Caller,
    now: datetime,
    *,
    is_change: bool,
    is_hold: bool,
    attestation: str = "",
    attested_at: datetime | None = None,
) -> AskedFor:
    """`entry`: in the form that is asked for. `attestation`: what its community's server has signed when it was asked, at
    `attested_at` if that was not now."""
    site = terms.policy.reserving.site
    attested, why_not = _attested(entry.reservation, caller, site, attested_at or now, attestation)
    reservation, amount = entry.reservation, entry.amount
    wanted = WantedReservation(
        owner=reservation.owner,
        name=reservation.name,
        needs=terms.policy.reserving.needs(reservation, entry.paths),
        rate_bps=amount.rate_bps,
        volume_bits=amount.volume_bits,
        windows=reservation.slots,
        labels={key: value for key, value in reservation.labels.items() if key != ATTESTATION},
        is_change=is_change,
        is_hold=is_hold,
        domain=_domain(terms, caller, reservation),
        attested=attested,
        totals=_totals(site, beside, entry, caller, now),
    )
    return AskedFor(wanted, why_not)


def refusal_of(question: AskedFor, verdict: Verdict, caller: Caller, site: Site, now: datetime) -> NotPermitted:
    """Why it is refused, in words; the largest rate that is allowed in its place is looked for when it is read."""
    wanted = question.wanted
    words = {"who": caller.name, "what": f"reserve {wanted.owner}/{wanted.name}", "role": caller.role.value}
    sentence = verdict.sentence({**words, "of": wanted.owner, "owner": caller.owner or caller.name})
    names = tuple(rule.name for rule in verdict.by)
    largest = None if verdict.errors else partial(largest_bps, site.policies, caller, wanted, site, now)
    return NotPermitted(sentence, names, largest, question.not_attested)


def _about(
    terms: Terms, beside: LiveBeside, request: AdmissionRequest, entry: Entry, caller: Caller, now: datetime
) -> AskedFor:
    is_change, is_hold = request.replaces is not None, request.hold_until is not None
    about = asked_for(
        terms, beside, entry, caller, now, is_change=is_change, is_hold=is_hold, attestation=request.attestation
    )
    return replace(about, not_attested=request.not_attested) if request.not_attested else about


def _decided(
    transaction: Transaction, request: AdmissionRequest, entry: Entry, caller: Caller, ahead: Sequence[DecidedAhead],
    now: datetime,
) -> tuple[AskedFor, Verdict]:  # fmt: skip
    terms = transaction.terms
    site = terms.policy.reserving.site
    beside = _beside(transaction)
    before = next((one for one in ahead if one.is_about(terms, request, entry)), None)
    if before is None:
        about = _about(terms, beside, request, entry, caller, now)
        return about, site.policies.decide(question_of(caller, about.wanted, site, now))
    wanted, half = before.about.wanted, before.half
    if not half.is_certain:
        wanted = replace(wanted, totals=_totals(site, beside, entry, caller, now))
    rest: dict[str, Any] = {TOTALS: totals_in_context(wanted)}
    if entry.reservation.need is not None:
        wanted = _with_slots(terms, wanted, entry, caller)
        rest |= slots_in_context(wanted, site.zone, now)
        if wanted.domain != before.about.wanted.domain:
            half = site.policies.of_entities(half, question_of(caller, wanted, site, now))
    return replace(before.about, wanted=wanted), site.policies.second_half(half, rest)


def _with_slots(terms: Terms, wanted: WantedReservation, entry: Entry, caller: Caller) -> WantedReservation:
    """With what the slots say that it has got."""
    amount, reservation = entry.amount, entry.reservation
    return replace(
        wanted, rate_bps=amount.rate_bps, volume_bits=amount.volume_bits, windows=reservation.slots,
        domain=_domain(terms, caller, reservation),
    )  # fmt: skip


def _check(
    transaction: Transaction, request: AdmissionRequest, entry: Entry, caller: Caller, ahead: Sequence[DecidedAhead],
    now: datetime,
) -> None:  # fmt: skip
    site = transaction.terms.policy.reserving.site
    is_change, is_hold = request.replaces is not None, request.hold_until is not None
    question, verdict = _decided(transaction, request, entry, caller, ahead, now)
    owner, name = entry.reservation.key
    whose: dict[str, Any] = {"actor": request.actor, "owner": owner, "name": name, "totals": question.totals}
    whose |= {"policies": tuple(rule.name for rule in verdict.by), "attestation": request.attestation}
    if verdict.allowed:
        says = PolicyPermitted(**whose)
        transaction.event(says.kind, now, entry.handle, None, **says.details)
        return
    error = refusal_of(question, verdict, caller, site, now)
    form: dict[str, Any] = {
        "reservation": entry.reservation,
        "message": error.sentence,
        "requester": kept_of(caller, owner),
    }
    raise error.to_be_kept(entry.handle, PolicyRefused(**whose, **form, is_change=is_change, is_hold=is_hold))


def _domain(terms: Terms, caller: Caller, reservation: Reservation) -> Mapping[str, Any]:
    """What is known of the caller's domain: the least of its SLSs of the service, and what was agreed with it."""
    name = caller.member_of.domain
    if name is None:
        return {}
    rates = [
        sls.rate_bps
        for sls in terms.sls.values()
        if sls.upstream == name
        and sls.service is reservation.service
        and sls.assured_class in ("", reservation.assured_class)
        and all(map(sls.valid_over, reservation.windows))
    ]
    return {"sla_bps": min(rates, default=None), **terms.policy.reserving.agreements.get(name, {})}


def _totals(site: Site, beside: LiveBeside, entry: Entry, caller: Caller, now: datetime) -> Mapping[str, Total]:
    """What the owner, its community and its domain have, this one included; of a neighbour, what it asked for."""
    whose = _whose(site, entry.reservation.owner, caller)
    totals = beside.totals(entry, tuple(whose.values()), site, now)
    return {of: totals[one] for of, one in whose.items()}


def _whose(site: Site, owner: str, caller: Caller) -> Mapping[str, Whose]:
    """Whose totals there are, by their names in a question."""
    whose = {one.kind: one for one in whose_of(site, owner)}
    member = caller.member_of
    return whose | ({"domain": Whose(BY_NEIGHBOUR, member.domain)} if member.is_neighbour and member.domain else {})


def owners_of(whose: Whose, site: Site) -> frozenset[str]:
    match whose.kind:
        case "community":
            return site.communities[whose.name].owners
        case "domain":
            return site.domains[whose.name]
    return frozenset({whose.name})


def _attested(
    reservation: Reservation, caller: Caller, site: Site, now: datetime, attestation: str
) -> tuple[Attested | None, str]:
    """What a community attests, and why it is not believed. Of others than its members here, such as an owner of another
    domain who is called as one of them, it attests nothing."""
    text = reservation.labels.get(ATTESTATION, attestation)
    if not text:
        return None, ""
    # Few sites have communities that sign, and commands are to start without the library that reads signatures.
    from slotcar.policy.attesting import NotAttested, attested_by

    keys = {name: one.keys for name, one in site.communities.items()}
    owner, name = reservation.key
    if ASKED_BY in reservation.labels:  # the owner as its own domain calls it, for which the community signed
        owner = owner.rpartition("@")[0] or owner
    try:
        attested = attested_by(text, keys, owner, name, now)
    except NotAttested as error:
        return None, str(error)
    if attested.community not in (site.community_of(reservation.owner), caller.member_of.community):
        return None, f"{reservation.owner} is no member of {attested.community} here"
    return attested, ""
