"""Slotcar's own use of NAPALM: what it notices, and in which words."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import pytest

from slotcar.rollout.fanout import DeviceError, Login
from slotcar.rollout.host_keys import CHANGED, UNKNOWN
from slotcar.rollout.ios.napalm import NapalmTransport
from slotcar.rollout.transport import Unreachable
from slotcar_lab.ios import DropOnCopy, Fault, HangAfter, Router, Routers
from tests.integration.ios.conftest import STARTUP

LINES = [
    "access-list 2602 permit udp host 10.20.11.2 host 10.20.21.2 eq 5001",
    "interface FastEthernet4/0/0",
    " shutdown",
]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def changed(router: Router, folder: Path, answer_s: float, *faults: Fault) -> None:
    """
    Raises:
        DeviceError: of the activation.
    """
    known_hosts = folder / "known_hosts"
    known_hosts.write_text(router.known_hosts)
    login = Login(
        router.address, router.port, router.user, router.password, known_hosts=known_hosts, answer_s=answer_s
    )

    async def run() -> None:
        transport = NapalmTransport("r", login)
        try:
            await transport.open()
            await transport.stage(LINES, [])
            await transport.arm_revert(LINES, 5)
            router.fault(*faults)
            await transport.activate(LINES)
        finally:
            await transport.close()

    asyncio.run(run())


@pytest.mark.parametrize("after", [False, True])
def test_a_session_that_is_dropped_in_a_commit_is_noticed_as_such(
    routers: Routers, tmp_path: Path, after: bool
) -> None:
    """Not by the time for an answer, which would have other words."""
    router = routers.add("r", "cisco-car", STARTUP)
    with pytest.raises(DeviceError, match="r: NAPALM's commit_config: the session ended"):
        changed(router, tmp_path, 250, DropOnCopy(after=after))
    assert (" shutdown\n" in router.running_text()) is after


def test_a_commit_has_the_time_that_is_told_for_an_answer(routers: Routers, tmp_path: Path) -> None:
    router = routers.add("r", "cisco-car", STARTUP)
    with pytest.raises(DeviceError, match="r: NAPALM's commit_config: "):
        changed(router, tmp_path, 2, HangAfter(3))
    router.heal()


@pytest.mark.parametrize(("others_key", "words"), [(False, UNKNOWN), (True, CHANGED)])
def test_a_host_key_that_is_not_believed_is_told_as_what_it_is(
    routers: Routers, tmp_path: Path, others_key: bool, words: str
) -> None:
    router, other = routers.add("r", "cisco-car", STARTUP), asyncssh.generate_private_key("ssh-ed25519")
    known_hosts = tmp_path / "known_hosts"
    place = router.known_hosts.split()[0]
    known_hosts.write_text(f"{place} {other.export_public_key().decode()}" if others_key else "")
    login = Login(router.address, router.port, router.user, router.password, known_hosts=known_hosts)
    with pytest.raises(Unreachable, match=f"the host key of {router.address}:{router.port} {words}"):
        asyncio.run(NapalmTransport("r", login).open())
