"""Transactions over TCP between two nodes, and how many were completed. Standard library only, as traffic.py is.

    transactions.py serve|ask JSON

A transaction is a request and an answer of some size, one after another on a connection that stays (netperf's TCP_RR) or
each on a connection of its own (netperf's TCP_CRR). `serve` writes `ready` once it listens and ends with its connection;
`ask` writes one JSON line when its time is over: of both kinds, how long each of those took that were completed.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from typing import Any

#: A transaction that takes longer counts as none; its worker begins the next one.
PATIENCE_S = 10.0
REQUEST_BYTES = 128


def serve(spec: dict[str, Any]) -> None:
    answer = bytes(spec["answer_bytes"])
    with socket.create_server((spec["address"], spec["port"]), backlog=64) as listener:
        print("ready", flush=True)
        while True:
            peer, _ = listener.accept()
            threading.Thread(target=_answer, args=(peer, answer), daemon=True).start()


def _answer(peer: socket.socket, answer: bytes) -> None:
    try:
        with peer:
            peer.settimeout(PATIENCE_S)
            while _receive(peer, REQUEST_BYTES):
                peer.sendall(answer)
    except OSError:
        pass  # the one who asked has lost patience


def ask(spec: dict[str, Any]) -> None:
    """Workers, `keeping` with a connection that stays and `fresh` without, ask one after another for `duration_s`, after
    `settle_s` that do not count; from `begin` on, seconds since the epoch."""
    time.sleep(max(0.0, spec["begin"] - time.time()))
    begin = time.monotonic() + spec["settle_s"]
    end = begin + spec["duration_s"]
    took_s: dict[str, list[float]] = {"keeping": [], "fresh": []}
    workers = [
        threading.Thread(target=_work, args=(spec, begin, end, kind == "keeping", took_s[kind]))
        for kind in took_s
        for _ in range(spec[kind])
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(json.dumps({kind: sorted(round(one, 4) for one in each) for kind, each in took_s.items()}), flush=True)


def _work(spec: dict[str, Any], begin: float, end: float, keep: bool, took_s: list[float]) -> None:
    request = bytes(REQUEST_BYTES)
    while (started := time.monotonic()) < end:
        try:
            with socket.create_connection((spec["address"], spec["port"]), timeout=PATIENCE_S) as connected:
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while started < end:
                    connected.sendall(request)
                    if not _receive(connected, spec["answer_bytes"]):
                        break
                    over = time.monotonic()
                    if begin <= over < end:
                        took_s.append(over - started)
                    if not keep:
                        break
                    started = over
        except OSError:
            continue


def _receive(connected: socket.socket, octets: int) -> bool:
    """Whether so much came before the other side was done."""
    while octets > 0:
        data = connected.recv(min(octets, 65_536))
        if not data:
            return False
        octets -= len(data)
    return True


def main(arguments: list[str]) -> int:
    try:
        {"serve": serve, "ask": ask}[arguments[0]](json.loads(arguments[1]))
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
