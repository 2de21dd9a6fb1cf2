"""Sends images over TCP to a node, or takes them there. Standard library only.

ends.py receive ADDRESS PORT            says when the last byte came, seconds since the epoch
ends.py send ADDRESS PORT BEGIN OCTETS  sends so many, from an instant on
"""

from __future__ import annotations

import socket
import sys
import time

PIECE_BYTES = 65_536


def receive(address: str, port: int) -> None:
    with socket.create_server((address, port)) as listener:
        print("ready", flush=True)
        connected, _ = listener.accept()
        with connected:
            octets = 0
            while piece := connected.recv(PIECE_BYTES):
                octets, last = octets + len(piece), time.time()
    print(f"{octets} {last:.6f}", flush=True)


def send(address: str, port: int, begin: float, octets: int) -> None:
    piece = memoryview(bytes(PIECE_BYTES))
    print("ready", flush=True)
    time.sleep(max(0.0, begin - time.time()))
    with socket.create_connection((address, port)) as connected:
        while octets > 0:
            octets -= connected.send(piece[:octets])


def main(arguments: list[str]) -> None:
    role, address, port, *numbers = arguments
    if role == "receive":
        receive(address, int(port))
    else:
        send(address, int(port), float(numbers[0]), int(numbers[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
