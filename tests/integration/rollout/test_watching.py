"""A Linux router that tells of changes: the kernel's own notices, over a real ssh, to a watcher with a real ledger."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.network.reading import read_connections
from slotcar.rollout.status import LoopStatus
from slotcar.store import Ledger
from slotcar.watching.model import WatchState
from slotcar.watching.pending import LONGEST_WAIT_S
from slotcar.watching.watcher import Watcher
from slotcar_client.wire.events import CheckRequested
from slotcar_lab.requirements import which
from tests.support.cisco import ROOT
from tests.support.patience import PATIENCE_S, wait_for

ROUTER, OTHER = "anl-edge", "anl-border"
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="making a network namespace needs root")


@dataclass
class Router:
    """A network namespace with the interface `eth2`, and how ssh reaches it: an sshd of its own for each login."""

    holder: subprocess.Popen[bytes]
    folder: Path

    def tc(self, *words: str) -> None:
        subprocess.run([*self.entered, str(which("tc")), *words], check=True, capture_output=True)

    @property
    def entered(self) -> list[str]:
        return [str(which("nsenter")), f"--net=/proc/{self.holder.pid}/ns/net"]

    @property
    def ssh_args(self) -> str:
        """As an inventory says them."""
        sshd = " ".join([*self.entered, str(which("sshd")), "-i", "-f", str(self.folder / "sshd_config")])
        return (
            f'-F /dev/null -o UserKnownHostsFile="{self.folder}/known_hosts" -o StrictHostKeyChecking=yes'
            f' -o ProxyCommand="{sshd}"'
        )

    def monitors(self) -> list[psutil.Process]:
        """The `tc monitor`s that run in it."""
        processes = []
        for process in psutil.process_iter(["cmdline"]):
            if process.info["cmdline"] == ["tc", "monitor"]:
                with suppress(OSError):
                    if namespace(process.pid) == namespace(self.holder.pid):
                        processes.append(process)
        return processes


def namespace(process: int) -> str:
    return str(Path(f"/proc/{process}/ns/net").readlink())


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Router]:
    for name in ("client", "host"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    kind, key, *_ = (tmp_path / "host.pub").read_text().split()
    (tmp_path / "known_hosts").write_text(f"[{ROUTER}]:9 {kind} {key}\n")
    (tmp_path / "sshd_config").write_text(
        f"HostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/client.pub\nStrictModes no\nUsePAM no\nUseDNS no\n"
        "PermitRootLogin prohibit-password\nPidFile none\n"
    )
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) as holder:
        emulated = Router(holder, tmp_path)
        wait_for(lambda: namespace(holder.pid) != namespace(os.getpid()), "the namespace")
        for words in ("link add eth2 type veth peer name eth3", "link set eth2 up", "link set eth3 up"):
            subprocess.run([*emulated.entered, str(which("ip")), *words.split()], check=True)
        yield emulated
        holder.kill()


@pytest.fixture
def inventory(router: Router, tmp_path: Path) -> Path:
    """The lab's, with one router that can be reached, and one that cannot."""
    copy = tmp_path / "inventory"
    shutil.copytree(ROOT / "inventories" / "lab", copy)
    for name, host in ((ROUTER, ROUTER), (OTHER, "127.0.0.5")):
        file = copy / "host_vars" / f"{name}.yml"
        reached = {
            "ansible_host": host,
            "ansible_port": 9,
            "ansible_user": "root",
            "ansible_ssh_timeout": 3,
            "ansible_ssh_private_key_file": str(router.folder / "client"),
            "ansible_ssh_common_args": router.ssh_args if name == ROUTER else "-F /dev/null",
        }
        file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | reached, sort_keys=False))
    return copy


def check_requests(ledger: Ledger) -> list[str]:
    return [str(event.details["message"]) for event in ledger.events(limit=1000) if event.kind == CheckRequested.kind]


@contextmanager
def watching(
    network: Network, inventory: Path, ledger: Ledger, syslog: socket.socket | None = None, most: int = 10
) -> Iterator[tuple[Watcher, LoopStatus]]:
    """A watcher in a thread, beside a leader that does nothing."""

    def connections() -> dict[str, dict[str, Any]]:
        return read_connections(inventory, network.devices)

    loop = LoopStatus(leading=True)
    watcher = Watcher(ledger, network, loop, connections, most, lambda: datetime.now(UTC), syslog)
    stopping = threading.Event()
    thread = threading.Thread(target=watcher.run, args=(stopping,))
    thread.start()
    try:
        yield watcher, loop
    finally:
        stopping.set()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def state_of(watcher: Watcher, name: str, state: WatchState) -> Callable[[], bool]:
    return lambda: name in watcher.status.devices and watcher.status.devices[name].state is state


def somebody_changes_it_after_the_comparison(
    router: Router, watcher: Watcher, loop: LoopStatus, mirror: Sequence[str]
) -> None:
    """What a push made is taken away after the push was compared and before it ends."""
    filter_ = ("dev", "eth2", "ingress", "protocol", "ip", "pref", "20813")
    before = loop.begin_push([ROUTER], time.monotonic())
    reported = watcher.status.changes[ROUTER]
    router.tc("filter", "add", *filter_, *mirror)
    wait_for(lambda: watcher.status.changes[ROUTER] > reported, "the push's own change to be told")
    compared_s, reported = time.monotonic(), watcher.status.changes[ROUTER]
    router.tc("filter", "del", *filter_)
    wait_for(lambda: watcher.status.changes[ROUTER] > reported, "the other change to be told")
    loop.end_push(before, [ROUTER], time.monotonic(), {ROUTER: compared_s})


