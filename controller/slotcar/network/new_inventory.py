"""The text of a first inventory, with comments, from a few words about devices, links, end systems and shares. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface

import yaml

from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.registry import FOLDERS, TransportKind, facts_of
from slotcar.base.units import UnitError, parse_rate_bps

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_ADDRESS = re.compile(r"(?P<host>[^@:\s]+)(:(?P<port>\d+))?")
#: As an option, and as an answer.
LINK = "edge-a:eth1 10.0.0.1/30, edge-b:eth1 10.0.0.2/30, 1 Gbit/s"
HOST = "alice 10.1.0.2, edge-a:eth2 10.1.0.1/24, 1 Gbit/s"
#: What a share is proposed for where none is said.
SHARES = {"ip-premium": "40 %", "assured-rate": "30 %", "qbss": "1 %"}


@dataclass(frozen=True, slots=True)
class NewDevice:
    """`address` is how Ansible reaches it; empty: by its name. `port` 0: the usual one."""

    name: str
    platform: str
    address: str = ""
    port: int = 0


@dataclass(frozen=True, slots=True)
class NewInterface:
    device: str
    name: str
    address: str


@dataclass(frozen=True, slots=True)
class NewLink:
    """Two interfaces of devices, and the rate of the wire between them."""

    ends: tuple[NewInterface, NewInterface]
    rate: str


@dataclass(frozen=True, slots=True)
class NewHost:
    """An end system, the interface that it is behind, and the rate of that."""

    name: str
    address: str
    behind: NewInterface
    rate: str


@dataclass(frozen=True, slots=True)
class NewInventory:
    """The answers from which a first inventory is made. `domain` is one administrative domain; more are written by hand."""

    domain: str
    devices: Sequence[NewDevice]
    links: Sequence[NewLink] = ()
    hosts: Sequence[NewHost] = ()
    shares: Mapping[str, str] = field(default_factory=lambda: dict(SHARES))
    user: str = ""
    ansible: Mapping[str, str] = field(default_factory=dict)


def parse_device(text: str) -> NewDevice:
    """`NAME=PLATFORM` or `NAME=PLATFORM@ADDRESS[:PORT]`.

    Raises:
        InvalidInput: it is not, or there is no such platform.
    """
    name, equals, rest = text.partition("=")
    platform, at, address = rest.partition("@")
    match = _ADDRESS.fullmatch(address) if at else None
    if not (equals and _NAME.fullmatch(name.strip()) and platform.strip()) or (at and match is None):
        raise _wrong("--device", text, "NAME=PLATFORM@ADDRESS, such as edge-a=linux-tc@192.0.2.1")
    if platform.strip() not in FOLDERS:
        raise _wrong("--device", platform.strip(), f"one of the platforms: {', '.join(sorted(FOLDERS))}")
    where = (match["host"], int(match["port"] or 0)) if match else ("", 0)
    return NewDevice(name.strip(), platform.strip(), *where)


def parse_link(text: str) -> NewLink:
    """`DEVICE:INTERFACE ADDRESS/LENGTH, DEVICE:INTERFACE ADDRESS/LENGTH, RATE`.

    Raises:
        InvalidInput: it is not; also where an address or the rate is none.
    """
    parts = [part.strip() for part in text.split(",")]
    ends = [_interface(part) for part in parts[:2]]
    if len(parts) != 3 or len(ends) != 2 or None in ends:
        raise _wrong("--link", text, LINK)
    first, second = (one for one in ends if one is not None)
    return NewLink((first, second), _rate("--link", parts[2]))


def parse_host(text: str) -> NewHost:
    """`NAME ADDRESS, DEVICE:INTERFACE ADDRESS/LENGTH, RATE`.

    Raises:
        InvalidInput: it is not; also where an address or the rate is none.
    """
    parts = [part.strip() for part in text.split(",")]
    words = parts[0].split()
    behind = _interface(parts[1]) if len(parts) == 3 else None
    if behind is None or len(words) != 2:
        raise _wrong("--host", text, HOST)
    try:
        address = str(IPv4Address(words[1]))
    except ValueError:
        raise _wrong("--host", words[1], f"an IPv4 address, as in {HOST}") from None
    return NewHost(words[0], address, behind, _rate("--host", parts[2]))


def parse_pair(option: str, text: str, example: str) -> tuple[str, str]:
    """`KEY=VALUE`, as of a share or of a variable of Ansible's."""
    key, equals, value = text.partition("=")
    if not (equals and key.strip() and value.strip()):
        raise _wrong(option, text, example)
    return key.strip(), value.strip()


