"""Refusals in words: what, where, when and how much, and what would fit (docs/design.md rule 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from slotcar.admission.model import Refused
from slotcar.base.timebase import iso
from slotcar.base.units import MAX_RATE_BPS, format_bytes, format_latency, format_rate
from slotcar.base.vocabulary import Shape
from slotcar.managers import request_of
from slotcar.reservation.model import Claim, Reservation, Slot
from slotcar.reservation.need import VolumeByDeadline
from slotcar.reservation.recurrence import left_out
from slotcar.reservation.times import parse_zone

#: More slots than these in one line hide what it says.
SLOTS_SHOWN = 3
#: And of a profile, whose steps have a line each.
PROFILE_SHOWN = 12
#: More hours of a day than these are no daily ones.
HOURS_SHOWN = 6
#: A key of a reservation's document, as a reservation file calls it, and how its value is written there.
_WORDS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "rate_bps": ("rate", format_rate),
    "packet_size_bytes": ("packet_size", format_bytes),
    "rtt_us": ("rtt", format_latency),
    "windows": ("windows", lambda windows: _windows(windows)),
    "slots": ("slots", lambda slots: _slots(slots)),
    "share": ("share", lambda share: share_words(share)),
    "need": ("volume", lambda need: need_words(VolumeByDeadline.model_validate(need))),
    "source": ("source", lambda end: _endpoint(end)),
    "destination": ("destination", lambda end: _endpoint(end)),
    "receivers": ("receivers", lambda receivers: ", ".join(receivers) or "none"),
    "via": ("via", lambda via: ", ".join(via) or "any way"),
    "claim": ("claim", lambda claim: claim_words(Claim.model_validate(claim))),
    "together": ("group", lambda together: f"{together['group']} (on_failure {together['on_failure']})"),
    "labels": ("labels", lambda labels: ", ".join(f"{key}={value}" for key, value in labels.items()) or "none"),
}


def refusal_sentences(reservation: Reservation, refused: Refused, others: str | None = None) -> Iterator[str]:
    """One line of summary, then one each shortage and what would fit, indented. `others`: see `Refused.explain`."""
    amount = rate_words(reservation) if reservation.need is None else need_words(reservation.need)
    what = claim_words(reservation.claim) if reservation.claim else f"{amount} of {reservation.service_class}"
    yield f"{reservation.owner}/{reservation.name}: refused, {what} does not fit"
    for line in refused.explain(others):
        yield f"  {line}"


def claim_words(claim: Claim) -> str:
    """`4 cores of lbnl-data`; of a kind whose manager is not installed any more, its kind and place."""
    request = request_of(claim.kind, claim.request)
    return request.words if request else f"{claim.kind} of {claim.place}"


def need_words(need: VolumeByDeadline) -> str:
    """`2 TB by 2027-03-02T05:00:00Z`, with what else was said of it."""
    words = [f"{format_bytes(need.volume_bytes)} by {iso(need.by)}"]
    if need.start is not None:
        words.append(f"from {iso(need.start)}")
    if need.at_least_bps:
        words.append(f"at least {format_rate(need.at_least_bps)}")
    if need.at_most_bps is not None:
        words.append(f"at most {format_rate(need.at_most_bps)}")
    return ", ".join(words if need.shape is Shape.STEADY else [*words, need.shape.value])


def profile_lines(reservation: Reservation) -> list[str]:
    """The rates of a reservation that has several, or that were found for a need: `44.4 Mbit/s, 2027-03-01T22:00:00Z to
    2027-03-02T05:00:00Z`; of rates by the hours of the day `34 Mbit/s, 20:00 to 06:00 Europe/Zurich`."""
    if reservation.need is None and len({slot.rates for slot in reservation.slots}) == 1:
        return []
    hours = _hours_lines(reservation)
    if hours:
        return hours
    lines = [f"{rates_words(slot)}, {iso(slot.start)} to {iso(slot.end)}" for slot in reservation.slots]
    more = len(lines) - PROFILE_SHOWN
    return (
        lines
        if more <= 0
        else [*lines[:PROFILE_SHOWN], f"and {more} more steps until {iso(reservation.slots[-1].end)}"]
    )


def _hours_lines(reservation: Reservation) -> list[str]:
    """The hours of the day of each rate, on the reservation's own wall clock; none where they are not the same each day.

    The first and the last part may be cut by the reservation's own start and end: they are no hours.
    """
    if reservation.timezone is None or reservation.need is not None:
        return []
    zone = parse_zone(reservation.timezone)
    hours = dict.fromkeys(
        f"{rates_words(slot)}, {slot.start.astimezone(zone):%H:%M} to {slot.end.astimezone(zone):%H:%M}"
        for slot in reservation.slots[1:-1]
    )
    whole = {slot.rates for slot in reservation.slots[1:-1]} == {slot.rates for slot in reservation.slots}
    return [f"{line} {reservation.timezone}" for line in hours] if whole and len(hours) <= HOURS_SHOWN else []


def clock_note(reservation: Reservation) -> str:
    """`no slot on 2027-03-28: the clocks of Europe/Zurich leave 02:30 out that day`; empty where none is lost so."""
    if reservation.recurrence is None or reservation.timezone is None:
        return ""
    missing = left_out(reservation.recurrence, reservation.windows, parse_zone(reservation.timezone))
    if not missing:
        return ""
    days = ", ".join(f"{one:%Y-%m-%d}" for one in missing[:SLOTS_SHOWN])
    more = f" and {len(missing) - SLOTS_SHOWN} more days" if len(missing) > SLOTS_SHOWN else ""
    times = " and ".join(dict.fromkeys(f"{one:%H:%M}" for one in missing))
    then = "that day" if len(missing) == 1 else "then"
    return f"no slot on {days}{more}: the clocks of {reservation.timezone} leave {times} out {then}"


def rates_words(slot: Slot) -> str:
    """`36 Mbit/s`; `20 Mbit/s forward, 1 Mbit/s reverse` where both ways have a rate of their own."""
    one_way = not slot.forward_bps or not slot.reverse_bps or slot.forward_bps == slot.reverse_bps
    return format_rate(max(slot.rates)) if one_way else _both_ways(*slot.rates)


def rate_words(reservation: Reservation) -> str:
    """`36 Mbit/s`; `20 Mbit/s forward, 1 Mbit/s reverse`; `up to 34 Mbit/s` where it changes with time."""
    if reservation.claim is not None:
        return claim_words(reservation.claim)
    if reservation.share is not None:
        return share_words(reservation.share.model_dump())
    constant = reservation.constant_rate_bps
    if constant is not None:
        return format_rate(constant)
    if len({slot.rates for slot in reservation.slots}) == 1:
        return _both_ways(reservation.slots[0].forward_bps, reservation.slots[0].reverse_bps)
    return f"up to {format_rate(reservation.peak_rate_bps)}"


def share_words(share: dict[str, Any]) -> str:
    """`background, weight 2, 1 Mbit/s to 40 Mbit/s`, of a share's document; the bounds only where there are some."""
    least, most = share["at_least_bps"], share["at_most_bps"]
    words = f"background, weight {share['weight']}"
    if least and most < MAX_RATE_BPS:
        return f"{words}, {format_rate(least)} to {format_rate(most)}"
    return (
        words
        + (f", at least {format_rate(least)}" if least else "")
        + (f", at most {format_rate(most)}" if most < MAX_RATE_BPS else "")
    )