@pytest.mark.slow
@ROOT_ONLY
def test_a_change_on_a_linux_router_is_told_and_the_leader_asked(
    router: Router, inventory: Path, ledger: Ledger
) -> None:
    network = load_network(inventory)
    with watching(network, inventory, ledger) as (watcher, loop):
        wait_for(state_of(watcher, ROUTER, WatchState.WATCHING), "the router to be watched")
        wait_for(state_of(watcher, OTHER, WatchState.BROKEN), "the other one to be given up for now")
        assert "127.0.0.5" in watcher.status.devices[OTHER].message

        router.tc("qdisc", "add", "dev", "eth3", "clsact")  # of this router the inventory has both
        router.tc("qdisc", "add", "dev", "eth2", "clsact")
        wait_for(lambda: len(check_requests(ledger)) == 1, "the leader to be asked")
        assert check_requests(ledger) == [f"told of a change: {ROUTER}: qdisc changed on eth2"]

        # What the leader itself does meanwhile is told, and not asked for.
        before = loop.begin_push([ROUTER], time.monotonic())
        reported = watcher.status.changes[ROUTER]
        mirror = (
            "u32",
            "match",
            "ip",
            "dport",
            "80",
            "0xffff",
            "action",
            "mirred",
            "egress",
            "redirect",
            "dev",
            "eth3",
        )
        router.tc("filter", "add", "dev", "eth2", "ingress", "protocol", "ip", "pref", "20813", *mirror)
        wait_for(lambda: watcher.status.changes[ROUTER] > reported, "the leader's own change to be told")
        loop.end_push(before, [ROUTER], time.monotonic())
        # A filter of somebody else's is nobody's business here.
        reported = watcher.status.changes[ROUTER]
        router.tc("filter", "add", "dev", "eth2", "ingress", "protocol", "ip", "pref", "100", *mirror)
        time.sleep(LONGEST_WAIT_S)
        assert (len(check_requests(ledger)), watcher.status.changes[ROUTER]) == (1, reported)

        router.tc("filter", "del", "dev", "eth2", "ingress", "protocol", "ip", "pref", "20813")
        wait_for(lambda: len(check_requests(ledger)) == 2, "the leader to be asked again")
        assert check_requests(ledger)[-1] == f"told of a change: {ROUTER}: filter deleted on eth2"

        somebody_changes_it_after_the_comparison(router, watcher, loop, mirror)
        wait_for(lambda: len(check_requests(ledger)) == 3, "the leader to be asked once more")

        # A connection that ends is made again, and what may have been missed is looked at.
        (monitor,) = router.monitors()
        monitor.kill()
        wait_for(state_of(watcher, ROUTER, WatchState.BROKEN), "the end to be seen")
        wait_for(state_of(watcher, ROUTER, WatchState.WATCHING), "the router to be watched again")
        wait_for(lambda: len(check_requests(ledger)) == 4, "the leader to be asked for what was missed")
        assert "it was not watched for a while" in check_requests(ledger)[-1]

        # Who does not lead does not watch.
        loop.leading = False
        wait_for(lambda: not watcher.status.devices, "the watching to end")
        wait_for(lambda: not router.monitors(), "nothing to be left on the router")
        loop.leading = True
        wait_for(state_of(watcher, ROUTER, WatchState.WATCHING), "the router to be watched by the next leader")
    wait_for(lambda: not router.monitors(), "nothing to be left on the router")
    assert len(check_requests(ledger)) == 4


@ROOT_ONLY
def test_a_datagram_from_a_router_s_address_is_a_change_and_connections_are_bounded(
    inventory: Path, ledger: Ledger
) -> None:
    """127.0.0.5 is the router's `ansible_host`."""
    network = load_network(inventory)
    with (
        closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as syslog,
        closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender,
    ):
        syslog.bind(("127.0.0.1", 0))
        sender.bind(("127.0.0.5", 0))
        with watching(network, inventory, ledger, syslog, most=1) as (watcher, _):
            wait_for(state_of(watcher, OTHER, WatchState.BROKEN), "the first by name to be tried")
            states = {name: one.state for name, one in watcher.status.devices.items()}
            assert states == dict.fromkeys(network.devices, WatchState.LISTENING) | {OTHER: WatchState.BROKEN}
            for text in (
                "%LINK-3-UPDOWN: Interface eth1",
                "%SYS-5-CONFIG_I: Configured from console by alice on vty0",
            ):
                sender.sendto(f"<189>45: *Mar  1 18:46:11.123: {text}".encode(), syslog.getsockname())
            wait_for(lambda: bool(check_requests(ledger)), "the leader to be asked")
    notice = "%SYS-5-CONFIG_I: Configured from console by alice on vty0"
    assert check_requests(ledger) == [f"told of a change: {OTHER}: {notice}"]
