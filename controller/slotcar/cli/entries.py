"""One reservation as a terminal shows it, out of its document."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from slotcar.base.problems import printable
from slotcar.cli.listing import slot_of, state_words
from slotcar.cli.output import Format, emit, hanging, stderr, stdout

if TYPE_CHECKING:
    from slotcar.reservation.model import Reservation
    from slotcar_client.wire import documents

Document = Mapping[str, Any]
#: Where the values of one reservation begin.
VALUES_AT = 11


def emit_entry(entry: documents.Entry, form: Format) -> None:
    emit(entry, form, lambda: print_entry(entry))


def print_entry(entry: Document, *, err: bool = False) -> None:
    """A line for each thing that there is to say of it."""
    from slotcar.planning.plan_lines import summary
    from slotcar.views.documents import reservation_of
    from slotcar.views.explain import clock_note, profile_lines

    console = stderr() if err else stdout()
    reservation = reservation_of(entry["reservation"])
    console.print(f"{reservation.owner}/{reservation.name}  {entry['handle']}", style="bold")
    until = f" until {entry['hold_until']}" if entry["hold_until"] else ""
    lines = [
        f"state    {state_words(entry)}{until}, version {entry['version']}",
        f"asks     {summary(reservation)}",
        *_progress_lines(entry),
        *(f"{'' if number else 'profile':<9}{line}" for number, line in enumerate(profile_lines(reservation))),
        *([f"note     {note}"] if (note := clock_note(reservation)) else []),
        *slot_lines(entry),
        *_path_lines(entry, reservation),
        *_more_lines(entry, reservation),
        *_change_lines(entry, reservation),
        *(f"{'' if number else 'note':<9}{note}" for number, note in enumerate(entry.get("notes", ()))),
    ]
    for line in lines:
        console.print(hanging(f"  {printable(line)}", VALUES_AT), soft_wrap=True)


def is_live(entry: Document) -> bool:
    """Whether it takes a place."""
    from slotcar.book.model import OCCUPYING

    return entry["state"] in OCCUPYING


def _progress_lines(entry: Document) -> list[str]:
    """The last report of a volume by a deadline, and the rate that the rest needs, as long as it may have one."""
    from slotcar.base.units import format_bytes, format_bytes_about, format_rate

    progress = entry["progress"]
    if progress is None:
        return []
    remaining = f"{format_bytes(progress['remaining_bytes'])} at {progress['at']}"
    if not is_live(entry):
        return [f"remained {remaining}"]
    needs = f", which needs {format_rate(progress['needed_bps'])}" if progress["needed_bps"] else ""
    lines = [f"remains  {remaining}{needs}"]
    if progress["missing_bytes"]:
        lines.append(
            f"{'':<9}{format_bytes_about(progress['missing_bytes'], up=True)} of it cannot be moved in time:"
            " nothing more is free"
        )
    return lines


def slot_lines(entry: Document) -> list[str]:
    """What is on the routers of the slot that is open, comes next or was last; of each router where they differ."""
    from slotcar.book.slot_now import SlotState

    slot = slot_of(entry)
    if slot is None:
        return []
    is_read_back = slot["since"] and slot["state"] in (SlotState.IN_PLACE, SlotState.ENDING)
    verified = f", read back {_second(slot['since'])}" if is_read_back else ""
    which = f"{slot['number']} of {slot['of']}, {slot['start']} to {slot['end']}: " if slot["of"] > 1 else ""
    lines = [f"slot     {which}{_slot_words(slot)}{verified}"]
    if len({(one["state"], one["why"]) for one in slot["devices"]}) > 1:
        lines += [f"         {one['device']}  {_slot_words(one)}" for one in slot["devices"]]
    return lines


def _slot_words(one: Document) -> str:
    from slotcar.book.slot_now import SlotState, words_of

    since = datetime.fromisoformat(one["since"]) if one["since"] else None
    return words_of(SlotState(one["state"]), since, one["why"])


def _second(at: str) -> str:
    from slotcar.base.timebase import iso

    return iso(datetime.fromisoformat(at).replace(microsecond=0))


def _path_lines(entry: Document, reservation: Reservation) -> list[str]:
    """Its ways, and what it takes of each resource on them."""
    from slotcar.admission.resource_id import ResourceId, describe

    ways = [
        " > ".join([path["source"], *(hop["device"] for hop in path["hops"]), path["destination"]])
        for path in entry["paths"]
    ]
    verb = "takes" if is_live(entry) else "took"
    takes = f"{verb:<8}" if reservation.constant_rate_bps is not None else f"{verb} up to"
    resources = [(ResourceId.parse(one["resource"]), one["rate_bps"]) for one in entry["demands"]]
    return [
        *(f"path     {way}" for way in ways),
        *(f"{takes} {one.kind_of.format_amount(peak)} of {describe(one)}" for one, peak in resources),
    ]


def _more_lines(entry: Document, reservation: Reservation) -> list[str]:
    """Its group, what becomes of it where a router is not ready, who else may do something with it, its labels."""
    from slotcar.base.vocabulary import IfUnready

    lines, together = [], reservation.together
    if entry.get("group") and together is not None:
        failure = f"on failure {together.on_failure.value}"
        lines.append(f"group    {entry['group']} ({reservation.owner}/{together.group}), {failure}")
    if reservation.if_unready is not IfUnready.DELAY:
        lines.append(f"unready  {reservation.if_unready.value}")
    lines += [
        f"{'' if number else 'handed':<9}{one['to']}: {', '.join(one['may'])} until {one['until']}"
        for number, one in enumerate(entry.get("delegations", ()))
    ]
    if reservation.labels:
        lines.append(f"labels   {', '.join(f'{key}={value}' for key, value in reservation.labels.items())}")
    return lines


def _change_lines(entry: Document, reservation: Reservation) -> list[str]:
    """The change that waits for approval, one line for each key."""
    from slotcar.planning.matching import compare
    from slotcar.views.documents import reservation_of
    from slotcar.views.explain import difference_sentence

    change = entry["proposed"]
    if change is None:
        return []
    differences = compare(reservation, reservation_of(change["reservation"]))
    return [
        f"change   waits for approval, asked by {change['proposed_by']} at {change['proposed_at']}",
        *(f"         {difference_sentence(one.key, one.before, one.after)}" for one in differences),
    ]
