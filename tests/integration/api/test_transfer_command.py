"""`slotcar transfer … --by` against the real API: reserved, followed, reported to, given back, whatever happens."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotcar.auth.tokens import create_token
from slotcar.base.settings import Settings
from slotcar.book.rules.roles import Role
from slotcar.network.model import Network
from slotcar.store import Ledger
from tests.integration.api.conftest import GARNET, As, Running, at, body
from tests.support.patience import wait_for
from tests.support.ports import free_port
from tests.support.transfers import GIVEN_BACK, Ended, World, content, delivered, end_of, fill

MB = 1_000_000
HOSTS = {"here": "anl-premium", "there": "lbnl-premium", "third": "anl-premium"}
#: An address at which nothing listens.
NOBODY = "http://127.0.0.1:9"
#: At a rate that the test chooses, the base connection alone: the transfer is under way when something happens to it.
SLOW = ("--at-most", "4 Mbit/s", "--no-additional")


@pytest.fixture
def world(tmp_path: Path) -> World:
    both_ends = World(tmp_path / "ends", hosts=HOSTS)
    fill(both_ends.folder / "source", {"large": 3 * MB, "small": 10})
    return both_ends


class Mover:
    """The command with a requester's token, and what the API has of its reservations."""

    def __init__(self, world: World, requester: httpx.Client) -> None:
        self.world, self.api = world, requester
        self.token = requester.headers["Authorization"].removeprefix("Bearer ")

    def start(self, *options: str, by: str = "now + 10 min", destination: str = "there:run") -> subprocess.Popen[str]:
        return self.world.start(
            str(self.world.folder / "source"), destination, "--by", by, "--here", "anl-premium", *options,
            SLOTCAR_API=str(self.api.base_url), SLOTCAR_TOKEN=self.token,
        )  # fmt: skip

    def run(self, *options: str, code: int = 0, **more: str) -> Ended:
        return end_of(self.start(*options, **more), code)

    def entries(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.api.get("/v1/reservations").json()["items"]
        return items

    def reserved(self) -> dict[str, Any]:
        """The reservation, once there is one."""
        wait_for(lambda: bool(self.entries()), "the reservation", pause_s=0.02)
        return self.entries()[-1]

    def under_way(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        """The reservation of a transfer of which some bytes have arrived and not all."""
        entry = self.reserved()
        root = self.world.root("there")
        wait_for(
            lambda: process.poll() is not None or any(one.stat().st_size for one in root.rglob("*.part")),
            "the first bytes", pause_s=0.02,
        )  # fmt: skip
        assert process.poll() is None, process.communicate()
        return entry


@pytest.fixture
def mover(world: World, as_: As) -> Mover:
    return Mover(world, as_("mover", Role.REQUESTER))


def arrived_whole(world: World) -> None:
    source = content(world.folder / "source")
    assert content(world.root("there")) == {f"run/{path}": body for path, body in source.items()}


def test_it_reserves_the_ports_that_it_uses_moves_and_gives_back(mover: Mover) -> None:
    with mover.world.serve("there"):
        ended = mover.run("--label", "experiment=cms")
    arrived_whole(mover.world)
    done = ended.done
    assert not done["late"]
    assert done["margin_s"] > 0
    [entry] = mover.entries()
    assert entry["state"] in GIVEN_BACK
    asked_for = entry["reservation"]
    assert (asked_for["source"]["host"], asked_for["destination"]["host"]) == ("anl-premium", "lbnl-premium")
    assert asked_for["destination"]["port"] == mover.world.ports["there"]
    assert asked_for["source"]["port"] > 1023
    assert asked_for["labels"] == {"experiment": "cms"}
    assert asked_for["need"]["volume_bytes"] >= done["bytes"]
    assert ended.messages[0].startswith(f"reserved as {entry['handle']}: ")


def test_a_late_promise_is_for_twice_the_needed_rate_and_not_needed_where_the_second_connection_does(
    mover: Mover,
) -> None:
    with mover.world.serve("there"):
        ended = mover.run("--shape", "latest")
    arrived_whole(mover.world)
    [entry] = mover.entries()
    assert entry["state"] in GIVEN_BACK
    need = entry["reservation"]["need"]
    by, created = (datetime.fromisoformat(one) for one in (need["by"], entry["created_at"]))
    needed_bps = need["volume_bytes"] * 8 / (by - created).total_seconds()
    assert need["shape"] == "latest"
    assert need["at_most_bps"] == pytest.approx(2 * needed_bps, rel=0.01)
    assert list(ended.done["lanes"]) == ["additional"], "nothing was reserved yet"
    assert "0.000 Mbit/s now" in ended.messages[0]


def test_what_is_refused_moves_nothing_and_says_what_would_fit(mover: Mover) -> None:
    fill(mover.world.folder / "source", {"large": 40 * MB})
    mover.api.post("/v1/reservations", json=body(rate="38 Mbit/s", start="now", duration="1 h")).raise_for_status()
    with mover.world.serve("there"):
        ended = mover.run("--by", "now + 1 min", code=3)
    assert content(mover.world.root("there")) == {}
    assert "not admitted: 40 MB cannot be promised by" in ended.err
    assert "would fit" in ended.err
    assert "and all of it by" in ended.err


def test_cancelled_under_it_it_stops_in_words_and_goes_on_at_the_next_try(mover: Mover) -> None:
    with mover.world.serve("there"):
        process = mover.start(*SLOW)
        entry = mover.under_way(process)
        mover.api.post(at(entry, "cancel"), json={"reason": "a test"}).raise_for_status()
        ended = end_of(process, code=130)
        assert "the reservation is cancelled, and there is no additional connection" in ended.err
        assert delivered(mover.world.root("there")).keys() <= {"run/small"}
        again = mover.run()
    assert again.done["resumed_bytes"] > 0
    arrived_whole(mover.world)
    assert {one["state"] for one in mover.entries()} <= GIVEN_BACK


def test_with_an_additional_connection_it_goes_on_without_a_promise(mover: Mover) -> None:
    """What is free moves the rest; it says that nothing is promised any more."""
    with mover.world.serve("there") as receiver:
        process = mover.start("--at-most", "4 Mbit/s")
        entry = mover.reserved()
        there_stops = signal.SIGSTOP
        subprocess.run(["kill", f"-{there_stops.name}", str(receiver.pid)], check=True)
        mover.api.post(at(entry, "cancel"), json={"reason": "a test"})
        time.sleep(1)
        subprocess.run(["kill", "-SIGCONT", str(receiver.pid)], check=True)
        end_of(process)
    arrived_whole(mover.world)


def test_after_a_kill_it_takes_up_its_reservation_and_its_bytes(mover: Mover) -> None:
    with mover.world.serve("there"):
        process = mover.start(*SLOW)
        before = mover.under_way(process)
        process.kill()
        process.communicate()
        ended = mover.run()
    arrived_whole(mover.world)
    [entry] = mover.entries()
    assert entry["handle"] == before["handle"]
    assert entry["state"] in GIVEN_BACK
    assert ended.done["resumed_bytes"] > 0


def test_stopped_in_order_it_gives_back(mover: Mover) -> None:
    with mover.world.serve("there"):
        process = mover.start(*SLOW)
        mover.under_way(process)
        process.send_signal(signal.SIGTERM)
        ended = end_of(process, code=143)
    assert "say the same command again to go on" in ended.err
    assert [one["state"] for one in mover.entries()] == ["cancelled"]


@pytest.mark.slow
def test_a_deadline_that_passes_is_said_and_the_parts_are_kept(mover: Mover) -> None:
    """The other end does nothing until the deadline has passed, and without an additional connection nothing can go on."""
    with mover.world.serve("there") as receiver:
        by = datetime.now(UTC) + timedelta(seconds=30)
        process = mover.start("--no-additional", by=by.isoformat())
        mover.under_way(process)
        subprocess.run(["kill", "-SIGSTOP", str(receiver.pid)], check=True)
        wait_for(lambda: datetime.now(UTC) > by, "its deadline", pause_s=0.02)
        subprocess.run(["kill", "-SIGCONT", str(receiver.pid)], check=True)
        ended = end_of(process, code=9)
        assert re.search(r"has passed and .* MB remain", ended.err)
        assert mover.run().done["resumed_bytes"] > 0
    arrived_whole(mover.world)


@pytest.fixture
def controllers() -> Iterator[list[Running]]:
    running: list[Running] = []
    yield running
    for one in running:
        one.stop()


@pytest.mark.slow
def test_a_controller_that_dies_and_comes_back_is_told_at_the_end(
    world: World, ledger: Ledger, network: Network, tmp_path: Path, controllers: list[Running]
) -> None:
    token = create_token(tmp_path / "tokens.json", "mover", Role.REQUESTER, "hep", datetime.now(UTC), None)
    settings, port = Settings(state_dir=tmp_path, inventory=GARNET), free_port()
    controllers.append(Running())
    client = controllers[0].start(ledger, network, settings, port)
    client.headers["Authorization"] = f"Bearer {token}"
    mover = Mover(world, client)
    with world.serve("there"):
        process = mover.start("--no-additional", by="now + 45 s")
        mover.under_way(process)
        controllers.pop().stop()
        time.sleep(5)
        assert process.poll() is None
        controllers.append(Running())
        client = controllers[0].start(ledger, network, settings, port)
        client.headers["Authorization"] = f"Bearer {token}"
        end_of(process)
        mover = Mover(world, client)
        assert {one["state"] for one in mover.entries()} <= GIVEN_BACK
    arrived_whole(world)


def test_a_transfer_without_a_deadline_is_handed_in_and_foretells_the_next_one(mover: Mover) -> None:
    """One more of a few bytes, one that is not to be handed in, and one of an end that the inventory lacks, say nothing."""
    source = str(mover.world.folder / "source")
    known = {"SLOTCAR_API": str(mover.api.base_url), "SLOTCAR_TOKEN": mover.token}

    def history() -> tuple[int, int]:
        answer = mover.api.get("/v1/costs/accuracy").raise_for_status().json()
        return answer["estimated"], answer["unknown"]

    with mover.world.serve("there"):
        first = mover.world.run(source, "there:one", "--here", "anl-premium", **known)
        assert (first.messages, history()) == ([], (0, 1)), "nobody could have foretold it"
        second = mover.world.run(source, "there:two", "--here", "anl-premium", **known)
        assert (second.messages, history()) == ([], (1, 1))
        mover.world.run(source, "there:three", "--here", "anl-premium", "--no-record", **known)
        mover.world.run(f"{source}/small", "there:four", "--here", "anl-premium", **known)
        stranger = mover.world.run(source, "there:five", "--here", "nobody-knows-it", **known)
        away = mover.world.run(source, "there:six", "--here", "anl-premium", **known | {"SLOTCAR_API": NOBODY})
    assert history() == (1, 1)
    assert "the controller does not keep what it took:" in stranger.messages[0]
    assert "is no end system of the inventory" in stranger.messages[0]
    assert "the controller does not keep what it took:" in away.messages[0]
