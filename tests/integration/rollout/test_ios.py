"""Pushes to Cisco routers through Ansible: all of the path or none of it, and nothing of the operator's is touched."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from slotcar.rollout.model import PushFailed
from slotcar_lab.ios import (
    DropOnCopy,
    DropOnLine,
    Fault,
    FullFlash,
    HangAfter,
    RefuseLine,
    Routers,
    Slow,
    WrongPassword,
)
from tests.integration.rollout.conftest import Garnet
from tests.support.cisco import ROOT, CiscoWorld, flow_of
from tests.support.patience import PATIENCE_S

FIRST, LAST = "anl-7507-1", "lbnl-7507"


def test_a_reservation_comes_changes_and_goes(garnet: Garnet) -> None:
    world = garnet.world
    assert world.push(flow_of(world)).changed == (FIRST, LAST)
    for name in (FIRST, LAST):
        assert " 20384000 " in world.running()[name], "20 Mb/s of payload in packets of 1500 bytes, in steps of 8 kb/s"
    assert world.push(flow_of(world)).changed == (), "twice the same changes nothing"
    world.push(flow_of(world, 30_000_000))
    assert " 20384000 " not in world.running()[FIRST]
    world.push()
    assert world.running() == garnet.base


@pytest.mark.slow
def test_what_an_operator_does_meanwhile_is_kept(garnet: Garnet) -> None:
    world = garnet.world
    mine = ["access-list 102 permit ip any any", "interface FastEthernet4/0/0", "ip access-group 102 in"]
    world.push(flow_of(world))
    assert world.routers[FIRST].configure("\n".join(mine)) == []
    world.push()
    text = world.running()[FIRST]
    undo = "interface FastEthernet4/0/0\nno ip access-group 102 in\nexit\nno access-list 102"
    assert world.routers[FIRST].configure(undo) == []
    assert "access-list 102 permit ip any any" in text
    assert " ip access-group 102 in" in text


#: FIRST takes a file and copies it, LAST takes no files and gets line after line.
REFUSES = RefuseLine("rate-limit input access-group 26")


@pytest.mark.in_short("refuses-a-line")
@pytest.mark.parametrize(
    ("name", "fault", "words"),
    [
        pytest.param(FIRST, REFUSES, "Invalid input", id="refuses-a-line-of-a-file"),
        pytest.param(LAST, REFUSES, "Invalid input", id="refuses-a-line"),
        pytest.param(FIRST, HangAfter(3), "no answer to", id="hangs-in-a-copy", marks=pytest.mark.slow),
        pytest.param(LAST, HangAfter(3), "no answer to", id="hangs-on-a-line", marks=pytest.mark.slow),
        pytest.param(LAST, DropOnLine(3), "ended", id="drops-on-a-line", marks=pytest.mark.slow),
        pytest.param(FIRST, DropOnCopy(), "ended", id="drops-before-the-copy", marks=pytest.mark.slow),
        pytest.param(FIRST, DropOnCopy(after=True), "ended", id="drops-after-the-copy"),
    ],
)
def test_one_router_that_fails_takes_the_change_back_on_all(
    garnet: Garnet, name: str, fault: Fault, words: str
) -> None:
    world = garnet.world
    known = world.pusher.archive.revisions()
    world.routers[name].fault(fault)
    if isinstance(fault, HangAfter):
        world.answer_within(3)
    with pytest.raises(PushFailed, match=words) as failed:
        world.push(flow_of(world))
    world.answer_within(int(PATIENCE_S))
    assert set(failed.value.devices) >= {name}
    if not failed.value.rolled_back:  # the router that hangs cannot be told yet
        world.routers[name].heal()
        world.pusher.roll_back(failed.value.revision)
    else:
        assert world.pusher.archive.revisions() == known, "no router ever had it: nobody can go back to it"
    assert world.running() == garnet.base


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", [pytest.param(FullFlash(), id="full-flash"), pytest.param(Slow(20), id="slow", marks=pytest.mark.slow)]
)
def test_what_is_only_in_the_way_delays_and_does_not_fail(garnet: Garnet, fault: FullFlash | Slow) -> None:
    world = garnet.world
    world.routers[FIRST].fault(fault)
    assert world.push(flow_of(world)).changed == (FIRST, LAST)
    assert world.read()[FIRST].configuration == world.wanted(flow_of(world))[FIRST].configuration


@pytest.mark.in_short("dead")
@pytest.mark.parametrize("fault", ["wrong password", "changed host key", "dead"])
def test_a_router_that_cannot_be_logged_in_to_is_known_before_anything_is_touched(garnet: Garnet, fault: str) -> None:
    world = garnet.world
    router = world.routers[LAST]
    known_hosts = world.known_hosts
    if fault == "wrong password":
        router.fault(WrongPassword())
        words = "does not let slotcar in"
    elif fault == "dead":
        router.kill()
        words = "Connect call failed"
    else:
        router.change_host_key()
        words = f"is not the one that is known; if it was changed on purpose, put the new one into {known_hosts}"
    readings = world.pusher.read(sorted(world.routers))
    assert set(readings.failures) == {LAST}
    assert words in readings.failures[LAST].message
    assert router.password not in str(readings)
    assert world.running() == garnet.base
    if fault == "dead":
        router.revive()
    elif fault == "changed host key":
        known_hosts.write_text("".join(one.known_hosts for one in world.routers.values()))


@pytest.mark.slow
def test_no_secret_stays_anywhere(garnet: Garnet) -> None:
    """Neither in the state folder, nor in what the routers were told, nor in what a failure says."""
    world = garnet.world
    secret = world.routers[FIRST].password
    world.routers[FIRST].fault(RefuseLine("rate-limit input access-group 26"))
    with pytest.raises(PushFailed) as failed:
        world.push(flow_of(world))
    assert secret not in str(failed.value)
    for file in (path for path in world.settings.state_dir.rglob("*") if path.is_file()):
        assert secret.encode() not in file.read_bytes(), file
    for router in world.routers.values():
        assert not any(secret in line for _, _, line in router.commands)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("platform", "archive", "transport"),
    [
        ("cisco-mqc", True, "ssh"),
        pytest.param("cisco-mqc", True, "napalm", marks=pytest.mark.slow),
        pytest.param("cisco-car", False, "napalm", marks=pytest.mark.slow),
    ],
)
def test_both_transports_on_routers_with_and_without_revert_timers(
    tmp_path: Path, platform: str, archive: bool, transport: str
) -> None:
    with Routers() as routers:
        world = CiscoWorld(
            routers, tmp_path, ROOT / "inventories" / "garnet", transport=transport, platform=platform, archive=archive
        )
        before = world.running()
        world.push()
        unreserved = world.running()
        assert world.push(flow_of(world)).changed == (FIRST, LAST)
        assert [router.pending for router in world.routers.values()] == [None] * len(world.routers), "confirmed"
        world.push()
        assert world.running() == unreserved
        world.pusher.roll_back(world.pusher.archive.revisions()[0])
        assert world.running() == before


@pytest.mark.slow
def test_a_router_takes_an_unconfirmed_change_back_by_itself(tmp_path: Path) -> None:
    """The session is lost right after the copy and the router cannot be reached again: nobody can undo it but itself."""
    with Routers() as routers:
        world = CiscoWorld(
            routers, tmp_path, ROOT / "inventories" / "garnet", platform="cisco-mqc", archive=True, minute_s=1.5
        )
        world.push()
        unreserved = world.running()
        last = world.routers[LAST]
        last.fault(DropOnCopy(after=True))

        def lock_out() -> None:
            assert last.wait_for(lambda router: router.pending)
            last.fault(WrongPassword())

        locking = threading.Thread(target=lock_out)
        locking.start()
        with pytest.raises(
            PushFailed, match=r"the rollback failed too: lbnl-7507: .* does not let slotcar in"
        ) as failed:
            world.push(flow_of(world))
        locking.join()
        assert not failed.value.rolled_back
        assert last.wait_for(lambda router: router.reverted)
        assert world.running() == unreserved
