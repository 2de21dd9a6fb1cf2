"""Tells on a router which ports its filters name, whenever that changes. Standard library only.

    watcher.py DEVICE

Writes one JSON line at the beginning, after each change, and for each line that it is given: the seconds since the epoch by
this kernel's clock, the ports, and whether it was asked. It sleeps until the kernel tells of a change: to ask again and
again costs an emulated router half a processor.
"""

from __future__ import annotations

import contextlib
import json
import re
import select
import socket
import subprocess
import sys
import time

#: linux/rtnetlink.h: queues, classes, filters and actions that come and go.
RTMGRP_TC = 8
RECEIVE_BUFFER_BYTES = 1_000_000
#: A push changes many things in one go, and to look costs an emulated router as much as all of them.
TOGETHER_S = 0.02


def ports(device: str) -> list[int]:
    listed = subprocess.run(
        ["tc", "filter", "show", "dev", device, "ingress"], capture_output=True, text=True, check=False
    )
    return sorted({int(port) for port in re.findall(r"(?:dst|src)_port (\d+)", listed.stdout)})


def main(device: str) -> None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as changes:
        changes.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        changes.bind((0, RTMGRP_TC))
        at_s, last, on_request = time.time(), None, False
        while True:
            policed = ports(device)
            if policed != last or on_request:
                sys.stdout.write(json.dumps({"at_s": at_s, "ports": policed, "asked": on_request}) + "\n")
                sys.stdout.flush()
                last = policed
            ready, _, _ = select.select([changes, sys.stdin], [], [])
            # What changed before it was asked comes first.
            on_request = changes not in ready
            if on_request and not sys.stdin.readline():
                return
            at_s = time.time() if on_request else wait_for_change(changes)


def wait_for_change(changes: socket.socket) -> float:
    """Waits for a change and takes those that follow within `TOGETHER_S`; gives when the first came, s since the epoch."""
    changes.setblocking(True)
    # More than the buffer holds is an error here, and in what is looked at next like all else.
    with contextlib.suppress(OSError):
        changes.recv(1 << 16)
    at_s = time.time()
    time.sleep(TOGETHER_S)
    changes.setblocking(False)
    while True:
        try:
            changes.recv(1 << 16)
        except BlockingIOError:
            return at_s
        except OSError:
            continue


if __name__ == "__main__":
    main(sys.argv[1])
