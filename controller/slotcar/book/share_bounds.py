"""What managers have shared out of their communities, asked of each request under the ledger's lock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from slotcar.base.timebase import Window, iso, to_us
from slotcar.base.units import format_rate
from slotcar.book.model import AdmissionRequest, Entry
from slotcar.book.permitting import windows_from
from slotcar.book.rights import with_proposed_change
from slotcar.book.rules.amounts import counted_slots
from slotcar.book.rules.errors import ShareExceeded
from slotcar.book.rules.reserving import LiveAmount, peak_bps, steps_of
from slotcar.book.transaction import Transaction
from slotcar.policy.recalling import kept_of
from slotcar.policy.reserving import local_hours
from slotcar.policy.sharing import CommunityShare, given_to, verdict_on_share
from slotcar.policy.site import Site
from slotcar.policy.verdict import Verdict
from slotcar_client.wire.events import PolicyRefused

#: Start and end in microseconds, and bits per second of one direction; they may overlap.
Steps = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Used:
    """What others have of a share while a reservation is open: the most at one instant, and the first time in which it is
    that; None where it is nothing."""

    rate_bps: int
    when: Window | None


def check_shares(
    transaction: Transaction, done: Iterable[tuple[AdmissionRequest, Entry, Entry | None]], now: datetime
) -> None:
    """`done`: each request with what it has got, and what it was before.

    Raises:
        ShareExceeded: the owner's share of what its community has, or the community's own, has no room for it.
    """
    site = transaction.terms.policy.reserving.site
    for request, entry, old in done:
        for share, verdict, used in verdicts_on_shares(transaction, with_proposed_change(entry), old, now):
            if not verdict.allowed:
                raise _refusal(verdict, share, used, request, with_proposed_change(entry), site)


def check_approved(transaction: Transaction, entry: Entry, old: Entry | None, now: datetime) -> None:
    """What was shared out may have become less since it was asked for. `old`: what is in force of it.

    Raises:
        ShareExceeded: see `check_shares`.
    """
    site = transaction.terms.policy.reserving.site
    for share, verdict, used in verdicts_on_shares(transaction, entry, old, now):
        if not verdict.allowed:
            raise _exceeded(verdict, share, used, entry.reservation.owner, site)


def exceeds_shares(transaction: Transaction, entry: Entry, old: Entry, now: datetime) -> bool:
    """Whether a share does not let the entry become what it is, from `old`."""
    return any(not verdict.allowed for _, verdict, _ in verdicts_on_shares(transaction, entry, old, now))


def verdicts_on_shares(
    transaction: Transaction, entry: Entry, old: Entry | None, now: datetime
) -> Iterator[tuple[CommunityShare, Verdict, Used]]:
    """What each share that binds its owner says of the entry, with what others have of it; none binds an owner of no
    community. `old`: what it was before."""
    site = transaction.terms.policy.reserving.site
    community = site.community_of(entry.reservation.owner)
    for share in bounds_of(transaction, site, community, entry.reservation.owner) if community is not None else ():
        during = _before(windows_from(entry, now), share.until)
        if during:
            yield share, *_verdict(transaction, share, entry, old, during, now)


def bounds_of(transaction: Transaction, site: Site, community: str, owner: str) -> Iterator[CommunityShare]:
    """What an owner of the community is bound by: its shares, then what the site gives the community."""
    yield from (one for one in transaction.shares(community).values() if owner in one.members)
    given = given_to(community, site)
    if given is not None:
        yield given


def _verdict(
    transaction: Transaction, share: CommunityShare, entry: Entry, old: Entry | None, during: Sequence[Window],
    now: datetime,
) -> tuple[Verdict, Used]:  # fmt: skip
    site, reservation = transaction.terms.policy.reserving.site, entry.reservation
    others = transaction.totals(now).rates_without(entry.number, share.members, during)
    before = others + (steps_of([counted_slots(old.reservation)]) if old is not None and old.demands else ())
    after = others + (steps_of([counted_slots(reservation)]) if entry.demands else ())
    hours, _ = local_hours(during, site.zone)
    verdict = verdict_on_share(
        site.policies, reservation.owner, share, peak_of(after, during), peak_of(before, during), hours,
        reservation.service.value,
    )  # fmt: skip
    return verdict, Used(0, None) if verdict.allowed else busiest(others, during)


def _before(windows: Sequence[Window], until: datetime | None) -> list[Window]:
    """The windows as far as they lie before an instant."""
    if until is None:
        return list(windows)
    return [Window(one.start, min(one.end, until)) for one in windows if one.start < until]


def peak_of(steps: Steps, during: Sequence[Window]) -> int:
    """The highest sum of rates at an instant of `during`."""
    return peak_bps([LiveAmount("", None, 0, 0, steps)], during)


def busiest(others: Steps, during: Sequence[Window]) -> Used:
    """When others have the most, of the time of `during`."""
    most = peak_of(others, during)
    if not most:
        return Used(0, None)
    changes = sorted(change for start, end, rate in others for change in ((start, rate), (end, -rate)))
    rate_bps, at = 0, 0
    for window in sorted(during):
        while at < len(changes) and changes[at][0] < window.end_us:
            moment = changes[at][0]
            while at < len(changes) and changes[at][0] == moment:
                rate_bps += changes[at][1]
                at += 1
            later = changes[at][0] if at < len(changes) else window.end_us
            if rate_bps == most and later > window.start_us:
                return Used(most, Window.of_us(max(moment, window.start_us), min(later, window.end_us)))
    return Used(most, None)


def _refusal(
    verdict: Verdict, share: CommunityShare, used: Used, request: AdmissionRequest, entry: Entry, site: Site
) -> ShareExceeded:
    owner, name = entry.reservation.key
    error = _exceeded(verdict, share, used, owner, site)
    says = PolicyRefused(
        actor=request.actor, owner=owner, name=name, policies=error.policies, reservation=entry.reservation,
        message=str(error),
        requester=kept_of(request.caller, owner) if request.caller is not None else None,
        is_change=request.replaces is not None, is_hold=request.hold_until is not None,
    )  # fmt: skip
    error.to_be_kept(entry.handle, says)
    return error


def _exceeded(verdict: Verdict, share: CommunityShare, used: Used, owner: str, site: Site) -> ShareExceeded:
    rate_is_short = _what(verdict) == "rate" and not verdict.errors
    largest = max(share.rate_bps - used.rate_bps, 0) if rate_is_short else 0
    names = tuple(rule.name for rule in verdict.by)
    return ShareExceeded(share_sentence(verdict, share, used, owner, site), names, largest or None)


def _what(verdict: Verdict) -> str:
    """What of a share is exceeded, by the policy that forbids it; empty where another forbids it."""
    return next((rule.annotations["share"] for rule in verdict.by if "share" in rule.annotations), "")


def share_sentence(verdict: Verdict, share: CommunityShare, used: Used, owner: str, site: Site) -> str:
    """Why the share does not allow it."""
    what = _what(verdict)
    return _sentence(share, what, used, site) if what and not verdict.errors else _policys(verdict, owner, share)


def _policys(verdict: Verdict, owner: str, share: CommunityShare) -> str:
    words = {
        "who": owner,
        "owner": owner,
        "of": share.community,
        "role": "owner",
        "what": f"use its share of {share.name}",
    }
    return verdict.sentence(words)


def _sentence(share: CommunityShare, what: str, used: Used, site: Site) -> str:
    whose = share_words(share)
    match what:
        case "rate":
            when = f", of which {format_rate(used.rate_bps)} are in use" if used.rate_bps else ""
            at = f" from {iso(used.when.start)} to {iso(used.when.end)}" if used.when is not None else ""
            return f"{whose} is {format_rate(share.rate_bps)}{when}{at}"
        case "hours":
            return f"{whose} is for the hours {', '.join(map(str, share.hours))} in {site.zone}"
    return f"{whose} is for {', '.join(share.services)}"


def share_words(share: CommunityShare) -> str:
    """Of which share a sentence speaks."""
    if not share.given_by:
        return f"what {share.community} was given"
    if share.members == (share.name,):
        return f"the share of {share.name} of {share.community}"
    return f"the share {share.name} of {share.community} ({', '.join(share.members)} together)"


def rate_at(steps: Steps, now: datetime) -> int:
    """What these have together at an instant."""
    return sum(rate for start, end, rate in steps if start <= to_us(now) < end)
