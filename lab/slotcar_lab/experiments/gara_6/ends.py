"""One end of Figure 6's flow, or load on its receiver's cores. Standard library only: runs with the node's python3.

    ends.py receive ADDRESS PORT NS_PER_BYTE   works so long, in time of a core, on each byte that it takes
    ends.py send ADDRESS PORT RATE_BPS         sends all the time, paced by the kernel
    ends.py load COUNT                         so many processes that never rest, for each core

Each says what it is in a first line of JSON; the receiver then says each half second how much it has worked off.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import sys
import time

SAY_S = 0.5
#: Taken at once. Also about what the receiver's socket holds, so that the sender notices at once that it is slower.
CHUNK_BYTES = 16_384
SO_MAX_PACING_RATE = 47


def say(**what: float) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def receive(address: str, port: int, ns_per_byte: int) -> None:
    buffer = bytearray(CHUNK_BYTES)
    octets = worked_ns = 0
    with socket.create_server((address, port)) as listener:
        # What is accepted has the listener's buffers.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2 * CHUNK_BYTES)
        say(pid=os.getpid())
        peer, _ = listener.accept()
        due = time.time() + SAY_S
        began_ns = time.thread_time_ns()
        while count := peer.recv_into(buffer):
            octets += count
            worked_ns += count * ns_per_byte
            while time.thread_time_ns() - began_ns < worked_ns:
                hashlib.sha256(buffer).digest()
            # Time that it took for itself is no credit for the bytes to come.
            worked_ns = max(worked_ns, time.thread_time_ns() - began_ns)
            if (now := time.time()) >= due:
                say(at=now, octets=octets)
                due = now + SAY_S


def send(address: str, port: int, rate_bps: int) -> None:
    with socket.socket() as connected:
        connected.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, rate_bps // 8)
        # Ahead of the load: it is the receiver's core that is short.
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        connected.connect((address, port))
        say(pid=os.getpid())
        data = bytes(65_536)
        while True:
            connected.send(data)


def load(count: int) -> None:
    for _ in range(count * (os.cpu_count() or 1) - 1):
        if os.fork() == 0:
            break
    else:
        say(pid=os.getpid())
    while True:
        hashlib.sha256(b"busy").digest()


if __name__ == "__main__":
    if sys.argv[1] == "load":
        load(int(sys.argv[2]))
    else:
        {"receive": receive, "send": send}[sys.argv[1]](sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
