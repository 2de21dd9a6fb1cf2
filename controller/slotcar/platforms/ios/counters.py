"""What IOS's `show` commands say of policers and queues, for every platform with its command line.

IOS is taken to count a packet with its link's header and without the checksum behind it. No real router's counters were
compared with a receiver's yet; `docs/howto/usage.md` says so.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import textfsm  # type: ignore[import-untyped]

from slotcar.base.vocabulary import RESERVED_SERVICES, Service
from slotcar.network.model import Device
from slotcar.platforms.counting import Amount, Count, Counts, FlowPlace, Place, QueuePlace, without_header
from slotcar.platforms.intent.model import EdgeFlow, QosIntent
from slotcar.platforms.ios.class_names import key_of_queue
from slotcar.platforms.ios.ingress import input_policy
from slotcar.platforms.ios.objects import FLOW, PREFIX
from slotcar.platforms.model import Configuration, Unreadable

POLICIES = "show policy-map interface"
RATE_LIMITS = "show interfaces rate-limit"
#: Of a link whose name says nothing else: PPP and HDLC.
SERIAL_HEADER_BYTES, ETHERNET_HEADER_BYTES = 4, 14
#: Characters that end a line for Python, and not for a router.
_NO_LINE_ENDS = re.compile("[\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
_REFUSED = re.compile(r"^%.*$", re.MULTILINE)
_CLOCK = re.compile(r"^(\d+):(\d{2}):(\d{2})$")
_SPAN = re.compile(r"^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?$")
_HOUR_S, _DAY_S = 3_600, 86_400


def records(template: str, printed: str, device: Device, command: str) -> list[dict[str, str]]:
    """The records of a router's answer by a template of this folder.

    Raises:
        Unreadable: the router refused the command.
    """
    if refused := _REFUSED.search(printed):
        raise Unreadable(f"{device.name}: `{command}`: {refused[0].strip()}")
    machine = textfsm.TextFSM(io.StringIO(_text_of(template)))
    rows: list[list[str]] = machine.ParseText(_NO_LINE_ENDS.sub("?", printed.replace("\r", "")))
    return [dict(zip(machine.header, row, strict=True)) for row in rows]


@cache
def _text_of(template: str) -> str:
    return (Path(__file__).parent / f"{template}.textfsm").read_text(encoding="utf-8")


def header_bytes(interface: str) -> int:
    """What IOS counts beside a packet's IP bytes on an interface."""
    return ETHERNET_HEADER_BYTES if "Ethernet" in interface else SERIAL_HEADER_BYTES


def answer(outputs: Mapping[str, str], command: str, device: Device) -> str:
    """
    Raises:
        Unreadable: there is none.
    """
    if command not in outputs:
        raise Unreadable(f"{device.name}: no answer to `{command}`")
    return outputs[command]


# -- the modular command line ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModularCounters:
    """Counters of policies.

    Attributes:
        classes: the service of each class on the way out.
    """

    classes: Mapping[str, Service]

    def commands(self, device: Device) -> tuple[str, ...]:
        return (POLICIES,)

    def counts(self, outputs: Mapping[str, str], device: Device, intent: QosIntent, running: Configuration) -> Counts:
        printed = answer(outputs, POLICIES, device)
        flows = {(one.interface.name, f"{FLOW}{one.number}"): one for one in intent.flows}
        counts: dict[Place, Count] = {}
        for row in records("show-policy-map-interface", printed, device, POLICIES):
            interface, name = row["interface"], row["class"]
            if row["policy"] == input_policy(interface):
                if flow := flows.get((interface, name)):
                    counts[FlowPlace(interface, flow.number)] = _policed(row, flow)
            elif row["policy"] == f"{PREFIX}OUT-{interface}" and (key := key_of_queue(name, self.classes)):
                counts[QueuePlace(interface, key)] = _queued(row)
        return counts


def _policed(row: Mapping[str, str], flow: EdgeFlow) -> Count:
    header = header_bytes(flow.interface.name)
    if flow.service not in RESERVED_SERVICES:
        return Count(_amount(row, "", header))
    conformed, exceeded, violated = (
        _amount(row, f"{part}_", header) for part in ("conformed", "exceeded", "violated")
    )
    if flow.service is Service.IP_PREMIUM:
        return Count(conformed, dropped=exceeded + violated)
    return Count(conformed, exceeded + violated)


def _queued(row: Mapping[str, str]) -> Count:
    header = header_bytes(row["interface"])
    drops = int(row["drops"] or 0)
    if row["output_packets"]:
        return Count(_amount(row, "output_", header), dropped=Amount(drops))
    return Count(_amount(row, "", header), dropped=Amount(drops))


def _amount(row: Mapping[str, str], part: str, header: int) -> Amount:
    """IOS-XE's policers count bytes alone: their packets are of the size that the class's have on average."""
    octets = int(row[f"{part}octets"] or 0)
    packets = int(row[f"{part}packets"] or 0)
    if octets and not row[f"{part}packets"]:
        of_class, of_class_octets = int(row["packets"] or 0), int(row["octets"] or 0)
        packets = octets * of_class // of_class_octets if of_class_octets else 0
    return without_header(packets, octets, header)


# -- CAR ---------------------------------------------------------------------------------------------------------------


def rate_limited(printed: str, device: Device, intent: QosIntent, lists: Mapping[int, int]) -> Counts:
    """What `show interfaces rate-limit` says of flows; `lists` has the access list of each flow, by its number.

    Raises:
        Unreadable.
    """
    flows = {(one.interface.name, f"access-group {lists[one.number]}"): one
             for one in intent.flows if one.number in lists}  # fmt: skip
    counts: dict[Place, Count] = {}
    for row in records("show-interfaces-rate-limit", printed, device, RATE_LIMITS):
        flow = flows.get((row["interface"], row["matches"])) if row["way"] == "Input" else None
        if flow is None:
            continue
        header, age_s = header_bytes(row["interface"]), seconds_of(row["cleared"])
        conformed, exceeded = (_amount(row, f"{part}_", header) for part in ("conformed", "exceeded"))
        premium = flow.service is Service.IP_PREMIUM
        counts[FlowPlace(row["interface"], flow.number)] = (
            Count(conformed, dropped=exceeded, age_s=age_s) if premium else Count(conformed, exceeded, age_s=age_s)
        )
    return counts


def seconds_of(span: str) -> int | None:
    """Seconds of IOS's `00:09:23`, `1d02h` or `3w4d`; None where it says no span (`never`). Parts that it leaves out,
    such as the minutes behind hours, count as whole ones: it is that long ago at the most."""
    if clock := _CLOCK.match(span):
        hours, minutes, seconds = map(int, clock.groups())
        return hours * _HOUR_S + minutes * 60 + seconds
    parts = _SPAN.match(span) if span else None
    if parts is None:
        return None
    years, weeks, days, hours = (int(one or 0) for one in parts.groups())
    rest_s = _HOUR_S - 1 if parts[4] else _DAY_S - 1
    return ((years * 52 + weeks) * 7 + days) * _DAY_S + hours * _HOUR_S + rest_s
