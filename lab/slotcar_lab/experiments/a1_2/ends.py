"""One end of what A1's options are tried with. Standard library and the client library only.

    ends.py send LIBRARY ADDRESS CASES       sends the messages of each case from its instant on
    ends.py receive LIBRARY ADDRESS CASES    takes them; both say at the end what they saw of each case

CASES is JSON: `[{name, port, options, sort, size, every_s, rate_ps, take_s, begin, seconds, finish_s, changes}, …]`: a
message of `size` bytes each `every_s`, and the receiver takes one each `take_s`, or as they come where that is 0. With
`finish_s` the receiver says after that time that it wants to close; at each `[seconds, bytes per second]` of `changes` the
sender changes its vector's rate.
"""

from __future__ import annotations

import json
import struct
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

#: A message begins with its number and the instant at which it was to be sent; a pattern follows.
HEAD = struct.Struct(">Id")
PENDING = 8
AHEAD_S, PATIENCE_S, SILENCE_S = 1.5, 3.0, 0.6


def wait_until(at: float) -> None:
    time.sleep(max(0.0, at - time.time()))


def pattern(size: int) -> bytes:
    return bytes(range(256)) * (size // 256 + 1)


def vector(case: dict[str, Any], **way: int) -> Any:
    from slotcar_client.vectors import Option, Vector

    options = Option(0)
    for name in case["options"]:
        options |= Option[name]
    return Vector(sort=case["sort"], coptions=options, max_alloc=PENDING, **way)


def send(case: dict[str, Any], address: str) -> dict[str, Any]:
    from slotcar_client.vectors import Closed, mapping, sockets
    from slotcar_client.vectors.connection import Connection

    # As if the network had agreed to its rate at the beginning: what is tried here is this end's own.
    wanted = vector(case, max_data_t=case["size"], max_data_outrate=case["rate_ps"])
    wait_until(case["begin"] - AHEAD_S / 2)
    chosen = {one: mapping.settings(wanted, one) for one in mapping.Transport}
    theirs = [mapping.Transport.TCP, mapping.Transport.UDP]
    transport, connected = sockets.reached(wanted, (address, case["port"]), chosen, theirs)
    connection = Connection(connected, wanted, transport)
    rest, changes, number = pattern(case["size"])[: case["size"] - HEAD.size], list(case["changes"]), 0
    due = case["begin"]
    with suppress(Closed, OSError), connection:
        while due < case["begin"] + case["seconds"]:
            wait_until(due)
            if changes and time.time() >= case["begin"] + changes[0][0]:
                connection.change(replace(wanted, max_data_outrate=changes.pop(0)[1]))
            connection.send(HEAD.pack(number, due) + rest)
            number, due = number + 1, due + case["every_s"]
    counts = connection.counts
    return {
        "sent": number,
        "until_s": time.time() - case["begin"],
        "changes": counts.changes,
        "asked": counts.asked_network,
    }


def receive(case: dict[str, Any], address: str) -> dict[str, Any]:
    from slotcar_client.vectors import Listener

    wait_until(case["begin"] - AHEAD_S)
    wanted = vector(case, max_data_r=case["size"])
    with Listener(wanted, (address, case["port"])) as listener:
        connection = listener.accept(PATIENCE_S)
    arrivals: list[tuple[float, float]] = []
    expected, wrong, finished = pattern(case["size"])[: case["size"] - HEAD.size], 0, False
    due = case["begin"]
    with suppress(TimeoutError, OSError), connection:
        wait_s = due - time.time() + PATIENCE_S  # the sender is there before it sends
        while (message := connection.recv(wait_s)) is not None:
            now, wait_s = time.time(), SILENCE_S
            wrong += message[HEAD.size :] != expected
            arrivals.append((now - case["begin"], now - HEAD.unpack_from(message)[1]))
            if case["finish_s"] and not finished and now >= case["begin"] + case["finish_s"]:
                connection.finish()
                finished = True
            due = max(due + case["take_s"], now)
            wait_until(due if case["take_s"] else now)
    return {"arrivals": arrivals, "wrong": wrong, "dropped": connection.counts.dropped}


def main(role: str, library: str, address: str, cases: str) -> None:
    sys.path.insert(0, library)
    # Read before time is let run: a guest that waits for a file, or for a module of its kernel, lets its time leap.
    from slotcar_client.vectors import sockets

    print(json.dumps({"ready": role, "transports": sorted(sockets.available())}), flush=True)
    results: dict[str, Any] = {}
    work = send if role == "send" else receive

    def play(case: dict[str, Any]) -> None:
        results[case["name"]] = work(case, address)

    players = [threading.Thread(target=play, args=(case,)) for case in json.loads(cases)]
    for player in players:
        player.start()
    for player in players:
        player.join()
    print(json.dumps(results), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
