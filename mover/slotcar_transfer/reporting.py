"""What a transfer shows: a bar on a terminal, JSON lines elsewhere; rates, what remains, the promised end, the margin."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TextIO

from slotcar_transfer.counting import Count
from slotcar_transfer.errors import size_text
from slotcar_transfer.lanes import Steering
from slotcar_transfer.tcp import ADDITIONAL, BASE

#: Rates are means over so long.
MEAN_S = 5.0
_BAR = 24


@dataclass(frozen=True, slots=True)
class Figures:
    """At an instant; rates of payload in bits per second."""

    at: datetime
    total_bytes: int
    arrived_bytes: int
    files: int
    files_placed: int
    base_bps: int
    additional_bps: int
    committed_bps: int | None
    expected_end: datetime | None
    promised_end: datetime | None
    deadline: datetime | None

    @property
    def margin_s(self) -> int | None:
        """From the end that is to be expected to the deadline; negative where it will be late."""
        ends = [one for one in (self.expected_end, self.promised_end) if one is not None]
        return None if self.deadline is None or not ends else int((self.deadline - min(ends)).total_seconds())

    def document(self) -> dict[str, Any]:
        return {
            "event": "progress", "at": _text(self.at), "total_bytes": self.total_bytes,
            "arrived_bytes": self.arrived_bytes, "remaining_bytes": self.total_bytes - self.arrived_bytes,
            "files": self.files, "files_placed": self.files_placed, "base_bps": self.base_bps,
            "additional_bps": self.additional_bps, "committed_bps": self.committed_bps,
            "expected_end": _text(self.expected_end), "promised_end": _text(self.promised_end),
            "deadline": _text(self.deadline), "margin_s": self.margin_s,
        }  # fmt: skip


@dataclass
class Meter:
    """Finds the figures out of what is counted."""

    count: Count
    steering: Steering
    deadline: datetime | None
    clock: Callable[[], float] = time.monotonic
    _samples: deque[tuple[float, dict[str, int]]] = field(default_factory=deque)

    def figures(self, now: datetime) -> Figures:
        at, lanes = self.clock(), dict(self.count.lanes)
        self._samples.append((at, lanes))
        while len(self._samples) > 2 and self._samples[1][0] <= at - MEAN_S:
            self._samples.popleft()
        since, before = self._samples[0]

        def rate(lane: str) -> int:
            moved = lanes.get(lane, 0) - before.get(lane, 0)
            return round(max(0, moved) * 8 / (at - since)) if at > since else 0

        base, additional = rate(BASE), rate(ADDITIONAL)
        remaining, profile = self.count.remaining_bytes, self.steering.profile
        total = base + additional
        expected = datetime.fromtimestamp(now.timestamp() + remaining * 8 / total, UTC) if total else None
        return Figures(
            now, self.count.total_bytes, self.count.arrived_bytes, self.count.files, self.count.files_placed, base,
            additional, None if profile is None else profile.rate_at(now), expected,
            None if profile is None else profile.moved_by(remaining, now), self.deadline,
        )  # fmt: skip


class Display:
    """On a terminal one line that is written over, with sentences above it; else a line of JSON for each thing. Nothing is
    written after its end, whichever thread would."""

    def __init__(self, out: TextIO | None = None, notes: TextIO | None = None, bar: bool | None = None) -> None:
        self._out, self._notes = out or sys.stdout, notes or sys.stderr
        self._bar = self._notes.isatty() if bar is None else bar
        self._drawn = self._ended = False
        self._lock = threading.Lock()

    def say(self, words: str) -> None:
        with self._lock:
            if not self._ended:
                self._say(words)

    def show(self, figures: Figures) -> None:
        with self._lock:
            if not self._ended:
                self._show(figures)

    def end(self, document: dict[str, Any], words: str) -> None:
        with self._lock:
            if not self._ended:
                self._ended = True
                self._end(document, words)

    def _say(self, words: str) -> None:
        if self._bar:
            self._wipe()
            self._write(self._notes, words + "\n")
        else:
            self._write(
                self._out, json.dumps({"event": "message", "at": _text(datetime.now(UTC)), "words": words}) + "\n"
            )

    def _show(self, figures: Figures) -> None:
        if not self._bar:
            self._write(self._out, json.dumps(figures.document()) + "\n")
            return
        self._write(self._notes, "\r\x1b[K" + line_of(figures))
        self._drawn = True

    def _end(self, document: dict[str, Any], words: str) -> None:
        if self._bar:
            self._wipe()
            self._write(self._notes, words + "\n")
        else:
            self._write(self._out, json.dumps(document) + "\n")

    def _wipe(self) -> None:
        if self._drawn:
            self._write(self._notes, "\r\x1b[K")
            self._drawn = False

    def _write(self, stream: TextIO, text: str) -> None:
        try:
            stream.write(text)
            stream.flush()
        except OSError:
            """Whoever read it is gone; the transfer is not."""


def line_of(figures: Figures) -> str:
    part = figures.arrived_bytes / figures.total_bytes if figures.total_bytes else 0.0
    bar = "#" * int(part * _BAR)
    rates = f"base {figures.base_bps / 1e6:.1f}"
    if figures.committed_bps is not None:
        rates += f" of {figures.committed_bps / 1e6:.1f}, additional {figures.additional_bps / 1e6:.1f}"
    margin = "" if figures.margin_s is None else f", margin {duration_text(figures.margin_s)}"
    remains = size_text(figures.total_bytes - figures.arrived_bytes)
    return f"[{bar:<{_BAR}}] {part:4.0%} {rates} Mbit/s, {remains} remain{margin}"


def duration_text(seconds: int) -> str:
    sign, seconds = ("-" if seconds < 0 else ""), abs(seconds)
    hours, rest = divmod(seconds, 3600)
    return f"{sign}{hours}:{rest // 60:02}:{rest % 60:02}"


def _text(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
