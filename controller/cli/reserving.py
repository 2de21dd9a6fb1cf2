"""One reservation at a time: enquire, create, modify, bind, commit, extend, cancel, approve, reject, status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from controller.cli.confirmation import confirm
from controller.cli.options import IfVersion, Inventory, MaybeWhich, OutputFormat, Which, Yes, parsed
from controller.cli.output import Format, emit, hanging, print_table, stdout
from controller.cli.remote import Api, TokenFile, remote
from controller.cli.reservation_options import takes_reservation
from controller.cli.session import broker, caller, network_of, now, settings
from controller.problems import printable

if TYPE_CHECKING:
    from pathlib import Path

    from controller.ledger.model import Entry
    from controller.planning.enquiry import EnquiryAnswer

#: Where the values of one reservation begin.
VALUES_AT = 11


def register(app: typer.Typer) -> None:
    for command in (enquire, create, modify, bind, commit, extend, cancel, approve, reject, status):
        app.command()(command)


@takes_reservation(
    {"service": "ip-premium", "protocol": "tcp", "direction": "both", "start": "now"},
    without=("name", "owner", "rate", "recurrence", "timezone", "if_unready", "share"),
)
def enquire(
    said: dict[str, object],
    inventory: Inventory = None,
    offline: Annotated[bool, typer.Option("--offline", help="ask an empty ledger, open none")] = False,
    form: OutputFormat = Format.TABLE,
) -> None:
    """The highest rate that would be admitted over a window, each way."""
    from controller.reservation import from_mapping

    moment = now()
    data = {"name": "enquiry", "owner": "enquiry", "rate": "1 bit/s", **said}
    asked = from_mapping(data, moment, "enquire")
    chosen = settings(inventory=inventory)
    if offline or not chosen.has_ledger():
        from controller.admission import SlotTables, capacities
        from controller.planning.enquiry import ask_tables

        network = network_of(chosen)
        answer = ask_tables(asked, network, SlotTables(capacities(network)))
    else:
        with broker(inventory) as opened:
            answer = opened.enquire(asked, caller(), moment)
    _show_enquiry(answer, form)


def _show_enquiry(answer: EnquiryAnswer, form: Format) -> None:
    from controller.admission.resource_id import describe
    from controller.planning.enquiry import enquiry_document
    from controller.units import format_rate

    rows = [
        (one.direction.value, format_rate(one.rate_bps), describe(one.limited_by) if one.limited_by else "nothing")
        for one in answer.directions
    ]
    emit(
        enquiry_document(answer),
        form,
        lambda: print_table(("direction", "highest rate", "limited by"), rows, "nothing to say"),
    )


@takes_reservation(
    {"service": "ip-premium", "protocol": "tcp", "direction": "forward", "start": "now"}, required=("rate",)
)
def create(
    data: dict[str, object],
    hold: Annotated[
        str | None,
        typer.Option(
            "--hold", help="only hold it, for so long (`default` for the usual 15 min); then commit or lose it"
        ),
    ] = None,
    idempotency_key: Annotated[
        str | None, typer.Option("--idempotency-key", help="say the same again, get the same")
    ] = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Reserve: admitted whole, or refused with numbers (exit code 3)."""
    from controller.broker import Options
    from controller.reservation import from_mapping
    from controller.reservation.fingerprint import fingerprint_of
    from controller.units import parse_duration

    moment = now()
    reservation = from_mapping(data, moment, "create")
    held = None if hold in (None, "default") else parsed("--hold", parse_duration, hold or "")
    with broker(inventory) as opened:
        held = opened.settings.hold if hold == "default" else held
        options = Options(hold=held, idempotency_key=idempotency_key, fingerprint=fingerprint_of(data, hold))
        _show(opened.create(reservation, caller(), now(), options), form)