def files_of(new: NewInventory) -> dict[str, str]:
    """Path below the inventory's folder -> text.

    Raises:
        InvalidInput: a link or an end system names a device that is none of these, or something is said twice.
    """
    names = [device.name for device in new.devices]
    ends = [end for link in new.links for end in link.ends] + [host.behind for host in new.hosts]
    unknown = sorted({end.device for end in ends} - set(names))
    if unknown:
        raise _wrong("--link, --host", ", ".join(unknown), f"one of the devices: {', '.join(names)}")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise _wrong("--device", ", ".join(twice), "each device once")
    _check_interfaces(new)
    return {
        "hosts.yml": _hosts(new),
        "group_vars/domains.yml": _common(new),
        **{f"host_vars/{device.name}.yml": _device(device, new) for device in new.devices},
    }


def _check_interfaces(new: NewInventory) -> None:
    """
    Raises:
        InvalidInput: two links have an interface in common, or what is said of one interface differs.
    """
    ends_by_interface = {(end.device, end.name): (end.address, link.rate) for link in new.links for end in link.ends}
    if len(ends_by_interface) < 2 * len(new.links):
        ends = [f"{end.device}:{end.name}" for link in new.links for end in link.ends]
        twice = sorted({end for end in ends if ends.count(end) > 1})
        raise _wrong("--link", ", ".join(twice), "another interface for each link")
    for host in new.hosts:
        of_host = (host.behind.address, host.rate)
        before = ends_by_interface.setdefault((host.behind.device, host.behind.name), of_host)
        if before != of_host:
            where = f"{host.behind.device}:{host.behind.name}"
            raise _wrong("--host", f"{where} {', '.join(of_host)}", f"the same as before: {where} {', '.join(before)}")


def _hosts(new: NewInventory) -> str:
    lines = [
        "---",
        "# Routers by administrative domain, and end systems. Every variable: docs/reference/inventory.md.",
        "all:",
        "  children:",
        "    domains:",
        "      children:",
        "        # One group for each administrative domain. Between two domains, each says in group_vars/DOMAIN.yml",
        "        # what it accepts from the other (slotcar_sls).",
        f"        {_text(new.domain)}:",
        "          hosts:",
        *(f"            {_text(device.name)}:" for device in new.devices),
        "    # Those who may be named as a source or a destination: slotcar create --source NAME",
        "    slotcar_hosts:",
        "      hosts:" if new.hosts else "      hosts: {}",
    ]
    for host in new.hosts:
        lines += [
            f"        {_text(host.name)}:",
            f"          slotcar_address: {_text(host.address)}",
            f"          slotcar_attached_to: {_text(f'{host.behind.device}:{host.behind.name}')}",
        ]
    return _joined(lines)


def _common(new: NewInventory) -> str:
    platforms = sorted({device.platform for device in new.devices})
    lines = [
        "---",
        "# Holds for every router, unless its domain (group_vars/DOMAIN.yml) or its own file says otherwise.",
    ]
    if len(platforms) == 1:
        lines.append(f"slotcar_platform: {_text(platforms[0])}")
    lines += [
        "# So much of each link may be reserved for a service, together; the rest is best effort's. What they add up to is",
        "# at most 100 %.",
        "slotcar_shares:",
        *(f"  {_text(service)}: {_text(share)}" for service, share in new.shares.items()),
        "# Layer-2 bytes that each packet costs on a line: 38 for Ethernet with preamble and gap.",
        "slotcar_overhead_bytes: 38",
        "",
        "# How Ansible reaches the routers. Passwords belong into a file of Ansible Vault, not here.",
    ]
    lines += [f"ansible_user: {_text(new.user)}"] if new.user else ["# ansible_user: slotcar"]
    lines += [f"{key}: {_text(value)}" for key, value in new.ansible.items()]
    if len(_transports(new)) == 1:
        lines += _reached_by(next(iter(_transports(new))), new)
    return _joined(lines)


