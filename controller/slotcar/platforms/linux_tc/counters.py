"""What `tc -s` says: filters' actions count flows where they come in, classes count services where they leave.

In front of an ingress filter the kernel has taken the link's header off, so its actions count IP packets as they are.
A class counts frames with the Ethernet header; under HFSC and ETS the size table's overhead too
(`qdisc_calculate_pkt_len`), while HTB's own is in its rates alone. All three were seen on kernel 6.1
(`tests/unit/platforms/test_linux_counters.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from slotcar.base.vocabulary import Scheduler, Service
from slotcar.network.model import Device, Interface
from slotcar.platforms.counting import NOTHING, Amount, Count, Counts, FlowPlace, Place, QueuePlace, without_header
from slotcar.platforms.intent.model import EdgeFlow, QosIntent
from slotcar.platforms.linux_tc.build import AGGREGATES, COLOURS, FLOWS_FROM
from slotcar.platforms.linux_tc.listing import sections_in
from slotcar.platforms.linux_tc.objects import ROOT
from slotcar.platforms.linux_tc.queues import COUNTED_OVERHEAD_BYTES, minors_of
from slotcar.platforms.linux_tc.running import SEPARATOR
from slotcar.platforms.model import Configuration, Unreadable

_FILTER = re.compile(r"^filter protocol \S+ pref (\d+) flower chain 0 handle (0x[0-9a-f]+)")
_ACTION = re.compile(r"^\s+action order \d+:\s+(\w+)")
_INSTALLED = re.compile(r"\binstalled (\d+) sec\b")
_SENT = re.compile(r"^\s*Sent (\d+) bytes (\d+) pkt \(dropped (\d+),")
_CLASS = re.compile(rf"^class (?:htb|hfsc|ets) {ROOT}(\w+) ")
_FIRST_COLOUR = 0


@dataclass(slots=True)
class _Action:
    kind: str
    sent: Amount = NOTHING


@dataclass(slots=True)
class _Filter:
    """A flow's filter: `colour` counts the filters that ask a packet one after the other."""

    number: int
    colour: int
    actions: list[_Action] = field(default_factory=list)
    age_s: int | None = None

    @property
    def came(self) -> Amount:
        return self.actions[0].sent if self.actions else NOTHING

    @property
    def passed(self) -> Amount:
        """What went through all actions, the last of which sets the checksum."""
        return self.actions[-1].sent if self.actions else NOTHING


class LinuxCounters:
    def commands(self, device: Device) -> tuple[str, ...]:
        """One process for all interfaces: a batch of `show`s with separators. Where it fails, the rest of a reading does
        not."""
        shows = []
        for name in sorted(device.interfaces):
            shows += [f"class show dev {name}", SEPARATOR, f"filter show dev {name} ingress", SEPARATOR]
        lines = "\\n".join(shows)
        return (f"printf '{lines}\\n' | tc -s -batch - || true",)

    def counts(self, outputs: Mapping[str, str], device: Device, intent: QosIntent, running: Configuration) -> Counts:
        (command,) = self.commands(device)
        if command not in outputs:
            raise Unreadable(f"{device.name}: no answer to `tc -s`")
        wanted = 2 * len(device.interfaces)
        try:
            sections = sections_in(outputs[command], wanted)
        except ValueError as count:
            raise Unreadable(f"{device.name}: `tc -s` showed {count} lists and not {wanted}") from count
        flows = {(one.interface.name, one.number): one for one in intent.flows}
        counts: dict[Place, Count] = {}
        for number, name in enumerate(sorted(device.interfaces)):
            classes, filters = sections[2 * number : 2 * number + 2]
            counts.update(_queues(device.interfaces[name], classes))
            counts.update(_flows(name, filters, flows))
        return counts


COUNTERS = LinuxCounters()


def _queues(interface: Interface, lines: Sequence[str]) -> Iterator[tuple[Place, Count]]:
    keys = {minor: key for key, minor in minors_of(interface).items()}
    header_bytes = COUNTED_OVERHEAD_BYTES
    if interface.scheduler is not Scheduler.HTB:
        header_bytes += max(0, interface.overhead_bytes - COUNTED_OVERHEAD_BYTES)
    key: str | None = None
    for line in lines:
        if header := _CLASS.match(line):
            key = keys.get(header[1])
        elif key and (sent := _SENT.match(line)):
            octets, packets, drops = map(int, sent.groups())
            amount = without_header(packets, octets, header_bytes)
            yield QueuePlace(interface.id.name, key), Count(amount, dropped=Amount(drops))
            key = None


def _flows(
    interface: str, lines: Sequence[str], flows: Mapping[tuple[str, int], EdgeFlow]
) -> Iterator[tuple[Place, Count]]:
    by_flow: dict[int, dict[int, _Filter]] = {}
    for one in _filters(lines):
        by_flow.setdefault(one.number, {})[one.colour] = one
    for number, colours in by_flow.items():
        flow = flows.get((interface, number))
        if flow is not None and _FIRST_COLOUR in colours:
            yield FlowPlace(interface, number), _count(flow, colours)


def _count(flow: EdgeFlow, colours: Mapping[int, _Filter]) -> Count:
    first = colours[_FIRST_COLOUR]
    ages = [one.age_s for one in colours.values() if one.age_s is not None]
    age_s = min(ages, default=None)
    if flow.service is Service.ASSURED_RATE:
        others = sum((one.passed for colour, one in colours.items() if colour != _FIRST_COLOUR), NOTHING)
        return Count(first.passed, others, age_s=age_s)
    return Count(first.passed, dropped=first.came - first.passed, age_s=age_s)


def _filters(lines: Sequence[str]) -> Iterator[_Filter]:
    """The filters in the range of flows' preferences. Others' may stand there: whose they are says their number."""
    current: _Filter | None = None
    for line in lines:
        if line.startswith("filter "):
            if current is not None:
                yield current
            current = _begun(line)
        elif current is None:
            continue
        elif action := _ACTION.match(line):
            current.actions.append(_Action(action[1]))
        elif current.actions and (sent := _SENT.match(line)):
            current.actions[-1].sent = Amount(int(sent[2]), int(sent[1]))
        if current is not None and (installed := _INSTALLED.search(line)):
            age_s = int(installed[1])
            current.age_s = age_s if current.age_s is None else min(current.age_s, age_s)
    if current is not None:
        yield current


def _begun(line: str) -> _Filter | None:
    header = _FILTER.match(line)
    if header is None or not FLOWS_FROM <= int(header[1]) < AGGREGATES:
        return None
    return _Filter(int(header[2], 16), (int(header[1]) - FLOWS_FROM) % COLOURS)
