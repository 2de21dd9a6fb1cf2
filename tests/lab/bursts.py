"""Bursts that are sent at once, through routers as Slotcar configures them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from slotcar.book.model import Entry
from slotcar.network.model import Network
from slotcar.platforms import renderer_of
from slotcar.platforms.intent.flows import flows_of
from slotcar.platforms.intent.model import QosIntent
from slotcar_lab.control import Lab
from tests.unit.platforms.worlds import intents

#: With their headers all packets have 1,000 bytes on the line.
PAYLOAD_BYTES, FRAME_BYTES = 958, 1_000
PACKET_BYTES = PAYLOAD_BYTES + 28
#: Sends bursts one after another, each when the buckets are full again: `PORT:PACKETS` in turn, then a pause. The kernel
#: cuts what it is given at once into datagrams (UDP_SEGMENT): a call for each took so long that queues drained meanwhile.
SENDER = """
import socket, struct, sys, time
address, pause, rounds = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
bursts = [tuple(map(int, one.split(":"))) for one in sys.argv[4:]]
ends = {port: socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for port, _ in bursts}
for end in ends.values():
    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_000_000)
    end.setsockopt(17, 103, PAYLOAD)
number = 0
for _ in range(rounds):
    for port, packets in bursts:
        for first in range(0, packets, 60):
            numbers = range(number, number + min(60, packets - first))
            ends[port].sendto(b"".join(struct.pack("!Q", one) + bytes(PAYLOAD - 8) for one in numbers), (address, port))
            number += len(numbers)
    time.sleep(pause)
""".replace("PAYLOAD", str(PAYLOAD_BYTES))


@contextmanager
def pushed(lab: Lab, network: Network, entries: Sequence[Entry]) -> Iterator[None]:
    """The routers as Slotcar pushes them while these are open; what they were, afterwards."""
    with ExitStack() as undone:
        for name, intent in intents(network, *entries).items():
            undone.enter_context(_pushed_on(lab, network, name, intent))
        yield


@contextmanager
def _pushed_on(lab: Lab, network: Network, router: str, intent: QosIntent) -> Iterator[None]:
    device = network.devices[router]
    renderer = renderer_of(device)
    before = renderer.running(answers_of(lab, network, router), device)
    change = renderer.change(before, renderer.configuration(intent, device), device)

    def run(lines: Sequence[str]) -> None:
        lab.check(router, ["tc", "-batch", "-"], stdin="".join(f"{line}\n" for line in lines))

    run(change.apply)
    try:
        yield
    finally:
        run(change.undo)


def answers_of(lab: Lab, network: Network, router: str) -> dict[str, str]:
    """What the router answers to the commands that read it back."""
    device = network.devices[router]
    commands = renderer_of(device).readback_commands(device)
    return {command: lab.check(router, ["sh", "-c", command]) for command in commands}


def burst_bytes(one: Entry, network: Network) -> int:
    """What its policer lets through at once."""
    (flow,) = flows_of(one, one.reservation.slots[0], network)
    device = network.devices[flow.interface.device]
    return renderer_of(device).policer(flow, device)[1]
