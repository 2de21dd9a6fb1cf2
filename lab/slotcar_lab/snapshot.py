"""A router's configuration as text that can be compared byte for byte: no counters, no timers, a fixed order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from slotcar_lab.control import Lab
from slotcar_lab.errors import LabError

#: Printed by `ip -j`, but it changes by itself or from build to build.
VOLATILE = frozenset(
    {
        *("valid_life_time", "preferred_life_time", "ifindex", "link_index", "link_netnsid", "address"),
        "direct_packets_stat",  # a counter, which htb counts among its options
    }
)
SECTION = "### "
#: iproute2 6.1 prints hfsc's options as if no JSON were wanted.
BARE = re.compile(r'"options":\{default (\w+) *\}')
#: Filters are read as text, because `tc -j` of a policer leaves out its rate and burst, and classes, because `tc -j class`
#: prints no JSON for htb (iproute2 6.1).
READ = """
for what in link addr rule; do echo "### ip $what"; ip -j $what show; done
echo "### ip route"; ip -j route show table all
echo "### sysctl"; cat /proc/sys/net/ipv4/ip_forward
echo "### tc qdisc"; tc -j -d qdisc show
echo "### tc"
tc -force -batch - 2>/dev/null
"""
ACTIONS = ("police", "pedit", "csum", "gact", "skbedit")
#: What tc prints of the loopback interface, between the answers of one batch: a process for each costs the guest 30 ms.
BETWEEN = re.compile(r"^qdisc .*\n", re.MULTILINE)


def snapshot(lab: Lab, router: str) -> str:
    """The router's addresses, routes, queues, classes, filters and actions, equal exactly when nothing differs."""
    commands = _commands(end.interface for end in lab.topology.ends_of(router))
    lines = "".join(f"{line}\nqdisc show dev lo\n" for line in commands.values())
    own, _, tc = lab.check(router, ["sh", "-c", READ], stdin=lines).partition(f"{SECTION}tc\n")
    *answers, rest = BETWEEN.split(tc)
    if len(answers) != len(commands) or rest:
        raise LabError(f"{router}: tc gave {len(answers)} answers to {len(commands)} questions")
    answered = zip(commands, answers, strict=True)
    return canonical(own + "".join(f"{SECTION}{title}\n{answer}" for title, answer in answered))


def snapshots(lab: Lab) -> dict[str, str]:
    """Of every router, by its name."""
    with ThreadPoolExecutor() as pool:
        return dict(zip(lab.topology.routers, pool.map(partial(snapshot, lab), lab.topology.routers), strict=True))


def _commands(interfaces: Iterable[str]) -> dict[str, str]:
    """Lines of `tc -batch`, by the title of their answer."""
    lines = {}
    for device in sorted(interfaces):
        lines[f"tc class {device}"] = f"class show dev {device}"
        for where in ("", " ingress", " egress"):
            lines[f"tc filter {device}{where}"] = f"filter show dev {device}{where}"
    return lines | {f"tc actions {kind}": f"actions list action {kind}" for kind in ACTIONS}


def canonical(text: str) -> str:
    """`READ`'s output without what changes by itself, JSON sections one object a line, in a fixed order."""
    out: list[str] = []
    for section in text.split(SECTION)[1:]:
        title, _, body = section.partition("\n")
        out.append(f"{SECTION}{title}")
        if body.lstrip().startswith("["):
            entries = json.loads(BARE.sub(r'"options":{"default":"\1"}', body))
            out += sorted(json.dumps(_steady(entry), sort_keys=True) for entry in entries if entry)
        else:
            out += _ordered(title, [line.rstrip() for line in body.splitlines() if line.strip()])
    return "".join(f"{line}\n" for line in out)


def _ordered(title: str, lines: list[str]) -> list[str]:
    # The kernel keeps classes in a hash: their order says nothing. That of filters and actions does.
    return sorted(lines) if title.startswith("tc class") else lines


def _steady(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _steady(inner) for key, inner in value.items() if key not in VOLATILE}
    return [_steady(inner) for inner in value] if isinstance(value, list) else value
