"""One end of Figure 6's flow, or load on its receiver's cores. Standard library only: runs with the node's python3.

    ends.py receive ADDRESS PORT NS_PER_BYTE    works so long, in time of a core, on each byte that it takes
    ends.py send ADDRESS PORT RATE_BPS BEGIN    sends from then on, seconds since the epoch, paced by the kernel
    ends.py load COUNT BEGIN                    so many processes for each core that never rest from then on

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


def send(address: str, port: int, rate_bps: int, begin: float) -> None:
    say(pid=os.getpid())
    with socket.socket() as connected:
        connected.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, rate_bps // 8)
        # Ahead of the load: it is the receiver's core that is short.
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        wait_until(begin)
        connected.connect((address, port))
        data = bytes(65_536)
        while True:
            connected.send(data)


def load(count: int, begin: float) -> None:
    say(pid=os.getpid())
    wait_until(begin)
    for _ in range(count * (os.cpu_count() or 1) - 1):
        if os.fork() == 0:
            break
    while True:
        hashlib.sha256(b"busy").digest()


def wait_until(at: float) -> None:
    time.sleep(max(0.0, at - time.time()))


def main(role: str, *arguments: str) -> None:
    if role == "load":
        load(int(arguments[0]), float(arguments[1]))
    elif role == "send":
        send(arguments[0], int(arguments[1]), int(arguments[2]), float(arguments[3]))
    else:
        receive(arguments[0], int(arguments[1]), int(arguments[2]))


if __name__ == "__main__":
    main(*sys.argv[1:])
