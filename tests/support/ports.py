"""TCP ports of loopback that no other test has, in this run or in another one on the machine."""

from __future__ import annotations

import atexit
import random
import socket
from contextlib import ExitStack, closing

LOOPBACK = "127.0.0.1"
#: Below those that Linux gives to connections (from 32768 on): none of them takes one before its server does.
PORTS = range(20_000, 32_000)
#: The marks of this process' ports, until it ends.
_MARKS = ExitStack()
atexit.register(_MARKS.close)


def free_port() -> int:
    """A port on which nothing listens, and which is this process' from now on."""
    first = random.SystemRandom().choice(PORTS)
    for port in (*range(first, PORTS.stop), *range(PORTS.start, first)):
        if _mark(port) and _is_silent(port):
            return port
    raise RuntimeError(f"no free TCP port on {LOOPBACK} from {PORTS.start} to {PORTS.stop - 1}")


def _mark(port: int) -> bool:
    """Whether it is ours: an abstract socket of its name belongs to one process, and to nobody once that has ended."""
    mark = socket.socket(socket.AF_UNIX)
    try:
        mark.bind(f"\0slotcar-test-port-{port}")
    except OSError:
        mark.close()
        return False
    _MARKS.enter_context(mark)
    return True


def _is_silent(port: int) -> bool:
    with closing(socket.socket()) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((LOOPBACK, port))
        except OSError:
            return False
        return True