def modify(
    which: Which,
    rate: Annotated[
        str | None, typer.Option("--rate", "-r", help="new payload rate, each way that is reserved")
    ] = None,
    forward_rate: Annotated[str | None, typer.Option("--forward-rate", help="new payload rate forward")] = None,
    reverse_rate: Annotated[
        str | None, typer.Option("--reverse-rate", help="new payload rate on the way back")
    ] = None,
    start: Annotated[str | None, typer.Option("--start", help="new start")] = None,
    end: Annotated[str | None, typer.Option("--end", help="new end; or say --duration")] = None,
    duration: Annotated[
        str | None, typer.Option("--duration", help="new length, `2 h` or `PT90M`; or say --end")
    ] = None,
    if_version: IfVersion = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Change a rate or a window. If the new one is refused, the old one stays (exit code 3)."""
    from controller.planning.modification import Modification
    from controller.reservation import parse_time
    from controller.units import parse_duration, parse_rate_bps

    moment = now()
    change = Modification(
        rate_bps=parsed("--rate", parse_rate_bps, rate) if rate else None,
        forward_bps=parsed("--forward-rate", parse_rate_bps, forward_rate) if forward_rate else None,
        reverse_bps=parsed("--reverse-rate", parse_rate_bps, reverse_rate) if reverse_rate else None,
        start=parsed("--start", lambda text: parse_time(text, moment), start) if start else None,
        end=parsed("--end", lambda text: parse_time(text, moment), end) if end else None,
        duration=parsed("--duration", parse_duration, duration) if duration else None,
    )
    with broker(inventory) as opened:
        _show(opened.modify(which, change, caller(), now(), if_version), form)


def bind(
    which: Which,
    source_port: Annotated[int | None, typer.Option("--source-port", min=1, max=65535)] = None,
    destination_port: Annotated[int | None, typer.Option("--destination-port", min=1, max=65535)] = None,
    if_version: IfVersion = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Say the ports that were not known when it was created."""
    with broker(inventory) as opened:
        _show(opened.bind(which, caller(), now(), source_port, destination_port, if_version), form)


def commit(
    which: Which, if_version: IfVersion = None, inventory: Inventory = None, form: OutputFormat = Format.TABLE
) -> None:
    """Make a hold firm."""
    with broker(inventory) as opened:
        _show(opened.commit(which, caller(), now(), if_version), form)


def extend(
    which: Which,
    by: Annotated[str, typer.Option("--by", help="how long from now, such as `15 min`")] = "15 min",
    if_version: IfVersion = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Keep a hold for longer."""
    from controller.units import parse_duration

    longer = parsed("--by", parse_duration, by)
    with broker(inventory) as opened:
        _show(opened.extend(which, longer, caller(), now(), if_version), form)


Reason = Annotated[str, typer.Option("--reason", help="for the audit log")]


def cancel(
    which: Which,
    reason: Reason = "",
    if_version: IfVersion = None,
    inventory: Inventory = None,
    yes: Yes = False,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Give it back, now; its routers follow at once. Asks first."""
    from controller.cli.planning import summary

    with broker(inventory) as opened:
        entry = opened.status(which, caller())
        confirm(yes, f"Cancel {'/'.join(entry.reservation.key)} ({entry.state.value}, {summary(entry.reservation)})?")
        _show(opened.cancel(which, caller(), now(), if_version, reason), form)


def approve(
    which: Which,
    if_version: IfVersion = None,
    yes: Yes = False,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Let a reservation above the approval gate, or a change of one, through: exactly what is shown."""
    with broker(inventory) as opened:
        version = if_version
        if version is None:
            seen = opened.status(which, caller())
            _print_entry(seen, err=True)
            version = seen.version
            confirm(yes, "Approve this?")
        _show(opened.approve(which, version, caller(), now()), form)


def reject(
    which: Which,
    reason: Reason = "",
    if_version: IfVersion = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Turn a reservation above the approval gate away, or a change of one, which stays as it is then."""
    with broker(inventory) as opened:
        _show(opened.reject(which, caller(), now(), if_version, reason), form)


def status(
    which: MaybeWhich = None,
    owner: Annotated[str | None, typer.Option("--owner", help="only of this owner")] = None,
    name: Annotated[str | None, typer.Option("--name", help="only of this name")] = None,
    label: Annotated[str | None, typer.Option("--label", help="only with this label: KEY or KEY=VALUE")] = None,
    every: Annotated[bool, typer.Option("--all", "-a", help="also those that are over")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000)] = 100,
    watch: Annotated[
        bool,
        typer.Option("--watch", "-w", help="show the controller, its next boundary and its devices, until Ctrl-C"),
    ] = False,
    interval: Annotated[float, typer.Option("--interval", min=0.2, max=3600, help="of --watch, seconds")] = 1.0,
    api: Api = None,
    token_file: TokenFile = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """One reservation with its path, or a list of those that live; with --watch, what the controller is about."""
    if watch:
        _watch(which, form, api, token_file, interval)
        return
    from controller.ledger.model import OCCUPYING
    from controller.ledger.queries import Filter
    from controller.views.documents import entry_document

    with broker(inventory) as opened:
        if which:
            _show(opened.status(which, caller()), form)
            return
        key, _, value = (label or "").partition("=")
        wanted = Filter(owner, name, None if every else OCCUPYING, (key, value) if label else None, limit=limit)
        entries = opened.list(wanted, caller())
    emit([entry_document(entry) for entry in entries], form, lambda: _print_list(entries))


def _watch(which: str | None, form: Format, api: str | None, token_file: Path | None, interval_s: float) -> None:
    from controller.cli.watching import watch

    if form is not Format.TABLE:
        raise typer.BadParameter("--watch draws for people: programs ask the API, GET /v1/controller", param_hint="-f")
    if which is not None:
        words = f"it shows the controller, not a reservation: say `slotcar timeline --reservation {which}`"
        raise typer.BadParameter(words, param_hint="--watch")
    with remote(api, token_file) as asked:
        watch(asked, interval_s)


def _print_list(entries: tuple[Entry, ...]) -> None:
    from controller.cli.listing import RESERVATIONS, reservation_row

    moment = now()
    print_table(RESERVATIONS, [reservation_row(entry, moment) for entry in entries], "No reservations.")


def _show(entry: Entry, form: Format) -> None:
    from controller.views.documents import entry_document

    emit(entry_document(entry), form, lambda: _print_entry(entry))


def _print_entry(entry: Entry, *, err: bool = False) -> None:
    from controller.admission.resource_id import describe
    from controller.cli.listing import present_slot, state_words
    from controller.cli.output import stderr
    from controller.cli.planning import summary
    from controller.timebase import iso
    from controller.units import format_rate
    from controller.vocabulary import IfUnready

    console = stderr() if err else stdout()
    reservation = entry.reservation
    console.print(f"{reservation.owner}/{reservation.name}  {entry.handle}", style="bold")
    until = f" until {iso(entry.hold_until)}" if entry.hold_until else ""
    moment = now()
    number, window = present_slot(entry, moment)
    lines = [
        f"state    {state_words(entry, moment)}{until}, version {entry.version}",
        f"asks     {summary(reservation)}",
    ]
    if len(reservation.windows) > 1:
        lines.append(f"slot     {number} of {len(reservation.windows)}, {iso(window.start)} to {iso(window.end)}")
    for path in entry.paths:
        ways = [path.source, *(hop.device for hop in path.hops), path.destination]
        lines.append(f"path     {' > '.join(ways)}")
    takes = "takes   " if reservation.constant_rate_bps is not None else "takes up to"
    lines += [f"{takes} {format_rate(demand.peak)} of {describe(demand.resource)}" for demand in entry.demands]
    if reservation.if_unready is not IfUnready.DELAY:
        lines.append(f"unready  {reservation.if_unready.value}")
    if reservation.labels:
        lines.append(f"labels   {', '.join(f'{key}={value}' for key, value in reservation.labels.items())}")
    lines += _change_lines(entry)
    for line in lines:
        console.print(hanging(f"  {printable(line)}", VALUES_AT), markup=False, soft_wrap=True)


def _change_lines(entry: Entry) -> list[str]:
    """The change that waits for approval, one line for each key."""
    from controller.planning.matching import compare
    from controller.timebase import iso
    from controller.views.explain import difference_sentence

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
