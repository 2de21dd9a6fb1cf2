"""How this process is told to end, and what may still finish: SIGTERM, Ctrl-C, a terminal that goes away.

The first signal asks: nothing new is begun, and what changes devices is finished or taken back. The second ends at once.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from slotcar.base.problems import SlotcarError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopping(SlotcarError):
    """Slotcar was told to stop: nothing new is begun."""

    def __init__(self) -> None:
        super().__init__("Slotcar was told to stop, so nothing was begun any more")


def end_after(seconds: float, status: int, why: str) -> None:
    """Ends this process at the latest then, whatever its threads wait for: some wait for what never comes."""

    def end() -> None:
        os.write(2, f"slotcar: ended at once: {why}\n".encode())
        os._exit(status)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


class StopRequest:
    """Whether this process is to end. Set by signals (`heed_signals`), heeded by whatever takes time.

    Attributes:
        requested: it is to end; what changes devices may finish.
        at_once: it is to end now, whatever it does.
        signal_number: the signal that asked for it first; 0 without one.
    """

    def __init__(self) -> None:
        self.requested = threading.Event()
        self.at_once = threading.Event()
        self.signal_number = 0
        self._requested_at_s = 0.0
        self._handlers: list[Callable[[], None]] = []

    def request(self) -> None:
        if not self.requested.is_set():
            self._requested_at_s = time.monotonic()
            self.requested.set()

    def check(self) -> None:
        """
        Raises:
            Stopping: this process is to end.
        """
        if self.requested.is_set():
            raise Stopping

    def lasts_s(self) -> float:
        """For how long it has been asked for, in seconds; 0 where it has not."""
        return time.monotonic() - self._requested_at_s if self.requested.is_set() else 0.0

    @contextmanager
    def handled(self, on_signal: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Inside, a first signal interrupts nothing: `on_signal` is called, and the request is looked at in time."""
        self._handlers.append(on_signal)
        try:
            yield
        finally:
            self._handlers.remove(on_signal)

    def heed_signals(self) -> None:
        """From now on, in the main thread. A signal that this process was started to ignore stays ignored (`nohup`)."""
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        again = self.requested.is_set()
        if again:
            self.at_once.set()
        self.signal_number = self.signal_number or number
        self.request()
        for handler in list(self._handlers):
            handler()
        if not self._handlers or (again and not self._serves):
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    #: A server is ended through its own handler and never by an exception in the middle of it.
    _serves = False

    @contextmanager
    def serving(self, on_signal: Callable[[], None]) -> Iterator[None]:
        """As `handled`, also for the second signal: `on_signal` ends what goes on, and looks at `at_once`."""
        self._serves = True
        try:
            with self.handled(on_signal):
                yield
        finally:
            self._serves = False


#: Of this process: signals have one receiver.
PROCESS = StopRequest()
