"""What is Slotcar's in a running configuration: its ACL numbers, the CAR lines that use them, ToS weights."""

from __future__ import annotations

import re
from collections.abc import Iterator

from controller.network.model import Device
from controller.render.cisco_car.build import FLOW_ACLS, first_flow_acl, precedence_acl

SHOW = "show running-config"
_ACL = re.compile(r"^access-list (\d+) ")
_PRECEDENCE_ACL = re.compile(r"^access-list rate-limit (\d+) ")
_CAR = re.compile(r"^rate-limit (?:input|output) access-group (rate-limit )?(\d+) ")


def owned_lines(text: str, device: Device) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Slotcar's lines in the canonical order, and in words what of others' stands beside them."""
    flows = range(first_flow_acl(device), first_flow_acl(device) + FLOW_ACLS)
    precedences = range(precedence_acl(device, 0), precedence_acl(device, 8))
    acls: list[tuple[int, str]] = []
    rates: list[tuple[int, str]] = []
    blocks: dict[str, list[str]] = {}
    foreign = []
    for interface, line in _lines(text):
        if interface is None:
            if (match := _ACL.match(line)) and int(match[1]) in flows:
                acls.append((int(match[1]), line))
            elif (match := _PRECEDENCE_ACL.match(line)) and int(match[1]) in precedences:
                rates.append((int(match[1]), line))
        elif line.startswith("fair-queue tos") and interface in device.interfaces:
            blocks.setdefault(interface, []).append(line)
        elif match := _CAR.match(line):
            if int(match[2]) in (precedences if match[1] else flows):
                blocks.setdefault(interface, []).append(line)
            else:
                foreign.append(f"{interface}: {line}")
    lines = [line for _, line in sorted(acls, key=lambda one: one[0])]
    lines += [line for _, line in sorted(rates, key=lambda one: one[0])]
    for name in sorted(blocks):
        lines += [f"interface {name}", *(f" {line}" for line in blocks[name])]
    return tuple(lines), tuple(foreign)


def _lines(text: str) -> Iterator[tuple[str | None, str]]:
    """Every line with the interface that it stands under; None at the top."""
    interface = None
    for raw in text.splitlines():
        line = raw.rstrip()
        if not line.startswith(" "):
            interface = line.removeprefix("interface ").strip() if line.startswith("interface ") else None
            if interface is None:
                yield None, line
        elif interface is not None:
            yield interface, line.strip()
