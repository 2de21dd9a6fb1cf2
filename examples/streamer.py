"""GARA's streamer (Figure 2 of its end-to-end API): it begins with what there is, and raises its reservation until it has
the rate that it wants.

    python examples/streamer.py --from anl-premium --to lbnl-premium:5001 --rate 4000000 --send-to 192.0.2.7:5001
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any

from paced import PAYLOAD_BYTES, PacedSender
from slotcar_client import Refused, Slotcar, connect
from slotcar_client.wire.documents import Entry

IP_AND_UDP_BYTES = 28


def free_bps(slotcar: Slotcar, flow: Mapping[str, Any]) -> int:
    """What there is to begin with, forward, over the flow's window (GARA's enquire)."""
    return slotcar.enquire({**flow, "direction": "forward"})["directions"][0]["highest_rate_bps"]


def stream(
    slotcar: Slotcar, flow: Mapping[str, Any], wanted_bps: int, sender: PacedSender, every_s: float = 5.0,
    pause: Callable[[float], None] = time.sleep,
) -> Entry:  # fmt: skip
    """Reserves `min(wanted, free)`, sends at it, and raises it every so often until it is what is wanted.

    Raises:
        Refused: there is nothing at all to begin with.
    """
    rate_bps = min(wanted_bps, free_bps(slotcar, flow))
    entry = slotcar.create({**flow, "rate": f"{max(rate_bps, 1)} bit/s"})
    sender.rate_bps = rate_bps
    while rate_bps < wanted_bps:
        pause(every_s)
        free = slotcar.addable(entry["handle"])["directions"][0]["highest_rate_bps"]
        more_bps = min(wanted_bps - rate_bps, free)
        if more_bps <= 0:
            continue
        try:
            entry = slotcar.modify(entry["handle"], rate=f"{rate_bps + more_bps} bit/s")
        except Refused:  # somebody was quicker
            continue
        rate_bps += more_bps
        sender.rate_bps = rate_bps
    return entry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source", required=True, help="where it sends from, as the controller names it")
    parser.add_argument("--to", dest="destination", required=True, help="and where to, with the port")
    parser.add_argument("--rate", type=int, required=True, help="payload bits per second that are wanted")
    parser.add_argument("--send-to", required=True, help="address and port that the packets go to")
    parser.add_argument("--seconds", type=float, default=3600.0)
    arguments = parser.parse_args()
    flow = {
        "name": "streamer", "source": arguments.source, "destination": arguments.destination, "protocol": "udp",
        "service": "ip-premium", "packet_size": f"{PAYLOAD_BYTES + IP_AND_UDP_BYTES} B", "start": "now",
        "duration": f"{arguments.seconds:g} s",
    }  # fmt: skip
    host, _, port = arguments.send_to.rpartition(":")
    ends_s = time.monotonic() + arguments.seconds
    with connect() as slotcar, PacedSender((host, int(port))) as sender:
        entry = stream(slotcar, flow, arguments.rate, sender)
        print(f"{entry['handle']}: {sender.rate_bps} bit/s")
        time.sleep(max(0.0, ends_s - time.monotonic()))
        slotcar.cancel(entry["handle"])


if __name__ == "__main__":
    main()
