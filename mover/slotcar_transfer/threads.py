"""The threads of one transfer: none begins once they are waited for, and none of them is missed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection


class Threads:
    """Connections come and go while a transfer ends, so that one thread may begin another while they are joined."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._over = False

    def start(self, work: Callable[[], None], name: str) -> bool:
        """False, and not started, once they were joined."""
        thread = threading.Thread(target=work, name=name, daemon=True)
        with self._lock:
            if not self._over:
                thread.start()
                self._threads.append(thread)
            return not self._over

    def join(self, leave: Collection[str] = ()) -> None:
        """Waits until all have ended but those of the names in `leave`, which end by themselves."""
        with self._lock:
            self._over, threads = True, list(self._threads)
        for thread in threads:
            if thread.name not in leave:
                thread.join()
