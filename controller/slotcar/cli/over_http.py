"""The verbs over HTTP, with the caller's own rights, as `Broker` has them on the controller's own machine."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from slotcar.base.timebase import iso
from slotcar.base.units import format_duration
from slotcar.book.groups import ApproveGroup, CancelGroup, CommitGroup, OnGroup
from slotcar.book.model import Entry, Event
from slotcar.book.rules.roles import Caller
from slotcar.cli.from_documents import (
    Document,
    enquiry_of,
    entry_of,
    event_of,
    members_of,
    plan_of,
)
from slotcar.cli.output import progress
from slotcar.cli.place import Declined
from slotcar.planning.enquiry import EnquiryAnswer
from slotcar.planning.modification import Modification
from slotcar.planning.plan import Applied, Plan
from slotcar.planning.plan_page import PageStart
from slotcar.planning.source import default_set_name
from slotcar.reservation import read_files
from slotcar.reservation.loading import NO_CONTENTS
from slotcar.store.group_queries import GroupFilter
from slotcar.store.queries import EntryFilter, EventFilter
from slotcar_client import Slotcar

#: The API gives no more in one page.
PAGE = 1000


class OverHttp:
    """What takes a caller or the present instant leaves them out of account: the controller knows both.

    Raises (every method):
        SlotcarError of `slotcar_client`.
    """

    def __init__(self, slotcar: Slotcar) -> None:
        self.slotcar = slotcar

    # -- reading ---------------------------------------------------------------------------------------------------

    def status(self, which: str, _caller: Caller) -> Entry:
        return entry_of(self.slotcar.reservation(which))

    def list(self, wanted: EntryFilter, _caller: Caller) -> tuple[Entry, ...]:
        listed = self.slotcar.reservations(
            owner=wanted.owner,
            name=wanted.name,
            state=[state.value for state in wanted.states or ()],
            label=_label(wanted.label),
            since=wanted.since,
            until=wanted.until,
            search=wanted.search,
            newest=wanted.newest,
            limit=wanted.limit,
        )
        return tuple(entry_of(one) for one in listed)

    def with_slots(self, entries: Sequence[Entry], _caller: Caller, _now: datetime) -> tuple[Entry, ...]:
        """The controller has said it of each."""
        return tuple(entries)

    def events(
        self, wanted: EventFilter, _caller: Caller, after: int | None, limit: int, *, newest: bool = False
    ) -> tuple[Event, ...]:
        last_ones = after is None and not newest
        listed = self.slotcar.events(
            kinds=wanted.kinds,
            reservation=wanted.handle,
            device=wanted.device,
            owner=wanted.owner,
            name=wanted.name,
            label=_label(wanted.label),
            since=wanted.since,
            until=wanted.until,
            newest=newest or last_ones,
            after=after,
            limit=limit,
        )
        return tuple(event_of(one) for one in (reversed(listed) if last_ones else listed))

    def configuration_documents(
        self, at: datetime, devices: Collection[str] | None, _caller: Caller
    ) -> Sequence[Document]:
        return self.slotcar.configurations(at, devices or ())

    def comparison_document(self, devices: Collection[str] | None, _caller: Caller, _now: datetime) -> dict[str, Any]:
        """The controller reads each device in a request of its own, which takes seconds."""
        names = sorted({one["device"] for one in self.slotcar.configurations(None, devices or ())})
        states: dict[str, Any] = {"different": [], "equal": [], "failed": []}
        for number, name in enumerate(names, 1):
            progress(f"the controller reads {name} ({number} of {len(names)})")
            one = self.slotcar.difference(name)
            if one["state"] == "different":
                states["different"].append({"device": name, "diff": one["diff"]})
            elif one["state"] == "failed":
                states["failed"].append({"device": name, "message": one["message"]})
            else:
                states["equal"].append(name)
        return states

    # -- requests --------------------------------------------------------------------------------------------------

    def enquire_from_document(self, document: Mapping[str, object]) -> EnquiryAnswer:
        """`document` in the keys of a reservation file; the controller reads it, relative times too."""
        return enquiry_of(self.slotcar.enquire(document))

    def addable(self, which: str, _caller: Caller, _now: datetime) -> EnquiryAnswer:
        return enquiry_of(self.slotcar.addable(which))

    def create_from_document(
        self, document: Mapping[str, object], hold: str | None, idempotency_key: str | None
    ) -> Entry:
        hold_for = f"{self.slotcar.limits()['hold_s']} s" if hold == "default" else hold
        return entry_of(self.slotcar.create(document, hold=hold_for, idempotency_key=idempotency_key))

    def modify(
        self, which: str, change: Modification, _caller: Caller, _now: datetime, expected_version: int | None = None
    ) -> Entry:
        one_rate, forward, reverse = (
            f"{rate_bps} bit/s" if rate_bps is not None else None
            for rate_bps in (change.rate_bps, change.forward_bps, change.reverse_bps)
        )
        each_way = {way: rate for way, rate in (("forward", forward), ("reverse", reverse)) if rate}
        if one_rate and each_way:
            raise Declined("say either --rate, or --forward-rate and --reverse-rate")
        length = change.duration
        return entry_of(
            self.slotcar.modify(
                which,
                rate=one_rate or each_way or None,
                start=iso(change.start) if change.start else None,
                end=iso(change.end) if change.end else None,
                duration=format_duration(length) if length is not None else None,
                version=expected_version,
            )
        )

    def bind(
        self, which: str, _caller: Caller, _now: datetime, source_port: int | None = None,
        destination_port: int | None = None, expected_version: int | None = None,
    ) -> Entry:  # fmt: skip
        ports = {"source_port": source_port, "destination_port": destination_port}
        return entry_of(self.slotcar.bind(which, **ports, version=expected_version))

    def report(
        self, which: str, remaining_bytes: int, _caller: Caller, _now: datetime, expected_version: int | None = None
    ) -> Entry:
        if expected_version is not None:
            raise Declined("a report of progress is of what the reservation is now: leave --if-version out")
        return entry_of(self.slotcar.progress(which, f"{remaining_bytes} B"))

    def commit(self, which: str, _caller: Caller, _now: datetime, expected_version: int | None = None) -> Entry:
        return entry_of(self.slotcar.commit(which, version=expected_version))

    def extend(
        self, which: str, by: timedelta, _caller: Caller, _now: datetime, expected_version: int | None = None
    ) -> Entry:
        return entry_of(self.slotcar.extend(which, format_duration(by), version=expected_version))

    def cancel(
        self, which: str, _caller: Caller, _now: datetime, expected_version: int | None = None, reason: str = ""
    ) -> Entry:
        return entry_of(self.slotcar.cancel(which, reason, version=expected_version))

    def approve(self, which: str, expected_version: int, _caller: Caller, _now: datetime) -> Entry:
        return entry_of(self.slotcar.approve(which, version=expected_version))

    def reject(
        self, which: str, _caller: Caller, _now: datetime, expected_version: int | None = None, reason: str = ""
    ) -> Entry:
        return entry_of(self.slotcar.reject(which, reason, version=expected_version))

    # -- groups ----------------------------------------------------------------------------------------------------

    def create_groups_from_documents(
        self, documents: Sequence[Mapping[str, Any]], _now: datetime, hold: timedelta | None, _caller: Caller
    ) -> tuple[tuple[Entry, ...], ...]:
        hold_for = format_duration(hold) if hold is not None else None
        return tuple(map(members_of, self.slotcar.group_create_all(documents, hold=hold_for)))

    def groups(self, wanted: GroupFilter, _caller: Caller) -> tuple[tuple[Entry, ...], ...]:
        listed = self.slotcar.groups(
            owner=wanted.owner,
            state=[state.value for state in wanted.states or ()],
            since=wanted.since,
            until=wanted.until,
            newest=wanted.newest,
            limit=wanted.limit,
        )
        return tuple(map(members_of, listed))

    def group(self, which: str, _caller: Caller) -> tuple[Entry, ...]:
        return members_of(self.slotcar.group(which))

    def on_group(
        self, change: type[OnGroup], which: str, _caller: Caller, _now: datetime, reason: str = "",
        expected_version: int | None = None,
    ) -> tuple[Entry, ...]:  # fmt: skip
        if change is CommitGroup:
            return members_of(self.slotcar.group_commit(which, version=expected_version))
        if change is CancelGroup:
            return members_of(self.slotcar.group_cancel(which, reason, version=expected_version))
        if change is ApproveGroup:
            assert expected_version is not None
            return members_of(self.slotcar.group_approve(which, version=expected_version))
        return members_of(self.slotcar.group_reject(which, reason, version=expected_version))

    # -- files -----------------------------------------------------------------------------------------------------

    def plan_files(
        self, files: Sequence[Path], set_name: str | None, owners: Collection[str], now: datetime,
        contents: Mapping[Path, bytes] = NO_CONTENTS, show_from: datetime | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """The plan's document for reservation files, which are read and checked here, and planned there.

        `contents`: what files hold that were read already. `show_from`: the boundaries from then on.

        Raises:
            InvalidInput: anything in any file is wrong.
        """
        read = read_files(files, now, contents=contents)
        file = {"version": 1, "reservations": read.entry_documents}
        if read.group_documents:
            file["together"] = read.group_documents
        name, start = set_name or default_set_name(files), str(PageStart(show_from)) if show_from else None
        return dict(self.slotcar.plan(file, set_name=name, owners=sorted(owners), start=start))

    def plan_of(self, document: Document) -> Plan:
        """The plan of a document, to be shown; what it cancels is asked for."""
        handles = [step["handle"] for step in document["steps"] if step["action"] == "cancel"]
        return plan_of(document, {one: entry_of(self.slotcar.reservation(one)) for one in handles})

    def apply_document(self, document: Any) -> Applied:
        done = self.slotcar.apply(document)
        entries = tuple(entry_of(one) for one in done["entries"])
        return Applied(entries, done["created"], done["changed"], done["cancelled"])


def _label(label: tuple[str, str] | None) -> str | None:
    return None if label is None else "=".join(filter(None, label))
