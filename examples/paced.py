"""A UDP sender that keeps to a rate which may be changed while it sends."""

from __future__ import annotations

import socket
import threading
import time

#: Payload of one packet. A reservation states its packets' size, because routers count headers too.
PAYLOAD_BYTES = 500


class PacedSender:
    """Sends from its making until it is closed; use it with `with`.

    Attributes:
        rate_bps: payload bits per second; 0 sends nothing.
    """

    def __init__(self, to: tuple[str, int], rate_bps: int = 0) -> None:
        self.rate_bps = rate_bps
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._to = to
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> PacedSender:
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        number, due_s = 0, time.monotonic()
        while not self._over.is_set():
            rate_bps = self.rate_bps  # another thread may change it at any moment, to 0 too
            if rate_bps <= 0:
                self._over.wait(0.01)
                due_s = time.monotonic()
                continue
            self._socket.sendto(number.to_bytes(8, "big").ljust(PAYLOAD_BYTES, b"."), self._to)
            number += 1
            # What a busy machine sends late is made up for, but no more than a tenth of a second of it.
            due_s = max(due_s + PAYLOAD_BYTES * 8 / rate_bps, time.monotonic() - 0.1)
            self._over.wait(max(0.0, due_s - time.monotonic()))
