"""Signals that end a command in order."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator

from slotcar_transfer.errors import Stopped


@contextlib.contextmanager
def stopped_by_signals(stop: Callable[[BaseException], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM stop it in order: what was reserved is given back, and what has arrived is kept."""

    def handler(number: int, _frame: object) -> None:
        stop(Stopped(f"stopped by {signal.Signals(number).name}; say the same command again to go on"))

    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, one in before.items():
            signal.signal(number, one)
