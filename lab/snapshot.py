"""A router's configuration as text that can be compared byte for byte: no counters, no timers, a fixed order."""

from __future__ import annotations

import json
import re
from typing import Any

from lab.control import Lab

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
#: One shell for everything: a process costs 40 ms in the guest. Filters are read as text, because `tc -j` of a policer
#: leaves out its rate and burst, and classes, because `tc -j class` prints no JSON for htb (iproute2 6.1).
READ = """
for what in link addr rule; do echo "### ip $what"; ip -j $what show; done
echo "### ip route"; ip -j route show table all
echo "### tc qdisc"; tc -j -d qdisc show
for device in $(ls /sys/class/net | sort); do
    [ "$device" = lo ] && continue
    echo "### tc class $device"; tc class show dev $device
    for where in "" ingress egress; do
        echo "### tc filter $device${where:+ }$where"; tc filter show dev $device $where 2>/dev/null
    done
done
for kind in police pedit csum gact skbedit; do echo "### tc actions $kind"; tc actions list action $kind; done
echo "### sysctl"; cat /proc/sys/net/ipv4/ip_forward
"""


def snapshot(lab: Lab, router: str) -> str:
    """The router's addresses, routes, queues, classes, filters and actions, equal exactly when nothing differs."""
    text = lab.check(router, ["sh", "-c", READ])
    return canonical(text)


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