def _transports(new: NewInventory) -> set[TransportKind | None]:
    return {_transport(device.platform) for device in new.devices}


def _transport(platform: str) -> TransportKind | None:
    """None of a platform that is not known: the inventory's reader names it."""
    return facts_of(platform).transport if platform in FOLDERS else None


def _reached_by(transport: TransportKind | None, new: NewInventory) -> list[str]:
    """What logging in to such a device needs beside address and user; what only an operator knows as a comment."""
    if transport is TransportKind.LINUX:
        if (new.user or "root") == "root" or "ansible_become" in new.ansible:
            return []
        return [
            "# Only root may change queues: this user needs sudo without a password on the routers.",
            "ansible_become: true",
        ]
    if transport not in (TransportKind.IOS, TransportKind.NETCONF):
        return []
    lines = [
        "# A password out of Ansible Vault, or a key: ansible_ssh_private_key_file.",
        '# ansible_password: "{{ vault_router_password }}"',
        "# The routers' host keys, as ssh keeps them; by default those of the account that pushes.",
        "# slotcar_known_hosts: /etc/slotcar/known_hosts",
    ]
    if transport is TransportKind.IOS:
        lines += [
            "# For `enable`, where it has a password of its own.",
            '# ansible_become_password: "{{ vault_enable_password }}"',
            "# Where the router keeps files.",
            '# slotcar_flash: "flash:"',
        ]
    return lines


def _device(device: NewDevice, new: NewInventory) -> str:
    lines = ["---"]
    if len({one.platform for one in new.devices}) > 1:
        lines.append(f"slotcar_platform: {_text(device.platform)}")
    if device.address:
        lines.append(f"ansible_host: {_text(device.address)}")
    if device.port:
        lines.append(f"ansible_port: {device.port}")
    if len(_transports(new)) > 1:
        lines += _reached_by(_transport(device.platform), new)
    lines += ["# Names as the router has them. `capacity` is the line's rate; a link's two ends name each other."]
    interfaces: dict[str, list[str]] = {}
    for link in new.links:
        for near, far in (link.ends, link.ends[::-1]):
            if near.device == device.name:
                interfaces[near.name] = _interface_lines(
                    near, link.rate, f"    neighbour: {_text(f'{far.device}:{far.name}')}"
                )
    for host in new.hosts:
        if host.behind.device == device.name:
            interfaces.setdefault(host.behind.name, _interface_lines(host.behind, host.rate))
    lines.append("slotcar_interfaces:" if interfaces else "slotcar_interfaces: {}")
    return _joined([*lines, *(line for name in sorted(interfaces) for line in interfaces[name])])


def _interface_lines(end: NewInterface, rate: str, *more: str) -> list[str]:
    return [f"  {_text(end.name)}:", f"    capacity: {_text(rate)}", f"    address: {_text(end.address)}", *more]


def _interface(text: str) -> NewInterface | None:
    words = text.split()
    device, colon, name = words[0].partition(":") if words else ("", "", "")
    if len(words) != 2 or not (device and colon and name):
        return None
    try:
        address = IPv4Interface(words[1])
    except ValueError:
        address = None
    if address is None or "/" not in words[1]:
        raise _wrong("--link, --host", words[1], "an IPv4 address with its prefix length, such as 10.0.0.1/30")
    return NewInterface(device, name, words[1])


def _rate(option: str, text: str) -> str:
    """The text of a rate as it was said."""
    try:
        parse_rate_bps(text)
    except UnitError as error:
        raise InvalidInput([Problem(option, 0, "", error.message, text, error.hint)]) from error
    return text


def _text(value: str) -> str:
    """A text as YAML writes it, quoted where it must be."""
    return yaml.safe_dump(value, default_flow_style=True, width=1000).removesuffix("\n").removesuffix("...").strip()


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def _wrong(option: str, text: str, example: str) -> InvalidInput:
    return InvalidInput([Problem(option, 0, "", "cannot be read", text, f"say {example}")])
