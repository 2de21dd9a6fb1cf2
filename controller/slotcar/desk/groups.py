"""Several resources, one reservation: GARA's co-reservation with one handle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from slotcar.base.units import parse_duration
from slotcar.book.groups import ApproveGroup, CancelGroup, CommitGroup, RejectGroup
from slotcar.book.model import Entry, State
from slotcar.desk.desk import Desk, answers
from slotcar.desk.entries import Entries
from slotcar.desk.grouping import Groups
from slotcar.desk.reading import instant_of, parsed
from slotcar.desk.reservations import owner_of_body
from slotcar.planning.source import members_of_groups
from slotcar.policy.caller import Caller
from slotcar.store.group_queries import GroupFilter
from slotcar.views.documents import group_document
from slotcar_client.wire import documents, verbs


def _document(members: Sequence[Entry], desk: Desk, caller: Caller) -> documents.Group:
    return group_document(Entries(desk).with_slots(members, caller, desk.clocks.now()))


def _documents(groups: Sequence[Sequence[Entry]], desk: Desk, caller: Caller) -> list[documents.Group]:
    entries = [entry for members in groups for entry in members]
    slotted = {entry.handle: entry for entry in Entries(desk).with_slots(entries, caller, desk.clocks.now())}
    return [group_document([slotted[entry.handle] for entry in members]) for members in groups]


def _created(
    bodies: Sequence[Mapping[str, Any]], hold: str | None, desk: Desk, caller: Caller, now: datetime
) -> tuple[tuple[Entry, ...], ...]:
    owned = [{**body, "owner": owner_of_body(body, caller)} for body in bodies]
    members = members_of_groups(owned, now, desk.settings.max_windows, desk.network)
    return Groups(desk).create(members, caller, now, parsed("hold", parse_duration, hold))


@answers(verbs.GroupCreate)
def group_create(verb: verbs.GroupCreate, desk: Desk, caller: Caller, now: datetime) -> documents.Group:
    (entries,) = _created([verb.group], verb.hold, desk, caller, now)
    return _document(entries, desk, caller)


@answers(verbs.GroupCreateAll)
def group_create_all(verb: verbs.GroupCreateAll, desk: Desk, caller: Caller, now: datetime) -> documents.Groups:
    groups = _created(verb.together, verb.hold, desk, caller, now)
    return {"items": _documents(groups, desk, caller), "next": None}


@answers(verbs.GroupList)
def group_list(verb: verbs.GroupList, desk: Desk, caller: Caller, _now: datetime) -> documents.Groups:
    wanted = GroupFilter(
        verb.owner,
        None if verb.state is None else [State(text) for text in verb.state],
        instant_of("from", verb.since),
        instant_of("until", verb.until),
        verb.newest,
        int(verb.after),
        verb.limit + 1,
    )
    groups = Entries(desk).groups(wanted, caller)
    page = groups[: verb.limit]
    return {
        "items": _documents(page, desk, caller),
        "next": str(page[-1][0].number) if len(groups) > verb.limit else None,
    }


@answers(verbs.Group)
def group(verb: verbs.Group, desk: Desk, caller: Caller, _now: datetime) -> documents.Group:
    return _document(Entries(desk).group(verb.handle, caller), desk, caller)


@answers(verbs.GroupCommit)
def group_commit(verb: verbs.GroupCommit, desk: Desk, caller: Caller, now: datetime) -> documents.Group:
    members = Groups(desk).on(CommitGroup, verb.handle, caller, now, "", verb.version)
    return _document(members, desk, caller)


@answers(verbs.GroupCancel)
def group_cancel(verb: verbs.GroupCancel, desk: Desk, caller: Caller, now: datetime) -> documents.Group:
    members = Groups(desk).on(CancelGroup, verb.handle, caller, now, verb.reason, verb.version)
    return _document(members, desk, caller)


@answers(verbs.GroupApprove)
def group_approve(verb: verbs.GroupApprove, desk: Desk, caller: Caller, now: datetime) -> documents.Group:
    members = Groups(desk).on(ApproveGroup, verb.handle, caller, now, "", verb.version)
    return _document(members, desk, caller)


@answers(verbs.GroupReject)
def group_reject(verb: verbs.GroupReject, desk: Desk, caller: Caller, now: datetime) -> documents.Group:
    members = Groups(desk).on(RejectGroup, verb.handle, caller, now, verb.reason, verb.version)
    return _document(members, desk, caller)
