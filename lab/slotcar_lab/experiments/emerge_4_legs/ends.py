"""A client or the server of EMERGE 4's application: messages of an avatar, and who hands them on. Standard library only.

    ends.py client ADDRESS PORT SERVER SERVER_PORT BEGIN END BYTES PERIOD_S
    ends.py server ADDRESS PORT:TO_ADDRESS,PORT:TO_ADDRESS

A client takes at its own port what the server hands on, and sends its own avatar to the server from BEGIN to END, seconds
since the epoch: each message begins with its number. The server hands each datagram on to the same port of another client.
"""

from __future__ import annotations

import select
import socket
import struct
import sys
import time

NUMBER = struct.Struct("!Q")
MOST_BYTES = 2_048


def bound(address: str, port: int) -> socket.socket:
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.bind((address, port))
    return end


def client(
    address: str, port: int, server: tuple[str, int], begin: float, end: float, size: int, period_s: float
) -> None:
    receiving = bound(address, port)
    receiving.setblocking(False)
    sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sending.connect(server)
    print("ready", flush=True)
    for number in range(int((end - begin) / period_s)):
        due = begin + number * period_s
        while (left_s := due - time.time()) > 0:
            if select.select([receiving], [], [], left_s)[0]:
                receiving.recv(MOST_BYTES)
        sending.send(NUMBER.pack(number).ljust(size, b"\0"))


def server(address: str, ways: dict[int, str]) -> None:
    ends = {bound(address, port): (to, port) for port, to in ways.items()}
    print("ready", flush=True)
    while True:
        for end in select.select(list(ends), [], [])[0]:
            end.sendto(end.recv(MOST_BYTES), ends[end])


def main(arguments: list[str]) -> None:
    role, address = arguments[:2]
    if role == "server":
        ways = dict(one.split(":") for one in arguments[2].split(","))
        server(address, {int(port): to for port, to in ways.items()})
        return
    port, to, to_port, begin, end, size, period_s = arguments[2:]
    client(address, int(port), (to, int(to_port)), float(begin), float(end), int(size), float(period_s))


if __name__ == "__main__":
    main(sys.argv[1:])
