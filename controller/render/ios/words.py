"""What IOS prints otherwise than it was told: ports and code points by name, a policer over several lines."""

from __future__ import annotations

import re
from itertools import pairwise

from controller.render.ios.tree import Node

#: IOS prints these ports by name, whatever way they were entered (IOS, "access-list (IP extended)").
_PORTS = {
    "tcp": "bgp 179 chargen 19 cmd 514 daytime 13 discard 9 domain 53 echo 7 exec 512 finger 79 ftp 21 ftp-data 20"
    " gopher 70 hostname 101 ident 113 irc 194 klogin 543 kshell 544 login 513 lpd 515 msrpc 135 nntp 119"
    " onep-plain 15001 onep-tls 15002 pim-auto-rp 496 pop2 109 pop3 110 smtp 25 sunrpc 111 syslog 514 tacacs 49"
    " tacacs-ds 49 talk 517 telnet 23 time 37 uucp 540 whois 43 www 80",
    "udp": "biff 512 bootpc 68 bootps 67 discard 9 dnsix 195 domain 53 echo 7 isakmp 500 mobile-ip 434 nameserver 42"
    " netbios-dgm 138 netbios-ns 137 netbios-ss 139 non500-isakmp 4500 ntp 123 pim-auto-rp 496 rip 520 ripv6 521"
    " snmp 161 snmptrap 162 sunrpc 111 syslog 514 tacacs 49 tacacs-ds 49 talk 517 tftp 69 time 37 who 513 xdmcp 177",
}
_NUMBERS = {
    protocol: dict(zip(told.split()[::2], told.split()[1::2], strict=True)) for protocol, told in _PORTS.items()
}
#: Code points by the name that IOS prints (RFC 2474, RFC 2597, RFC 3246).
DSCP_NAMES: dict[int, str] = (
    {0: "default", 46: "ef"}
    | {8 * selector: f"cs{selector}" for selector in range(1, 8)}
    | {8 * group + 2 * drop: f"af{group}{drop}" for group in range(1, 5) for drop in range(1, 4)}
)
_SEQUENCE = re.compile(r"^\d+ (?=permit |deny |remark )")
_ACTION = re.compile(r"(?=\b(?:conform|exceed|violate)-action )")
_INSIDE = ("conform-color", "conform-action", "exceed-action", "violate-action")
_MARKING = re.compile(r"\b(dscp|set-dscp-transmit) (\d+)\b")


def entry(line: str) -> str:
    """An entry of an access list as Slotcar writes it: no sequence number, ports as numbers."""
    line = _SEQUENCE.sub("", line)
    words = line.split(" ")
    if words[0] == "remark" or len(words) < 2:
        return line
    names = _NUMBERS.get(words[1], {})
    return " ".join(names.get(word, word) if before == "eq" else word for before, word in pairwise(["", *words]))


def action(node: Node) -> tuple[str, ...]:
    """One line of a class as Slotcar writes it, with what stands under it that is no action of a policer."""
    line = node.line
    under = [child.line for child in node.children]
    if line.startswith("police ") and any(one.startswith("conform-color ") for one in under):
        # Colours are told inside the policer, so all of it is.
        said = _ACTION.split(line)
        line = said[0].rstrip()
        under = sorted([*(" ".join(one.split()) for one in said[1:]), *under], key=_inside)
    elif line.startswith("police "):
        line = " ".join([line, *sorted(under, key=_inside)])
        under = []
        if " pir " not in line and " be " not in line:
            # With one bucket nothing violates; newer releases print it all the same.
            line = line.removesuffix(" violate-action drop")
    if line == "random-detect precedence-based":
        line = "random-detect"
    if re.fullmatch(r"queue-limit \d+", line):
        line = f"{line} packets"
    return _named(line), *(f" {_named(one)}" for one in under)


def matching(line: str) -> str:
    """A `match` of a class map as Slotcar writes it."""
    return " ".join(_name(word) if " dscp " in line and word.isdigit() else word for word in line.split(" "))


def _inside(line: str) -> int:
    word = line.split(" ", 1)[0]
    return _INSIDE.index(word) if word in _INSIDE else len(_INSIDE)


def _named(line: str) -> str:
    return _MARKING.sub(lambda found: f"{found[1]} {_name(found[2])}", line)


def _name(number: str) -> str:
    return DSCP_NAMES.get(int(number), number)
