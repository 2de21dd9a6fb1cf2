"""What transfers took and what probes measured, in the ledger's database: the latest of each way, in bounded space."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Engine, Select, Table, and_, delete, insert, or_, select

from slotcar.base.timebase import MICROSECOND
from slotcar.store import database, schema

#: Of one way, so many transfers and so many samples of probes are kept.
KEPT = 500
_moved, _probe = schema.transfer_sample.c, schema.probe_sample.c


class MeasuredWay(NamedTuple):
    """From a host to a host, each with its monitoring domain."""

    source: str
    destination: str
    source_domain: str
    destination_domain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferSample:
    """A transfer that is over.

    Attributes:
        reserved_bps: the mean payload rate that it was promised; None where nothing was reserved.
        estimated_us: what it would have been said to take when it began, with the interval of the middle 68 %, and from
            enough samples that of nine in ten; None where nothing was known.
    """

    way: MeasuredWay
    volume_bytes: int
    started_at: datetime
    ended_at: datetime
    tool: str
    reserved_bps: int | None = None
    estimated_us: int | None = None
    low_us: int | None = None
    high_us: int | None = None
    least_us: int | None = None
    most_us: int | None = None

    @property
    def took_us(self) -> int:
        return max(1, (self.ended_at - self.started_at) // MICROSECOND)

    @property
    def throughput_bps(self) -> int:
        return self.volume_bytes * 8 * 1_000_000 // self.took_us


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSample:
    """What a probe measured; None of what it did not measure. `loss_ppm`: packets lost of a million."""

    way: MeasuredWay
    at: datetime
    tool: str
    rtt_us: int | None = None
    throughput_bps: int | None = None
    loss_ppm: int | None = None


@dataclass(frozen=True, slots=True)
class Measurements:
    """
    Raises (every method):
        LedgerUnavailable.
    """

    engine: Engine

    def add_transfer(self, sample: TransferSample) -> None:
        self._add(schema.transfer_sample, sample, schema.transfer_sample.c.ended_at)

    def add_probe(self, sample: ProbeSample) -> None:
        self._add(schema.probe_sample, sample, schema.probe_sample.c.at)

    def transfers(self, ways: Collection[MeasuredWay], since: datetime, until: datetime) -> tuple[TransferSample, ...]:
        """Those from one of the ways' sources to one of their destinations, of the hosts or of their monitoring domains,
        that ended in `[since, until)`, the latest first."""
        chosen = select(schema.transfer_sample).where(_along(schema.transfer_sample, ways))
        chosen = chosen.where(_moved.ended_at >= since, _moved.ended_at < until)
        return self._transfers(chosen)

    def all_transfers(self, since: datetime) -> tuple[TransferSample, ...]:
        """All that ended at `since` or later, the latest first."""
        return self._transfers(select(schema.transfer_sample).where(_moved.ended_at >= since))

    def probes(self, ways: Collection[MeasuredWay], since: datetime, until: datetime) -> tuple[ProbeSample, ...]:
        """As `transfers`, of probes."""
        chosen = select(schema.probe_sample).where(_along(schema.probe_sample, ways))
        chosen = chosen.where(_probe.at >= since, _probe.at < until).order_by(_probe.at.desc(), _probe.number.desc())
        with database.reading(self.engine) as connection:
            return tuple(
                ProbeSample(
                    way=MeasuredWay(row.source, row.destination, row.source_domain, row.destination_domain), at=row.at,
                    tool=row.tool, rtt_us=row.rtt_us, throughput_bps=row.throughput_bps, loss_ppm=row.loss_ppm,
                )
                for row in connection.execute(chosen)
            )  # fmt: skip

    def _transfers(self, chosen: Select[tuple[object, ...]]) -> tuple[TransferSample, ...]:
        chosen = chosen.order_by(_moved.ended_at.desc(), _moved.number.desc())
        with database.reading(self.engine) as connection:
            return tuple(
                TransferSample(
                    way=MeasuredWay(row.source, row.destination, row.source_domain, row.destination_domain),
                    volume_bytes=int(row.volume_bytes), started_at=row.started_at, ended_at=row.ended_at, tool=row.tool,
                    reserved_bps=row.reserved_bps, estimated_us=row.estimated_us, low_us=row.low_us,
                    high_us=row.high_us, least_us=row.least_us, most_us=row.most_us,
                )
                for row in connection.execute(chosen)
            )  # fmt: skip

    def _add(self, table: Table, sample: TransferSample | ProbeSample, instant: ColumnElement[datetime]) -> None:
        """Keeps it, and forgets the oldest of its way beyond `KEPT`."""
        values = {name: getattr(sample, name) for name in type(sample).__slots__ if name != "way"}
        kept = select(table.c.number).where(_between(table, sample.way)).order_by(instant.desc()).limit(KEPT)
        with database.answering(), self.engine.begin() as connection:
            connection.execute(insert(table).values(**values, **sample.way._asdict()))
            connection.execute(delete(table).where(_between(table, sample.way), table.c.number.not_in(kept)))


def _between(table: Table, way: MeasuredWay) -> ColumnElement[bool]:
    return and_(table.c.source == way.source, table.c.destination == way.destination)


def _along(table: Table, ways: Collection[MeasuredWay]) -> ColumnElement[bool]:
    by_column = {name: sorted({getattr(way, name) for way in ways}) for name in MeasuredWay._fields}
    hosts = and_(*(table.c[name].in_(by_column[name]) for name in ("source", "destination")))
    domains = and_(*(table.c[name].in_(by_column[name]) for name in ("source_domain", "destination_domain")))
    return or_(hosts, domains)
