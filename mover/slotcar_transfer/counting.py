"""How far a transfer is: counted where blocks are acknowledged or written, read by whoever reports it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass
class Count:
    """Bytes and files of one transfer.

    Attributes:
        total_bytes, files: what there is to move; 0 before that is known.
        arrived_bytes: at the receiver, with what an earlier try brought.
        lanes: bytes that each connection brought, of this try and of earlier ones of this process.
        files_placed: files under their final names.
    """

    total_bytes: int = 0
    files: int = 0
    arrived_bytes: int = 0
    files_placed: int = 0
    resumed_bytes: int = 0
    tries: int = 0
    lanes: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, total_bytes: int, files: int, arrived_bytes: int, placed: int) -> None:
        with self._lock:
            self.total_bytes, self.files = total_bytes, files
            self.arrived_bytes, self.files_placed = arrived_bytes, placed
            self.resumed_bytes = max(self.resumed_bytes, arrived_bytes if not self.tries else 0)
            self.tries += 1

    def add(self, lane: str, size_bytes: int) -> None:
        with self._lock:
            self.arrived_bytes += size_bytes
            self.lanes[lane] = self.lanes.get(lane, 0) + size_bytes

    def all_placed(self) -> None:
        with self._lock:
            self.files_placed = self.files

    def placed(self, count: int) -> None:
        with self._lock:
            self.files_placed += count

    def take(self, document: dict[str, object]) -> None:
        """What `document` gives at another end."""
        with self._lock:
            for name in ("total_bytes", "files", "arrived_bytes", "files_placed", "resumed_bytes"):
                setattr(self, name, int(str(document.get(name) or 0)))
            lanes = document.get("lanes")
            self.lanes = {str(key): int(one) for key, one in lanes.items()} if isinstance(lanes, dict) else {}

    def document(self) -> dict[str, object]:
        with self._lock:
            return {
                "total_bytes": self.total_bytes, "files": self.files, "arrived_bytes": self.arrived_bytes,
                "files_placed": self.files_placed, "resumed_bytes": self.resumed_bytes, "lanes": dict(self.lanes),
            }  # fmt: skip

    @property
    def remaining_bytes(self) -> int:
        return self.total_bytes - self.arrived_bytes
