"""One reservation at a time: create, modify, bind, commit, extend, cancel, approve, reject, status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from slotcar.base.problems import printable
from slotcar.cli import grouping
from slotcar.cli.confirmation import confirm
from slotcar.cli.lists import by_limit, emit_list, first_of
from slotcar.cli.options import (
    IfVersion,
    Inventory,
    MaybeWhich,
    Newest,
    OfLabel,
    OfName,
    OfOwner,
    OutputFormat,
    Since,
    Until,
    Which,
    Yes,
    label_of,
    parsed,
    time_of,
)
from slotcar.cli.output import Format, emit, hanging, print_table, stdout
from slotcar.cli.place import chosen_place
from slotcar.cli.remote import Api, TokenFile, remote
from slotcar.cli.reservation_options import takes_reservation
from slotcar.cli.session import caller, now, over_http, verbs

if TYPE_CHECKING:
    from pathlib import Path

    from slotcar.book.model import Entry
    from slotcar.broker import Broker
    from slotcar.cli.over_http import OverHttp

#: Where the values of one reservation begin.
VALUES_AT = 11


def register(app: typer.Typer) -> None:
    for command in (create, modify, bind, commit, extend, cancel, approve, reject, status):
        app.command()(command)


@takes_reservation({"service": "ip-premium", "protocol": "tcp", "start": "now"}, optional=("owner",))
def create(
    data: dict[str, object],
    hold: Annotated[
        str | None,
        typer.Option(
            "--hold", help="only hold it, for this long (`default`: 15 min); a hold that is not committed ends then"
        ),
    ] = None,
    idempotency_key: Annotated[
        str | None, typer.Option("--idempotency-key", help="a repeat with this key returns the first result")
    ] = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Reserve bandwidth. A request is admitted as a whole, or refused with numbers (exit code 3)."""
    if chosen_place() is not None:
        with over_http(inventory) as far:
            _show(far, far.create_from_document(data, hold, idempotency_key), form)
        return
    from slotcar.base.units import parse_duration
    from slotcar.broker import Options
    from slotcar.cli.session import broker
    from slotcar.reservation import from_mapping
    from slotcar.reservation.fingerprint import fingerprint_of

    moment = now()
    reservation = from_mapping(data, moment, "create")
    held = None if hold in (None, "default") else parsed("--hold", parse_duration, hold or "")
    with broker(inventory) as opened:
        held = opened.settings.hold if hold == "default" else held
        options = Options(hold=held, idempotency_key=idempotency_key, fingerprint=fingerprint_of(data, hold))
        _show(opened, opened.create(reservation, caller(), now(), options), form)


