"""What a stream is to measure, as the configuration says, and what is handed in of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from slotcar_probe.packet import PORT
from slotcar_probe.pairing import Paired, Way

#: Clocks that are being corrected run too fast or too slow by so much at the most, of a million, both together: the
#: kernel slews at 500.
DRIFT_PPM = 1_000
#: Of IP and UDP, which a packet of `packet_bytes` has beside its payload.
HEADER_BYTES = 28


class ConfigurationError(ValueError):
    """The configuration's file says something that cannot be."""


@dataclass(frozen=True, slots=True)
class Stream:
    """
    Attributes:
        sls: what the way there is held to; reverse_sls: the way back; empty where nobody promised anything.
        source, destination: end systems of the inventory, at which the ends of the probe are.
        address: where the reflector answers.
    """

    sls: str
    source: str
    destination: str
    address: str
    dscp: int
    reverse_sls: str = ""
    port: int = PORT
    interval_ms: int = 100
    packet_bytes: int = 200

    @property
    def payload_bytes(self) -> int:
        return self.packet_bytes - HEADER_BYTES


_LEAST_AND_MOST = {"dscp": (0, 63), "port": (1, 65_535), "interval_ms": (10, 10_000), "packet_bytes": (80, 9_000)}


def stream_of(written: Mapping[str, Any]) -> Stream:
    """
    Raises:
        ConfigurationError.
    """
    known = {one.name for one in fields(Stream)}
    if unknown := written.keys() - known:
        raise ConfigurationError(f"a stream has no {', '.join(sorted(unknown))}")
    try:
        stream = Stream(**written)
    except TypeError as error:
        raise ConfigurationError(f"a stream says too little: {error}") from error
    for key, (least, most) in _LEAST_AND_MOST.items():
        value = getattr(stream, key)
        if not isinstance(value, int) or not least <= value <= most:
            raise ConfigurationError(f"{key} is {value!r}; say a whole number from {least} to {most}")
    return stream


def documents(stream: Stream, measured: Paired) -> list[dict[str, Any]]:
    """Of each direction that an SLS promises something of, what `POST /v1/audits/streams` takes."""
    ways = (
        (stream.sls, stream.source, stream.destination, measured.forward),
        (stream.reverse_sls, stream.destination, stream.source, measured.reverse),
    )
    return [_document(stream, measured, *way) for way in ways if way[0] and (way[3].packets or way[3].unanswered)]


def _document(stream: Stream, measured: Paired, sls: str, source: str, destination: str, way: Way) -> dict[str, Any]:
    error_ns = measured.clock_error_ns
    start_us = min((one[1] for one in way.packets), default=way.started_ns) // 1000
    return {
        "sls": sls,
        "source": source,
        "destination": destination,
        "start": datetime.fromtimestamp(start_us // 1_000_000, UTC)
        .replace(microsecond=start_us % 1_000_000)
        .isoformat(),
        "interval_us": stream.interval_ms * 1000,
        "clock_error_us": None if error_ns is None else -(-error_ns // 1000),
        "variation_error_us": -(-stream.interval_ms * 1000 * DRIFT_PPM // 1_000_000),
        "unstamped": way.unstamped,
        "unanswered": way.unanswered,
        "remarked": way.remarked,
        "untold": way.untold,
        "packets": [
            [sequence, sent_ns // 1000 - start_us, None if delay_ns is None else delay_ns // 1000]
            for sequence, sent_ns, delay_ns in sorted(way.packets)
        ],
    }