def _both_ways(forward_bps: int, reverse_bps: int) -> str:
    rates = ((forward_bps, "forward"), (reverse_bps, "reverse"))
    return ", ".join(f"{format_rate(rate_bps)} {way}" for rate_bps, way in rates if rate_bps)


def difference_sentence(key: str, before: Any, after: Any) -> str:
    """`rate: 20 Mbit/s -> 21 Mbit/s`, in the words of a reservation file."""
    name, words = _WORDS.get(key, (key, str))
    old, new = ("none" if value is None else words(value) for value in (before, after))
    return f"{name}: {old} -> {new}"


def _endpoint(end: dict[str, Any]) -> str:
    return f"{end['host']}:{end['port']}" if end["port"] else str(end["host"])


def _slots(slots: list[dict[str, Any]]) -> str:
    listed = [
        f"{_both_ways(one['forward_bps'], one['reverse_bps'])} from {one['start']}" for one in slots[:SLOTS_SHOWN]
    ]
    more = [f"{len(slots) - SLOTS_SHOWN} more"] if len(slots) > SLOTS_SHOWN else []
    return f"{', '.join(listed + more)}, until {slots[-1]['end']}"


def _windows(windows: list[dict[str, str]]) -> str:
    first, last = windows[0], windows[-1]
    more = f", {len(windows)} times until {last['end']}" if len(windows) > 1 else ""
    return f"{first['start']} to {first['end']}{more}"
