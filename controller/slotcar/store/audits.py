"""What probes measured of SLSs: hours for two months, days for more than a year; and how each way stands (ADR 87)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, RowMapping, delete, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from slotcar.base.timebase import Window, to_us
from slotcar.store import database, schema

HOUR_S, DAY_S = 3_600, 86_400
#: How long windows of a length are kept; those of counters too are kept for 400 days.
KEPT: Mapping[int, timedelta] = {HOUR_S: timedelta(days=62), DAY_S: timedelta(days=400)}
_window, _way = schema.audit_window.c, schema.audit_way.c


class AuditedWay(NamedTuple):
    """An SLS, from the probe at its one side to that at its other."""

    sls: str
    source: str
    destination: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditWindow:
    """What was measured in `[start, start + step)`.

    Attributes:
        measured_us: for how much of it something is known.
        unanswered_packets: of these nothing is known. remarked_packets: arrived by another code point than they were
            sent by; untold_packets: of these nobody says by which.
        clock_error_us: what both clocks may be off by together; None where no delay was measured by clocks that are kept
            right. variation_error_us: by how much one may run from the other between two packets.
        least_delay_us: below 0 where a packet arrived before it was sent, as the clocks have it.
        delays, variations: how many by the number of their bucket (`slotcar.measuring.audits.histogram`).
        longest_loss: of the loss periods, packets. shortest_distance: of two lost packets (RFC 3357).
    """

    way: AuditedWay
    step_s: int
    start_us: int
    measured_us: int
    arrived_packets: int = 0
    lost_packets: int = 0
    unanswered_packets: int = 0
    remarked_packets: int = 0
    untold_packets: int = 0
    clock_error_us: int | None = None
    variation_error_us: int = 0
    least_delay_us: int | None = None
    delays: Mapping[int, int]
    variations: Mapping[int, int]
    loss_periods: int = 0
    longest_loss: int = 0
    shortest_distance: int | None = None


class WayState(NamedTuple):
    """
    Attributes:
        until_us: up to where it was measured.
        verdict: how it stood when that was last known: `kept`, `broken`, or `unknown` where it never was.
    """

    way: AuditedWay
    until_us: int
    verdict: str


_PACKETS = (f"{what}_packets" for what in ("arrived", "lost", "unanswered", "remarked", "untold"))
_ADDED = (*_PACKETS, "loss_periods", "measured_us")


def merged(one: AuditWindow, other: AuditWindow) -> AuditWindow:
    """Both of the same window: what was measured in all. Pure."""
    numbers: dict[str, Any] = {name: getattr(one, name) + getattr(other, name) for name in _ADDED}
    for name, choose in (("clock_error_us", max), ("least_delay_us", min), ("shortest_distance", min)):
        known = [value for value in (getattr(one, name), getattr(other, name)) if value is not None]
        numbers[name] = choose(known) if known else None
    for name in ("variation_error_us", "longest_loss"):
        numbers[name] = max(getattr(one, name), getattr(other, name))
    for name in ("delays", "variations"):
        numbers[name] = dict(Counter(getattr(one, name)) + Counter(getattr(other, name)))
    numbers["measured_us"] = min(numbers["measured_us"], one.step_s * 1_000_000)
    return AuditWindow(way=one.way, step_s=one.step_s, start_us=one.start_us, **numbers)


@dataclass(frozen=True, slots=True)
class AuditStore:
    """
    Raises (every method):
        LedgerUnavailable.
    """

    engine: Engine

    def add(
        self, way: AuditedWay, start_us: int, until_us: int, windows: Iterable[AuditWindow]
    ) -> tuple[AuditWindow, ...] | None:
        """The windows with what was there, once it is added; None where this stretch, or a later one, was added before:
        a probe hands in again what it got no answer for."""
        with database.answering(), self.engine.begin() as connection:
            known_until = _locked_until(connection, way)
            if known_until > start_us:
                return None
            connection.execute(update(schema.audit_way).where(*_is(way)).values(until_us=until_us))
            return tuple(_added(connection, one) for one in windows)

    def stand(self, way: AuditedWay, verdict: str) -> str | None:
        """Notes how a way stands; how it stood where that was otherwise, and None where it was not."""
        with database.answering(), self.engine.begin() as connection:
            before = select(_way.verdict).where(*_is(way)).with_for_update()
            stood = connection.execute(before).scalar_one_or_none()
            if stood is None or stood == verdict:
                return None
            connection.execute(update(schema.audit_way).where(*_is(way)).values(verdict=verdict))
            return str(stood)

    def ways(self) -> tuple[WayState, ...]:
        """By name."""
        chosen = select(_way.sls, _way.source, _way.destination, _way.until_us, _way.verdict).order_by(*_way[:3])
        with database.reading(self.engine) as connection:
            return tuple(
                WayState(AuditedWay(*row[:3]), row.until_us, row.verdict) for row in connection.execute(chosen)
            )

    def windows(self, slses: Collection[str], step_s: int, window: Window) -> tuple[AuditWindow, ...]:
        """Those that begin in a window, by SLS and way, each in the order of time."""
        chosen = select(schema.audit_window).where(
            _window.sls.in_(slses), _window.step_s == step_s, _window.start_us >= window.start_us,
            _window.start_us < window.end_us,
        )  # fmt: skip
        chosen = chosen.order_by(_window.sls, _window.source, _window.destination, _window.start_us)
        with database.reading(self.engine) as connection:
            return tuple(_read(row) for row in connection.execute(chosen).mappings())

    def forget(self, now: datetime) -> None:
        """What is older than windows of its length are kept."""
        old = [(_window.step_s == step_s) & (_window.start_us < to_us(now - kept)) for step_s, kept in KEPT.items()]
        last = to_us(now - max(KEPT.values()))
        with database.answering(), self.engine.begin() as connection:
            connection.execute(delete(schema.audit_window).where(or_(*old)))
            connection.execute(delete(schema.audit_way).where(_way.until_us < last))


def _locked_until(connection: Connection, way: AuditedWay) -> int:
    """Up to where a way was measured; nobody else adds to it until the transaction is over."""
    first = insert(schema.audit_way).values(**way._asdict(), until_us=0, verdict="unknown").on_conflict_do_nothing()
    connection.execute(first)
    return int(connection.execute(select(_way.until_us).where(*_is(way)).with_for_update()).scalar_one())


def _is(way: AuditedWay) -> tuple[Any, ...]:
    return tuple(_way[name] == value for name, value in way._asdict().items())


def _added(connection: Connection, added: AuditWindow) -> AuditWindow:
    key = {**added.way._asdict(), "step_s": added.step_s, "start_us": added.start_us}
    chosen = select(schema.audit_window).where(*(_window[name] == value for name, value in key.items()))
    known = connection.execute(chosen).mappings().one_or_none()
    whole = merged(_read(known), added) if known else added
    values = {one.name: getattr(whole, one.name) for one in fields(AuditWindow) if one.name not in (*key, "way")}
    for name in ("delays", "variations"):
        values[name] = {str(bucket): count for bucket, count in values[name].items()}
    statement = insert(schema.audit_window).values(**key, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=values))
    return whole


def _read(row: RowMapping) -> AuditWindow:
    numbers = {name: value for name, value in row.items() if name not in AuditedWay._fields}
    for name in ("delays", "variations"):
        numbers[name] = {int(bucket): count for bucket, count in row[name].items()}
    return AuditWindow(way=AuditedWay(*(row[name] for name in AuditedWay._fields)), **numbers)
