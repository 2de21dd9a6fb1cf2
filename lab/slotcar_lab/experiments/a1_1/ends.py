"""One end of A1's Figure 1: streams of blocks, each at its instant. Standard library and the client library only.

    ends.py send LIBRARY ADDRESS SCHEDULE       sends each stream for its seconds
    ends.py receive LIBRARY ADDRESS SCHEDULE    takes them, and says at the end how fast each came

LIBRARY is the folder of `slotcar_client`. SCHEDULE is JSON: `[{how, size, port, begin, seconds, rate_ps}, …]`. `how` is
`raw` for datagrams without the library, `tcp` for a plain stream, `again` and `once` for the library with and without
retransmission.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

#: What may be pending, whatever the blocks' size.
PENDING_BYTES = 65_536
#: A receiver is there so long before its stream begins, waits so long for it, and so long for each block: of datagrams
#: the end may be lost, too.
AHEAD_S, PATIENCE_S, SILENCE_S = 0.8, 2.0, 0.4
#: What a sender that is behind makes up for, as the library does where no burst is stated.
BEHIND_MS = 5
IP_AND_UDP_BYTES, ETHERNET_BYTES, MTU_BYTES = 28, 14, 1_500


def wait_until(at: float) -> None:
    time.sleep(max(0.0, at - time.time()))


def vector(stream: dict[str, Any], **way: int) -> Any:
    from slotcar_client.vectors import Option, Vector

    kept = Option.MBP | Option.UNI | (Option.RETRAN if stream["how"] == "again" else Option.DATA_CHECK)
    return Vector(coptions=kept, max_alloc=max(2, PENDING_BYTES // stream["size"]), **way)


def sender(stream: dict[str, Any], address: str) -> tuple[Callable[[bytes], object], Callable[[], object]]:
    """What sends a block, and what ends the stream."""
    to = (address, stream["port"])
    if stream["how"] == "tcp":
        connected = socket.create_connection(to)
        return connected.sendall, connected.close
    if stream["how"] == "raw":
        return raw(to, stream)
    from slotcar_client.vectors import mapping, sockets
    from slotcar_client.vectors.connection import Connection

    # Of a rate that both ends know, as if the network had agreed to it: here the line alone is looked at.
    wanted = vector(
        stream, max_data_t=stream["size"], max_data_outrate=stream["rate_ps"] if stream["how"] == "once" else 0
    )
    chosen = {one: mapping.settings(wanted, one) for one in mapping.Transport}
    transport, connected = sockets.reached(wanted, to, chosen, [mapping.Transport.TCP, mapping.Transport.UDP])
    connection = Connection(connected, wanted, transport)
    return connection.send, connection.close


def raw(to: tuple[str, int], stream: dict[str, Any]) -> tuple[Callable[[bytes], object], Callable[[], object]]:
    from slotcar_client.vectors.bucket import Bucket

    connected = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    connected.connect(to)
    packet_bytes = stream["size"]
    bucket = Bucket(stream["rate_ps"] * 8, max(packet_bytes, stream["rate_ps"] * BEHIND_MS // 1_000), time.monotonic())

    def send(block: bytes) -> None:
        if wait_s := bucket.take(packet_bytes, time.monotonic()):
            time.sleep(wait_s)
        connected.send(block)

    def end() -> None:
        for _ in range(3):
            connected.send(b"")

    return send, end


def send_all(address: str, schedule: list[dict[str, Any]]) -> None:
    for stream in schedule:
        wait_until(stream["begin"])
        send, end = sender(stream, address)
        block, until = bytes(stream["size"]), stream["begin"] + stream["seconds"]
        while time.time() < until:
            send(block)
        end()


def receiver(stream: dict[str, Any], address: str) -> Callable[[], bytes | None]:
    """What waits for the next block, or for what has come; None or nothing at the end."""
    at = address, stream["port"]
    if stream["how"] == "raw":
        bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        bound.bind(at)
        waited(bound, PATIENCE_S)
        return lambda: waited(bound).recv(65_535)
    if stream["how"] == "tcp":
        with socket.create_server(at) as listener:
            listener.settimeout(PATIENCE_S)
            connected, _ = listener.accept()
        return lambda: waited(connected).recv(65_536)
    from slotcar_client.vectors import Listener

    with Listener(vector(stream, max_data_r=stream["size"]), at) as listening:
        connection = listening.accept(PATIENCE_S)
    return lambda: connection.recv(SILENCE_S)


def waited(connected: socket.socket, within_s: float = SILENCE_S) -> socket.socket:
    """With something to be read.

    Raises:
        TimeoutError: nothing comes.
    """
    if not select.select([connected], [], [], within_s)[0]:
        raise TimeoutError
    return connected


def receive_all(address: str, schedule: list[dict[str, Any]]) -> None:
    for stream in schedule:
        wait_until(stream["begin"] - AHEAD_S)
        octets, first, last = 0, 0.0, 0.0
        with suppress(TimeoutError):
            take = receiver(stream, address)
            while block := take():
                last = time.time()
                # The first only begins the time: the others came in it.
                octets, first = (octets + len(block), first) if first else (0, last)
        print(json.dumps({**stream, "octets": octets, "took_s": last - first}), flush=True)


def main(role: str, library: str, address: str, schedule: str) -> None:
    sys.path.insert(0, library)
    # Read before time is let run: a guest that waits for a file lets its time leap.
    from slotcar_client.vectors import bucket, sockets  # noqa: F401

    socket.getaddrinfo(address, None)
    print(json.dumps({"ready": role, "transports": sorted(sockets.available())}), flush=True)
    (send_all if role == "send" else receive_all)(address, json.loads(schedule))


if __name__ == "__main__":
    main(*sys.argv[1:])
