"""What stands in the way of a first push: the network, this machine, and each device's answers, rights and clock."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from slotcar.base.registry import TransportKind, facts_of
from slotcar.base.settings import Settings
from slotcar.base.vocabulary import Service
from slotcar.network.model import Network
from slotcar.platforms import renderer_of
from slotcar.platforms.model import Unrenderable
from slotcar.rollout.model import Outlook, Reading
from slotcar.rollout.probing import Probe
from slotcar.rollout.pusher import Pusher
from slotcar.rollout.wanted import wanted_for
from slotcar.views.devices import named_devices


class Result(StrEnum):
    """`obstacle`: a push fails as things are. `warning`: it does not, and something is wrong or missing all the same."""

    FINE = "ok"
    WARNING = "warning"
    OBSTACLE = "obstacle"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `subject` is a device's name, `inventory` or `this machine`."""

    subject: str
    what: str
    result: Result
    message: str


def readiness(
    network: Network, pusher: Pusher, now: datetime, settings: Settings, devices: Collection[str] | None = None
) -> tuple[Finding, ...]:
    """Reads the devices, changes nothing.

    Args:
        settings: as whom the controller will listen.
        devices: only these; None for all that Slotcar configures.

    Raises:
        NoSuchDevice: one of `devices` is not managed.
    """
    names = named_devices(network, devices)
    before = (*_of_the_inventory(network), *_of_the_api(settings), *_of_this_machine(network, pusher, names))
    if any(one.result is Result.OBSTACLE and one.subject == "this machine" for one in before):
        return before
    outlook = wanted_for(network)((), now)
    readings, probes = pusher.probe(names)
    findings = list(before)
    for name in names:
        if (failure := readings.failures.get(name)) is not None:
            what = "login" if failure.unreachable else "answers"
            findings.append(Finding(name, what, Result.OBSTACLE, failure.message))
            continue
        findings += _of_a_device(name, readings.by_device[name], probes[name], outlook, pusher, now)
    return tuple(findings)


def _of_the_inventory(network: Network) -> Iterator[Finding]:
    links = (
        sum(one.neighbour is not None for each in network.devices.values() for one in each.interfaces.values()) // 2
    )
    counts = f"{len(network.devices)} devices, {links} links, {len(network.hosts)} end systems"
    yield Finding("inventory", "read", Result.FINE, counts)
    if not network.hosts and not any(
        one.prefixes for device in network.devices.values() for one in device.interfaces.values()
    ):
        message = "names no end system (group slotcar_hosts) and no network (`prefixes`): nobody can reserve by a name"
        yield Finding("inventory", "end systems", Result.WARNING, message)
    without = sorted(
        str(one.id)
        for device in network.devices.values()
        for one in device.interfaces.values()
        if not any(one.share_bps(service) for service in Service if service is not Service.BEST_EFFORT)
    )
    if without:
        message = f"no share of {', '.join(without)} is for reservations: set slotcar_shares"
        yield Finding("inventory", "shares", Result.WARNING, message)


def _of_the_api(settings: Settings) -> Iterator[Finding]:
    """Behind a proxy that is not named, a page's cookie is not kept to TLS; without one, tokens go in clear."""
    if settings.loopback or any(not ip_network(one).is_loopback for one in settings.trusted_proxies):
        return
    message = (
        f"it listens on {settings.listen_host} without TLS and trusts no proxy of another machine: put a TLS proxy in front"
        " and name it in SLOTCAR_TRUSTED_PROXIES"
    )
    yield Finding("this machine", "proxy", Result.WARNING, message)


def _of_this_machine(network: Network, pusher: Pusher, names: Collection[str]) -> Iterator[Finding]:
    home = pusher.playbooks.home
    if not (home / "playbooks" / "read.yml").is_file():
        message = f"there are no playbooks in {home}: is SLOTCAR_HOME right?"
        yield Finding("this machine", "playbooks", Result.OBSTACLE, message)
    ansible = Path(sys.executable).with_name("ansible-playbook")
    if not ansible.exists() and shutil.which("ansible-playbook") is None:
        message = "there is no ansible-playbook beside this Python, nor in PATH"
        yield Finding("this machine", "ansible", Result.OBSTACLE, message)
    linux = any(facts_of(network.devices[name].platform).transport is TransportKind.LINUX for name in names)
    if linux and shutil.which("ssh") is None:
        message = "there is no ssh, by which Ansible reaches Linux routers: apt-get install openssh-client"
        yield Finding("this machine", "ssh", Result.OBSTACLE, message)


def _of_a_device(
    name: str, reading: Reading, probe: Probe, outlook: Outlook, pusher: Pusher, now: datetime
) -> Iterator[Finding]:
    yield Finding(name, "answers", Result.FINE, f"{len(reading.configuration.lines)} lines of Slotcar's")
    for obstacle in probe.obstacles:
        yield Finding(name, "rights", Result.OBSTACLE, obstacle)
    if probe.rights_asked and not probe.obstacles:
        yield Finding(name, "rights", Result.FINE, f"{probe.account}, with every program that a push runs")
    if probe.clock_off_us == 0:
        yield Finding(name, "clock", Result.FINE, "agrees with this machine's")
    elif probe.clock_off_us is not None:
        side = "ahead of" if probe.clock_off_us > 0 else "behind"
        message = f"its clock is at least {abs(probe.clock_off_us) / 1e6:.0f} s {side} this machine's; set both by NTP"
        yield Finding(name, "clock", Result.WARNING, message)
    if name in outlook.unrenderable:
        yield Finding(name, "configuration", Result.OBSTACLE, outlook.unrenderable[name])
        return
    try:
        revision = pusher.prepare({name: outlook.wanted[name]}, {name: reading}, now)
    except Unrenderable as error:
        yield Finding(name, "configuration", Result.OBSTACLE, str(error))
        return
    device = pusher.devices[name]
    for one in renderer_of(device).hindrances(reading.configuration, outlook.wanted[name].configuration, device):
        if not one.certain:
            yield Finding(name, "configuration", Result.WARNING, one.words)
    lines = 0 if revision is None else len(revision.devices[name].change.apply)
    yield Finding(
        name, "configuration", Result.FINE, f"nothing is in the way of the {lines} lines without a reservation"
    )


def readiness_document(findings: Collection[Finding]) -> dict[str, Any]:
    obstacles = sum(one.result is Result.OBSTACLE for one in findings)
    rows = [asdict(one) | {"result": one.result.value} for one in findings]
    return {"ready": obstacles == 0, "obstacles": obstacles, "findings": rows}