def modify(
    which: Which,
    rate: Annotated[
        str | None, typer.Option("--rate", "-r", help="new payload rate, in each reserved direction")
    ] = None,
    forward_rate: Annotated[
        str | None, typer.Option("--forward-rate", help="new payload rate in the forward direction")
    ] = None,
    reverse_rate: Annotated[
        str | None, typer.Option("--reverse-rate", help="new payload rate in the reverse direction")
    ] = None,
    start: Annotated[str | None, typer.Option("--start", help="new start")] = None,
    end: Annotated[str | None, typer.Option("--end", help="new end (or use --duration)")] = None,
    duration: Annotated[
        str | None, typer.Option("--duration", help="new length, such as `2 h` or `PT90M` (or use --end)")
    ] = None,
    remaining: Annotated[
        str | None,
        typer.Option("--remaining", help="how much of a volume is still to be moved, such as `1.2 TB`; `0 B` ends it"),
    ] = None,
    if_version: IfVersion = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Change a rate or a window, or report how much of a volume remains.

    If the change is refused, the reservation stays as it was (exit code 3).
    """
    from slotcar.base.units import parse_any_bps, parse_duration, parse_rate_bps, parse_remaining_bytes
    from slotcar.planning.modification import Modification
    from slotcar.reservation import parse_time

    moment = now()
    change = Modification(
        rate_bps=parsed("--rate", parse_rate_bps, rate) if rate else None,
        forward_bps=parsed("--forward-rate", parse_any_bps, forward_rate) if forward_rate else None,
        reverse_bps=parsed("--reverse-rate", parse_any_bps, reverse_rate) if reverse_rate else None,
        start=parsed("--start", lambda text: parse_time(text, moment), start) if start else None,
        end=parsed("--end", lambda text: parse_time(text, moment), end) if end else None,
        duration=parsed("--duration", parse_duration, duration) if duration else None,
    )
    remaining_bytes = parsed("--remaining", parse_remaining_bytes, remaining) if remaining else None
    if remaining_bytes is not None and change != Modification():
        raise typer.BadParameter("it goes with no other change", param_hint="--remaining")
    with verbs(inventory) as opened:
        if remaining_bytes is None:
            _show(opened, opened.modify(which, change, caller(), now(), if_version), form)
        else:
            _show(opened, opened.report(which, remaining_bytes, caller(), now(), if_version), form)


def bind(
    which: Which,
    source_port: Annotated[int | None, typer.Option("--source-port", min=1, max=65535)] = None,
    destination_port: Annotated[int | None, typer.Option("--destination-port", min=1, max=65535)] = None,
    if_version: IfVersion = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Set the ports of a reservation that were not known when it was created."""
    with verbs(inventory) as opened:
        _show(opened, opened.bind(which, caller(), now(), source_port, destination_port, if_version), form)


def commit(
    which: Which, if_version: IfVersion = None, inventory: Inventory = None, form: OutputFormat = Format.TABLE
) -> None:
    """Commit a hold, so that it no longer expires."""
    if grouping.is_group(which):
        grouping.change("commit", which, inventory, form, if_version=if_version)
        return
    with verbs(inventory) as opened:
        _show(opened, opened.commit(which, caller(), now(), if_version), form)


def extend(
    which: Which,
    by: Annotated[str, typer.Option("--by", help="how long from now, such as `15 min`")] = "15 min",
    if_version: IfVersion = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Extend a hold."""
    from slotcar.base.units import parse_duration

    longer = parsed("--by", parse_duration, by)
    with verbs(inventory) as opened:
        _show(opened, opened.extend(which, longer, caller(), now(), if_version), form)


Reason = Annotated[str, typer.Option("--reason", help="for the audit log")]


def cancel(
    which: Which,
    reason: Reason = "",
    if_version: IfVersion = None,
    inventory: Inventory = None,
    yes: Yes = False,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Cancel a reservation now; its routers follow at once. Asks first."""
    from slotcar.planning.plan_lines import summary

    if grouping.is_group(which):
        grouping.change("cancel", which, inventory, form, yes=yes, reason=reason, if_version=if_version)
        return
    with verbs(inventory) as opened:
        entry = opened.status(which, caller())
        confirm(yes, f"Cancel {'/'.join(entry.reservation.key)} ({entry.state.value}, {summary(entry.reservation)})?")
        _show(opened, opened.cancel(which, caller(), now(), if_version, reason), form)


def approve(
    which: Which,
    if_version: IfVersion = None,
    yes: Yes = False,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Approve a reservation that waits for approval, or a change of one: exactly what is shown."""
    if grouping.is_group(which):
        grouping.change("approve", which, inventory, form, yes=yes, if_version=if_version)
        return
    with verbs(inventory) as opened:
        version = if_version
        if version is None:
            (entry,) = opened.with_slots([opened.status(which, caller())], caller(), now())
            _print_entry(entry, err=True)
            version = entry.version
            confirm(yes, "Approve this?")
        _show(opened, opened.approve(which, version, caller(), now()), form)


def reject(
    which: Which,
    reason: Reason = "",
    if_version: IfVersion = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Reject a reservation that waits for approval, or a change of one; a rejected change leaves it as it is."""
    if grouping.is_group(which):
        grouping.change("reject", which, inventory, form, reason=reason, if_version=if_version)
        return
    with verbs(inventory) as opened:
        _show(opened, opened.reject(which, caller(), now(), if_version, reason), form)


def status(
    which: MaybeWhich = None,
    owner: OfOwner = None,
    name: OfName = None,
    label: OfLabel = None,
    since: Since = None,
    until: Until = None,
    newest: Newest = False,
    every: Annotated[bool, typer.Option("--all", "-a", help="also those that have ended")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000)] = 100,
    groups: Annotated[bool, typer.Option("--groups", "-g", help="list groups and not their members")] = False,
    watch: Annotated[
        bool,
        typer.Option("--watch", "-w", help="show the controller, its next boundary and its devices, until Ctrl-C"),
    ] = False,
    interval: Annotated[
        float, typer.Option("--interval", min=0.2, max=3600, help="seconds between two updates of --watch")
    ] = 1.0,
    api: Api = None,
    token_file: TokenFile = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Show one reservation with its path, or a list of the live ones; with --watch, the controller's status."""
    if watch:
        _watch(which, form, api, token_file, interval)
        return
    if which and grouping.is_group(which):
        grouping.show(which, inventory, form)
        return
    from slotcar.book.model import OCCUPYING
    from slotcar.store.group_queries import GroupFilter
    from slotcar.store.queries import EntryFilter
    from slotcar.views.documents import entry_document

    if groups:
        if which or name or label:
            raise typer.BadParameter("groups are listed by owner, state and time: leave out what else is asked for")
        begin, end = (time_of(option, text, now()) for option, text in (("--from", since), ("--until", until)))
        of_groups = GroupFilter(owner, None if every else OCCUPYING, begin, end, newest, limit=limit + 1)
        grouping.show_list(of_groups, inventory, form)
        return
    with verbs(inventory) as opened:
        if which:
            _show(opened, opened.status(which, caller()), form)
            return
        begin, end = (time_of(option, text, now()) for option, text in (("--from", since), ("--until", until)))
        states = None if every else OCCUPYING
        wanted = EntryFilter(owner, name, states, label_of(label), begin, end, newest, limit=limit + 1)
        listed, is_cut = first_of(opened.list(wanted, caller()), limit)
        entries = opened.with_slots(listed, caller(), now())
    more = by_limit(limit, "asking for less, by --owner, --name, --label, --from or --until,") if is_cut else None
    emit_list([entry_document(entry) for entry in entries], form, lambda: _print_list(entries), more=more)


def _watch(which: str | None, form: Format, api: str | None, token_file: Path | None, interval_s: float) -> None:
    from slotcar.cli.watching import watch

    if form is not Format.TABLE:
        raise typer.BadParameter("--watch draws for people: programs ask the API, GET /v1/controller", param_hint="-f")
    if which is not None:
        words = f"it shows the controller, not a reservation: say `slotcar timeline --reservation {which}`"
        raise typer.BadParameter(words, param_hint="--watch")
    with remote(api, token_file, attempts=1) as slotcar:
        watch(slotcar, interval_s)


def _print_list(entries: tuple[Entry, ...]) -> None:
    from slotcar.cli.listing import RESERVATIONS, reservation_row

    moment = now()
    print_table(RESERVATIONS, [reservation_row(entry, moment) for entry in entries], "No reservations.")


def _show(opened: Broker | OverHttp, entry: Entry, form: Format) -> None:
    from slotcar.views.documents import entry_document

    (entry,) = opened.with_slots([entry], caller(), now())
    emit(entry_document(entry), form, lambda: _print_entry(entry))


def _print_entry(entry: Entry, *, err: bool = False) -> None:
    from slotcar.admission.resource_id import describe
    from slotcar.base.timebase import iso
    from slotcar.base.vocabulary import IfUnready
    from slotcar.book.model import OCCUPYING
    from slotcar.cli.listing import slot_lines, state_words
    from slotcar.cli.output import stderr
    from slotcar.planning.plan_lines import summary
    from slotcar.views.explain import clock_note, profile_lines

    console = stderr() if err else stdout()
    reservation = entry.reservation
    console.print(f"{reservation.owner}/{reservation.name}  {entry.handle}", style="bold")
    until = f" until {iso(entry.hold_until)}" if entry.hold_until else ""
    lines = [
        f"state    {state_words(entry)}{until}, version {entry.version}",
        f"asks     {summary(reservation)}",
    ]
    lines += _progress_lines(entry)
    lines += [f"{'' if number else 'profile':<9}{line}" for number, line in enumerate(profile_lines(reservation))]
    lines += [f"note     {note}"] if (note := clock_note(reservation)) else []
    lines += slot_lines(entry)
    for path in entry.paths:
        ways = [path.source, *(hop.device for hop in path.hops), path.destination]
        lines.append(f"path     {' > '.join(ways)}")
    verb = "takes" if entry.state in OCCUPYING else "took"
    takes = f"{verb:<8}" if reservation.constant_rate_bps is not None else f"{verb} up to"
    lines += [
        f"{takes} {demand.resource.kind_of.format_amount(demand.peak)} of {describe(demand.resource)}"
        for demand in entry.demands
    ]
    if entry.group is not None and reservation.together is not None:
        failure = reservation.together.on_failure.value
        lines.append(
            f"group    {entry.group} ({reservation.owner}/{reservation.together.group}), on failure {failure}"
        )
    if reservation.if_unready is not IfUnready.DELAY:
        lines.append(f"unready  {reservation.if_unready.value}")
    if reservation.labels:
        lines.append(f"labels   {', '.join(f'{key}={value}' for key, value in reservation.labels.items())}")
    lines += _change_lines(entry)
    lines += [f"{'' if number else 'note':<9}{note}" for number, note in enumerate(entry.notes)]
    for line in lines:
        console.print(hanging(f"  {printable(line)}", VALUES_AT), markup=False, soft_wrap=True)


def _progress_lines(entry: Entry) -> list[str]:
    """The last report of a volume by a deadline, and the rate that the rest needs, as long as it may have one."""
    from slotcar.base.timebase import iso
    from slotcar.base.units import format_bytes, format_bytes_about, format_rate
    from slotcar.book.model import OCCUPYING

    progress = entry.progress
    if progress is None:
        return []
    if entry.state not in OCCUPYING:
        return [f"remained {format_bytes(progress.remaining_bytes)} at {iso(progress.at)}"]
    needs = f", which needs {format_rate(progress.needed_bps)}" if progress.needed_bps else ""
    lines = [f"remains  {format_bytes(progress.remaining_bytes)} at {iso(progress.at)}{needs}"]
    if progress.missing_bytes:
        lines.append(
            f"{'':<9}{format_bytes_about(progress.missing_bytes, up=True)} of it cannot be moved in time:"
            " nothing more is free"
        )
    return lines


def _change_lines(entry: Entry) -> list[str]:
    """The change that waits for approval, one line for each key."""
    from slotcar.base.timebase import iso
    from slotcar.planning.matching import compare
    from slotcar.views.explain import difference_sentence

    change = entry.proposed
    if change is None:
        return []
    sentences = [
        difference_sentence(one.key, one.before, one.after) for one in compare(entry.reservation, change.reservation)
    ]
    return [
        f"change   waits for approval, asked by {change.actor} at {iso(change.at)}",
        *(f"         {one}" for one in sentences),
    ]
