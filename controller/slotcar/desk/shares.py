"""What a community's manager shares out among its members."""

from __future__ import annotations

from datetime import datetime

from slotcar.base.timebase import iso
from slotcar.base.units import parse_any_bps
from slotcar.desk.desk import Desk, answers
from slotcar.desk.reading import parsed, parsed_text
from slotcar.desk.sharing import KnownCommunity, ShareInUse, Shares
from slotcar.policy.caller import Caller
from slotcar.reservation import parse_time
from slotcar_client.wire import documents, verbs


@answers(verbs.ShareGive)
def share_give(verb: verbs.ShareGive, desk: Desk, caller: Caller, now: datetime) -> documents.CommunityShare:
    rate_bps = parsed_text("rate", parse_any_bps, verb.rate)
    until = parsed("until", lambda text: parse_time(text, now), verb.until)
    shares = Shares(desk)
    share = shares.give(
        verb.community, verb.name, verb.members, rate_bps, until, verb.hours, verb.services, caller, now
    )
    return _document(shares.in_use(share, now))


@answers(verbs.ShareWithdraw)
def share_withdraw(verb: verbs.ShareWithdraw, desk: Desk, caller: Caller, now: datetime) -> documents.CommunityShare:
    shares = Shares(desk)
    return _document(shares.in_use(shares.withdraw(verb.community, verb.name, caller, now), now))


@answers(verbs.ShareList)
def share_list(_verb: verbs.ShareList, desk: Desk, caller: Caller, now: datetime) -> documents.CommunityShares:
    shares = Shares(desk)
    return {
        "items": [_document(one) for one in shares.listed(caller, now)],
        "communities": [_community(one) for one in shares.communities(caller, now)],
    }


def _document(one: ShareInUse) -> documents.CommunityShare:
    share = one.share
    return {
        "community": share.community,
        "name": share.name,
        "members": list(share.members),
        "rate_bps": share.rate_bps,
        "in_use_bps": one.in_use_bps,
        "until": iso(share.until) if share.until else None,
        "hours": list(share.hours),
        "services": list(share.services),
        "given_by": share.given_by,
        "given_at": iso(share.given_at) if share.given_at else None,
    }


def _community(one: KnownCommunity) -> documents.Community:
    return {
        "name": one.name,
        "owners": list(one.owners),
        "at_most_bps": one.given.share.rate_bps if one.given else None,
        "in_use_bps": one.given.in_use_bps if one.given else None,
        "managed": one.managed,
    }
