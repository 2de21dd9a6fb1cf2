"""Which ports of the loopback address the routers get."""

from __future__ import annotations

import atexit
import contextlib
import socket
import zlib
from collections.abc import Iterator
from pathlib import Path

from slotcar_lab.errors import LabError
from slotcar_lab.keys import LOOPBACK
from slotcar_lab.topology import PORT_BASE_VARIABLE, Topology

FIRST_PORT = 21_000
#: Below the range from which Linux takes ports for outgoing connections (32768 on): those come and go.
LAST_PORT = 31_000
#: Of this program's ports, until it ends.
_CLAIMS = contextlib.ExitStack()
atexit.register(_CLAIMS.close)


def of_routers(topology: Topology, state_dir: Path) -> dict[str, int]:
    """Each router's management port: the one it asks for, else a free one.

    Raises:
        LabError: another program holds a port that a router asks for.
    """
    fixed_ports = {node.name: node.management_port for node in topology.nodes if node.management_port}
    taken = [f"{port} ({router})" for router, port in fixed_ports.items() if not _is_free(port)]
    if taken:
        raise LabError(
            f"another program, perhaps another lab, listens on {LOOPBACK} at the routers' ports {', '.join(taken)}; "
            f"set {PORT_BASE_VARIABLE} to the number before a free row, such as {_free_base(len(fixed_ports))}"
        )
    others = free(set(fixed_ports.values()), state_dir)
    return {router: fixed_ports.get(router) or next(others) for router in topology.routers}


def free(reserved: set[int], state_dir: Path) -> Iterator[int]:
    """Free ports, searched from a place that each state directory has of its own.

    So routers without a fixed port keep theirs from lab to lab, and two checkouts that start at once do not choose
    the same one between looking and listening.
    """
    span = LAST_PORT - FIRST_PORT
    start = zlib.crc32(str(state_dir.resolve()).encode()) % span
    for step in range(span):
        port = FIRST_PORT + (start + step) % span
        if port not in reserved and _is_free(port):
            reserved.add(port)
            yield port
    raise LabError(f"no free TCP port on {LOOPBACK} from {FIRST_PORT} to {LAST_PORT}")


def _free_base(count: int) -> int:
    """The first round base with that many free ports after it."""
    bases = range(2_300, LAST_PORT, 100)
    return next((base for base in bases if all(_is_free(base + step) for step in range(1, count + 1))), bases[0])


def claim(port: int) -> bool:
    """Whether a port is free, and this program's from now on: what it starts there may take a while until it listens.

    An abstract socket of its name belongs to one process, and to nobody once that has ended.
    """
    mark = socket.socket(socket.AF_UNIX)
    try:
        mark.bind(f"\0slotcar-lab-port-{port}")
    except OSError:
        mark.close()
        return False
    if not _is_free(port):
        mark.close()
        return False
    _CLAIMS.enter_context(mark)
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
