"""What is Slotcar's in a running configuration: its ACL numbers, the CAR lines that use them, ToS weights."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from controller.network.model import Device
from controller.render.cisco_car.build import FLOW_ACLS, first_flow_acl, physical, precedence_acl
from controller.render.cisco_car.change import DEFAULT_WEIGHTS

SHOW = "show running-config"
_ACL = re.compile(r"^access-list (\d+) ")
_PRECEDENCE_ACL = re.compile(r"^access-list rate-limit (\d+) ")
_CAR = re.compile(r"^rate-limit (?:input|output) access-group (rate-limit )?(\d+) ")
_WEIGHT = re.compile(r"^fair-queue tos ([1-3]) weight \d+$")
#: Other ways to serve an interface's output, which exclude ToS-based WFQ (IOS, "Distributed WFQ", Restrictions).
_OTHER_QUEUEING = re.compile(
    r"^(fair-queue|fair-queue \d.*|fair-queue qos-group.*|priority-group .*|custom-queue-list .*"
    r"|service-policy output .*)$"
)
#: IOS prints these ports by name, whatever way they were entered.
_PORTS = {
    "tcp": "bgp 179 chargen 19 cmd 514 daytime 13 discard 9 domain 53 echo 7 exec 512 finger 79 ftp 21 ftp-data 20"
    " gopher 70 hostname 101 ident 113 irc 194 klogin 543 kshell 544 login 513 lpd 515 nntp 119 pim-auto-rp 496 pop2 109"
    " pop3 110 smtp 25 sunrpc 111 tacacs 49 talk 517 telnet 23 time 37 uucp 540 whois 43 www 80",
    "udp": "biff 512 bootpc 68 bootps 67 discard 9 dnsix 195 domain 53 echo 7 isakmp 500 mobile-ip 434 nameserver 42"
    " netbios-dgm 138 netbios-ns 137 netbios-ss 139 non500-isakmp 4500 ntp 123 pim-auto-rp 496 rip 520 snmp 161"
    " snmptrap 162 sunrpc 111 syslog 514 tacacs 49 talk 517 tftp 69 time 37 who 513 xdmcp 177",
}
_NUMBERS = {
    protocol: dict(zip(told.split()[::2], told.split()[1::2], strict=True)) for protocol, told in _PORTS.items()
}


def owned_lines(text: str, device: Device) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Slotcar's lines in the canonical order, and in words what of others' stands beside them."""
    flows = range(first_flow_acl(device), first_flow_acl(device) + FLOW_ACLS)
    precedences = range(precedence_acl(device, 0), precedence_acl(device, 8))
    queued = {physical(name) for name in device.interfaces}
    acls: list[tuple[int, str]] = []
    rates: list[tuple[int, str]] = []
    blocks: dict[str, list[str]] = {}
    foreign = []
    for interface, line in _lines(text):
        if interface is None:
            if (match := _ACL.match(line)) and int(match[1]) in flows:
                acls.append((int(match[1]), match[0] + ports_as_numbers(line.removeprefix(match[0]))))
            elif (match := _PRECEDENCE_ACL.match(line)) and int(match[1]) in precedences:
                rates.append((int(match[1]), line))
        elif interface in queued and (line == "fair-queue tos" or _WEIGHT.match(line)):
            blocks.setdefault(interface, []).append(line)
        elif interface in queued and _OTHER_QUEUEING.match(line):
            foreign.append(f"{interface}: the queueing `{line}`")
        elif match := _CAR.match(line):
            if int(match[2]) in (precedences if match[1] else flows):
                blocks.setdefault(interface, []).append(line)
            else:
                foreign.append(f"{interface}: {line}")
    lines = [line for _, line in sorted(acls, key=lambda one: one[0])]
    lines += [line for _, line in sorted(rates, key=lambda one: one[0])]
    for name in sorted(blocks):
        lines += [f"interface {name}", *(f" {line}" for line in _with_weights(blocks[name]))]
    return tuple(lines), tuple(foreign)


def _with_weights(lines: list[str]) -> list[str]:
    """CAR first, then WFQ with all its weights: IOS may leave out those that are as by default."""
    car = [line for line in lines if line.startswith("rate-limit")]
    if "fair-queue tos" not in lines:
        return car
    told = {match[1]: line for line in lines if (match := _WEIGHT.match(line))}
    weights = [told.get(str(tos), f"fair-queue tos {tos} weight {w}") for tos, w in sorted(DEFAULT_WEIGHTS.items())]
    return [*car, "fair-queue tos", *weights]


def ports_as_numbers(entry: str) -> str:
    """An ACL's entry (`permit tcp host 10.0.0.1 host 10.0.0.2 eq www`) with ports as the numbers that Slotcar wrote."""
    words = entry.split(" ")
    if len(words) < 2 or words[0] == "remark":
        return entry
    names = _NUMBERS.get(words[1], {})
    return " ".join(names.get(word, word) if before == "eq" else word for before, word in pairwise(["", *words]))


def _lines(text: str) -> Iterator[tuple[str | None, str]]:
    """Every line with the interface that it stands under (`ATM2/0/0.60 point-to-point` is ATM2/0/0.60); None at the top."""
    interface = None
    for raw in text.splitlines():
        line = raw.rstrip()
        if not line.startswith(" "):
            interface = line.split()[1] if line.startswith("interface ") else None
            if interface is None:
                yield None, line
        elif interface is not None:
            yield interface, line.strip()
