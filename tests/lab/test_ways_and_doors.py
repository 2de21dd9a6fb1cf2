"""Each way of asking (fixed, by a deadline, background) through each door (file, command line, API, client library): what
the edge router lets pass of each is what was reserved. All twelve are open at once.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from slotcar_client import Slotcar
from slotcar_lab.control import Lab
from slotcar_lab.traffic import Flow, mean_bps, start_udp
from tests.lab.slots import policed, wait_not_policed
from tests.support.controllers import Controller
from tests.support.patience import PATIENCE_S, wait_for

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(1800)]
OWNER = "ways"
PAYLOAD_BYTES, PACKET_BYTES = 972, 1_000
OPEN_S = 900
#: Of payload. What a volume comes to is admission's to say.
FIXED_BPS, VOLUME_BPS, AT_MOST_BPS = 1_200_000, 1_000_000, 800_000
SENT_BPS, SENT_S, SETTLE_S = 2_400_000, 7, 1.5
Document = dict[str, Any]
WAYS: Mapping[str, Document] = {
    "fixed": {"rate": f"{FIXED_BPS} bit/s", "duration": f"{OPEN_S} s"},
    "deadline": {"volume": f"{VOLUME_BPS // 8 * OPEN_S} B", "by": f"now + {OPEN_S} s"},
    "background": {"share": {"at_most": f"{AT_MOST_BPS} bit/s"}, "duration": f"{OPEN_S} s"},
}


def by_file(controller: Controller, requests: list[Document], folder: Path) -> None:
    file = folder / "ways.yml"
    file.write_text(json.dumps({"version": 1, "reservations": requests}))  # JSON is YAML
    controller.slotcar("apply", str(file), "--yes")


def by_command(controller: Controller, requests: list[Document], folder: Path) -> None:
    for one in requests:
        values = one | {"share": ", ".join(f"{key}={value}" for key, value in one.get("share", {}).items())}
        options = [
            word for key, value in values.items() if value for word in (f"--{key.replace('_', '-')}", str(value))
        ]
        controller.slotcar("create", *options)


def by_api(controller: Controller, requests: list[Document], folder: Path) -> None:
    for one in requests:
        request = urllib.request.Request(
            f"http://127.0.0.1:{controller.port}/v1/reservations",
            json.dumps(one).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            assert response.status == 201


def by_client(controller: Controller, requests: list[Document], folder: Path) -> None:
    with client_of(controller) as slotcar:
        for one in requests:
            slotcar.create(one)


def client_of(controller: Controller) -> Slotcar:
    return Slotcar(f"http://127.0.0.1:{controller.port}")


DOORS: Mapping[str, Callable[[Controller, list[Document], Path], None]] = {
    "file": by_file, "command": by_command, "api": by_api, "client": by_client,
}  # fmt: skip
PORTS = {(way, door): 5101 + number for number, (door, way) in enumerate((d, w) for d in DOORS for w in WAYS)}


def asked_for(way: str, door: str) -> Document:
    return {
        "name": f"{way}-{door}", "owner": OWNER, "source": "anl-premium", "destination": f"lbnl-premium:{PORTS[way, door]}",
        "protocol": "udp", "service": "ip-premium", "packet_size": f"{PACKET_BYTES} B", "rtt": "400 ms",
        "start": "now", **WAYS[way],
    }  # fmt: skip


@pytest.fixture
def promised(controller: Controller, lab: Lab, tmp_path: Path) -> Iterator[Mapping[tuple[str, str], int]]:
    """Payload bits a second, by way and door; all of them are in force on the routers."""
    for door, ask in DOORS.items():
        ask(controller, [asked_for(way, door) for way in WAYS], tmp_path)
    wait_for(lambda: all(f"dst_port {port}" in policed(lab) for port in PORTS.values()), "all flows at the edge")
    controller.wait_settled()
    yield {key: rate_bps(controller, *key) for key in PORTS}
    for way, door in PORTS:
        controller.slotcar("cancel", f"{OWNER}/{way}-{door}", "--yes")
    wait_not_policed(lab)


def rate_bps(controller: Controller, way: str, door: str) -> int:
    """What the controller says that it has promised, or told the owner of a background reservation."""
    with client_of(controller) as slotcar:
        (entry,) = slotcar.reservations(name=f"{way}-{door}")
    if way == "background":
        path = f"/v1/events?limit=1000&kind=reservation.rate&reservation={entry['handle']}"
        return int(controller.get(path)["items"][-1]["details"]["forward_bps"])
    return int(entry["reservation"]["slots"][0]["forward_bps"])


def received_bps(lab: Lab, flows: list[Flow]) -> list[float]:
    """What comes through of each, without the beginning, when its bucket is full, and the end."""
    try:
        for flow in flows:
            flow.wait(60)
    finally:
        for flow in flows:
            flow.stop()
    means = []
    for flow in flows:
        inside = [
            one for one in flow.samples()
            if flow.started_at + SETTLE_S < one.ended_at - one.interval_s and one.ended_at < flow.started_at + SENT_S
        ]  # fmt: skip
        assert inside
        means.append(mean_bps(inside))
    return means


def test_every_way_is_served_as_asked_through_every_door(lab: Lab, promised: Mapping[tuple[str, str], int]) -> None:
    for door in DOORS:
        assert promised["fixed", door] == FIXED_BPS
        assert promised["background", door] == AT_MOST_BPS
        # Until its deadline it moves its volume, and not much more: it began a little after it was asked for.
        assert VOLUME_BPS <= promised["deadline", door] <= 1.1 * VOLUME_BPS
    for door in DOORS:
        flows: list[Flow] = [
            start_udp(
                lab, "anl-premium", "lbnl-premium", port=PORTS[way, door], rate_bps=SENT_BPS, payload_bytes=PAYLOAD_BYTES,
                duration_s=SENT_S,
            )
            for way in WAYS
        ]  # fmt: skip
        for way, got_bps in zip(WAYS, received_bps(lab, flows), strict=True):
            # Above: its rate is rounded up to the kilobit, and a sample counts some milliseconds of its neighbour. Below:
            # an emulated sender pauses, and what a bucket of 100 ms does not hold meanwhile is nobody's.
            assert 0.95 * promised[way, door] <= got_bps <= 1.03 * promised[way, door], (way, door, got_bps)
