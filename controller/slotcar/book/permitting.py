"""The site's policies about what a transaction holds, asked under the ledger's lock: totals are exact, and nobody can race
past them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from slotcar.book.model import AdmissionRequest, Entry
from slotcar.book.rights import with_proposed_change
from slotcar.book.rules.amounts import counted_slots
from slotcar.book.rules.errors import NotPermitted
from slotcar.book.rules.quotas import Usage
from slotcar.book.rules.reserving import peak_bps
from slotcar.book.transaction import Transaction
from slotcar.policy.caller import Caller
from slotcar.policy.reserving import ACTION, ATTESTATION, Attested, Total, WantedReservation, largest_bps, question_of
from slotcar.policy.site import Site
from slotcar.reservation.model import Reservation


def check_permitted(transaction: Transaction, done: Iterable[tuple[AdmissionRequest, Entry]], now: datetime) -> None:
    """
    Raises:
        NotPermitted: the site's policies do not let a request have what it has got.
    """
    site = transaction.terms.policy.reserving.site
    if ACTION in site.policies.open_actions:
        return
    for request, entry in done:
        if request.caller is not None:
            _check(transaction, request, with_proposed_change(entry), request.caller, now)


def _check(transaction: Transaction, request: AdmissionRequest, entry: Entry, caller: Caller, now: datetime) -> None:
    site = transaction.terms.policy.reserving.site
    attested, why_not = _attested(entry.reservation, site, now)
    wanted = _wanted(transaction, request, entry, caller, attested, now)
    verdict = site.policies.decide(question_of(caller, wanted, site, now))
    if verdict.allowed:
        return
    key = "/".join(entry.reservation.key)
    words = {"who": caller.name, "what": f"reserve {key}", "role": caller.role.value, "of": wanted.owner}
    sentence = verdict.sentence({**words, "owner": caller.owner or caller.name})
    largest = 0 if verdict.errors else largest_bps(site.policies, caller, wanted, site, now)
    raise NotPermitted(sentence, tuple(rule.name for rule in verdict.by), largest or None, why_not)


def _wanted(
    transaction: Transaction,
    request: AdmissionRequest,
    entry: Entry,
    caller: Caller,
    attested: Attested | None,
    now: datetime,
) -> WantedReservation:
    reservation, amount, terms = entry.reservation, entry.amount, transaction.terms
    rates = [
        sls.rate_bps
        for sls in terms.sls.values()
        if sls.upstream == caller.member_of.domain and sls.service is reservation.service
    ]
    return WantedReservation(
        owner=reservation.owner,
        name=reservation.name,
        needs=terms.policy.reserving.needs(reservation, entry.paths),
        rate_bps=amount.rate_bps,
        volume_bits=amount.volume_bits,
        windows=reservation.slots,
        labels={key: value for key, value in reservation.labels.items() if key != ATTESTATION},
        is_change=request.replaces is not None,
        is_hold=request.hold_until is not None,
        sla_bps=min(rates, default=None),
        attested=attested,
        totals=_totals(transaction, entry, now),
    )


def _totals(transaction: Transaction, entry: Entry, now: datetime) -> Mapping[str, Total]:
    """What the owner, its community and its domain have, this one included; nothing where no policy asks for it."""
    site, owner = transaction.terms.policy.reserving.site, entry.reservation.owner
    together = {"owner": frozenset({owner})}
    if (community := site.community_of(owner)) is not None:
        together["community"] = site.communities[community].owners
    if (domain := site.domain_of(owner)) is not None:
        together["domain"] = site.domains[domain]
    if not site.policies.asks_totals:
        return {of: Total() for of in together}
    others = transaction.entries.open_with(entry)
    return {of: _total(transaction, entry, others, owners, now) for of, owners in together.items()}


def _total(
    transaction: Transaction, entry: Entry, others: Iterable[Entry], owners: Collection[str], now: datetime
) -> Total:
    usage = sum((transaction.entries.usage(owner, now) for owner in sorted(owners)), Usage())
    forms = [_forms(one) for one in others if one.reservation.owner in owners]
    peak = peak_bps([*forms, (entry.reservation,)], counted_slots(entry.reservation))
    return Total(usage.reservations, peak, usage.volume_bits)


def _forms(entry: Entry) -> tuple[Reservation, ...]:
    return (entry.reservation, entry.proposed.reservation) if entry.proposed else (entry.reservation,)


def _attested(reservation: Reservation, site: Site, now: datetime) -> tuple[Attested | None, str]:
    """What a community attests, and why it is not believed."""
    text = reservation.labels.get(ATTESTATION)
    if text is None:
        return None, ""
    # Few sites have communities that sign, and commands are to start without the library that reads signatures.
    from slotcar.policy.attesting import NotAttested, attested_by

    keys = {name: one.keys for name, one in site.communities.items()}
    try:
        return attested_by(text, keys, *reservation.key, now), ""
    except NotAttested as error:
        return None, str(error)
