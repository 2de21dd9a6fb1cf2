"""What tc prints, back into objects. Queues are read as JSON, with `-d` for their size tables; classes and filters as text,
because iproute2 6.1 prints no JSON for HTB's classes and leaves a policer's rate and burst out of a filter's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from slotcar.base.texts import BLANKS, lines_of
from slotcar.network.model import Device
from slotcar.platforms.linux_tc import numbers
from slotcar.platforms.linux_tc.facts import MARK_DENOMINATOR
from slotcar.platforms.linux_tc.listing import queues_in, sections_in
from slotcar.platforms.linux_tc.objects import (
    FIRST_PREFERENCE,
    KEY_NAMES,
    LAST_PREFERENCE,
    LEAVES,
    ONE_OF,
    ROOT,
    Action,
    Checksum,
    Clsact,
    Curve,
    EtsRoot,
    Fifo,
    Filter,
    Gred,
    GredProfile,
    HfscClass,
    HfscRoot,
    HtbClass,
    Key,
    Mark,
    Other,
    Pass,
    Police,
    Red,
    Root,
    Steer,
    Tc,
    TcObject,
)
from slotcar.platforms.linux_tc.others import note_of
from slotcar.platforms.model import Unreadable

QDISCS = "tc -j -d qdisc show"
#: The note of a clsact that nothing of Slotcar's stands beside.
CLSACT_NOTE = "a clsact that was there"
#: The handle of a root that nobody configured: the kernel puts it there as `net.core.default_qdisc` says, lets nobody take
#: it away, and puts it back by itself.
_OF_THE_KERNEL = "0:"
HOOKS = ("ingress", "egress")
#: Printed between the sections of a batch: an interface that every kernel has.
SEPARATOR = "qdisc show dev lo"
_CLASS = re.compile(
    rf"^class htb {ROOT}(?P<minor>\w+) (?:root|parent {ROOT}1)(?: leaf \w+:)?(?: prio (?P<prio>\d+))?"
    r"(?: quantum \d+)? rate (?P<rate>\S+)(?: overhead (?P<overhead>\d+))? ceil (?P<ceil>\S+)(?: linklayer \S+)?"
    r" burst (?P<burst>[^/ ]+)\S*(?: mpu \S+)? cburst (?P<cburst>[^/ ]+)"
)
_HFSC = re.compile(
    rf"^class hfsc {ROOT}(?P<minor>\w+) parent {ROOT}1?(?: leaf \w+:)?(?P<curves>( (?:sc|rt|ls|ul) m1 .*)?)$"
)
_CURVE = re.compile(r" (sc|rt|ls|ul) m1 (\S+) d (\S+) m2 (\S+)")
_FILTER = re.compile(r"^filter protocol (\S+) pref (\d+) (\S+) chain 0 handle (0x[0-9a-f]+)(?: classid (\S+))?")
_POLICE = re.compile(r"police 0x\w+ rate (\S+) burst (\S+) mtu \S+ action (\w+)(?:/(\w+))?")
_PEDIT_KEY = re.compile(r"key #0\s+at ipv4\+0: val (\w+) mask (\w+)")
_STEER = re.compile(rf"skbedit\s+priority {ROOT}(\w+) pipe")


def classes_and_filters(device: Device) -> str:
    """One process for all interfaces: a batch of `show`s with separators."""
    shows = []
    for name in sorted(device.interfaces):
        shows += [f"class show dev {name}", SEPARATOR]
        for hook in HOOKS:
            shows += [f"filter show dev {name} {hook}", SEPARATOR]
    lines = "\\n".join(shows)
    return f"printf '{lines}\\n' | tc -d -batch -"


def read(qdiscs: str, listing: str, device: Device) -> tuple[Tc, tuple[str, ...]]:
    """Slotcar's objects, and in words what of others' is where Slotcar puts its own.

    Raises:
        Unreadable: tc's answer is not understood.
    """
    owned: list[TcObject] = []
    foreign: list[str] = []
    clsacts: list[str] = []
    try:
        for qdisc in queues_in(qdiscs, device.interfaces):
            if qdisc["kind"] == "clsact":
                clsacts.append(qdisc["dev"])
                foreign += [
                    f"{qdisc['dev']}: a clsact qdisc with the shared {block} {qdisc[block]}"
                    for block in ("ingress_block", "egress_block")
                    if block in qdisc
                ]
            else:
                _qdisc(qdisc, device, owned, foreign)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise Unreadable(
            f"{device.name}: `{QDISCS}` gave something that is not a list of queues: {qdiscs.strip()[:120]}"
        ) from problem
    rooted = {one.device for one in owned if isinstance(one, Root | HfscRoot | EtsRoot)}
    wanted = 3 * len(device.interfaces)
    try:
        sections = sections_in(listing, wanted)
    except ValueError as count:
        raise Unreadable(
            f"{device.name}: tc showed {count} lists and not {wanted}: {listing.strip()[:120]}"
        ) from count
    for number, name in enumerate(sorted(device.interfaces)):
        classes, *filters = sections[3 * number : 3 * number + 3]
        owned += _classes(name, classes)
        for hook, lines in zip(HOOKS, filters, strict=True):
            for block in _blocks(lines):
                filter_ = _filter(name, hook, block)
                if filter_ is None or (name not in rooted and not _is_own_form(filter_)):
                    foreign.append(note_of(name, hook, block))
                else:
                    owned.append(filter_)
    # It has no handle of its own: Slotcar's is one beside what has Slotcar's marks.
    marked = {one.device for one in owned}
    owned += [Clsact(name) for name in clsacts if name in marked]
    foreign += [f"{name}: {CLSACT_NOTE}" for name in clsacts if name not in marked]
    return Tc(tuple(owned)), tuple(foreign)


def _is_own_form(one: Filter) -> bool:
    """Whether Slotcar could have written it: the number of a filter alone tells nothing."""
    return bool(one.actions or one.classid) and not any(isinstance(action, Other) for action in one.actions)


def _qdisc(qdisc: dict[str, Any], device: Device, owned: list[TcObject], foreign: list[str]) -> None:
    name, kind, handle, options = qdisc["dev"], qdisc["kind"], qdisc["handle"], qdisc.get("options", {})
    bandwidth_bps = numbers.rate_down(device.interfaces[name].capacity_bps)
    if kind == "ingress":
        foreign.append(f"{name}: an ingress qdisc, where clsact is needed")
    elif qdisc.get("root"):
        root = _root(name, kind, qdisc) if handle == ROOT else None
        if root is not None:
            owned.append(root)
        elif handle != _OF_THE_KERNEL:
            foreign.append(f"{name}: the root qdisc {kind} {handle}")
    else:
        minor = str(qdisc.get("parent")).removeprefix(ROOT)
        if LEAVES.get(minor) == handle:
            owned.extend(_leaf(name, minor, kind, options, bandwidth_bps))


def _root(name: str, kind: str, qdisc: dict[str, Any]) -> TcObject | None:
    """The root, or None where it is of a kind that Slotcar never makes."""
    options, overhead = qdisc.get("options", {}), qdisc.get("stab", {}).get("overhead", 0)
    if kind == "htb":
        return Root(name)
    if kind == "hfsc":
        return HfscRoot(name, hex(int(options.get("default", "0"), 16)), overhead)
    if kind == "ets":
        quanta, priomap = (tuple(options.get(key, ())) for key in ("quanta", "priomap"))
        return EtsRoot(name, options.get("strict", 0), quanta, priomap, overhead)
    return None


def _leaf(name: str, minor: str, kind: str, options: dict[str, Any], bandwidth_bps: int) -> Iterator[TcObject]:
    if kind == "bfifo":
        yield Fifo(name, minor, options["limit"])
    elif kind == "red":
        limits = (options["limit"], options["min"], options["max"])
        # The kernel keeps a fraction of 32 bits; an operator's own red may print none.
        denominator = round(1 / options["probability"]) if options.get("probability") else MARK_DENOMINATOR
        yield Red(name, minor, *limits, options["ecn"], options["harddrop"], bandwidth_bps, denominator)
    elif kind == "gred":
        grio = bool(options.get("grio"))
        yield Gred(name, minor, options["limit"], options["dp_cnt"], options["dp_default"], grio)
        for vq in options["vqs"]:
            yield GredProfile(
                name,
                minor,
                vq["vq"],
                limit_bytes=vq["limit"],
                min_bytes=vq["min"],
                max_bytes=vq["max"],
                priority=vq["prio"],
                ecn=vq["ecn"],
                hard_drop=vq["harddrop"],
                bandwidth_bps=bandwidth_bps,
                one_of=round(1 / vq["probability"]) if vq.get("probability") else ONE_OF.get(vq["vq"], 10),
            )


def _classes(name: str, lines: Sequence[str]) -> Iterator[TcObject]:
    for line in lines:
        if match := _HFSC.match(line.rstrip()):
            yield _hfsc_class(name, match)
            continue
        match = _CLASS.match(line)
        if match is None:
            continue
        yield HtbClass(
            name,
            match["minor"],
            None if match["minor"] == "1" else int(match["prio"] or 0),
            numbers.parse_rate(match["rate"]),
            numbers.parse_rate(match["ceil"]),
            numbers.parse_size(match["burst"]),
            numbers.parse_size(match["cburst"]),
            int(match["overhead"] or 0),
        )


def _hfsc_class(name: str, match: re.Match[str]) -> HfscClass:
    """tc calls a real-time curve and a link-sharing one that are equal `sc`."""
    curves = {
        kind: Curve(numbers.parse_rate(m2), numbers.parse_rate(m1), numbers.parse_time(d))
        for kind, m1, d, m2 in _CURVE.findall(match["curves"])
    }
    both = curves.get("sc")
    return HfscClass(name, match["minor"], curves.get("rt", both), curves.get("ls", both), curves.get("ul"))


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines of each filter that has a handle (u32 calls it `fh`); the others only announce a preference."""
    blocks: list[list[str]] = []
    for line in lines:
        if line.startswith("filter ") or not blocks:
            blocks.append([])
        blocks[-1].append(line)
    return (block for block in blocks if " handle " in block[0] or " fh " in block[0])


def _filter(name: str, hook: str, block: Sequence[str]) -> Filter | None:
    """The filter, or None where it is not Slotcar's."""
    match = _FILTER.match(block[0])
    if match is None or match[1] != "ip" or match[3] != "flower":
        return None
    preference = int(match[2])
    if not FIRST_PREFERENCE <= preference <= LAST_PREFERENCE:
        return None
    body = "\n".join(block[1:])
    head, _, tail = body.partition("action order")
    actions = tuple(action for part in tail.split("action order") for action in _action(part)) if tail else ()
    return Filter(name, hook, preference, int(match[4], 16), _keys(head), actions, match[5] or "")


def _keys(text: str) -> tuple[Key, ...]:
    values = dict(line.split(maxsplit=1) for line in (raw.strip(BLANKS) for raw in lines_of(text)) if " " in line)
    return tuple(Key(key, _value(key, values[key].strip())) for key in KEY_NAMES if key in values)


def _value(key: str, value: str) -> str:
    if key != "ip_tos":
        return value
    bits, _, mask = value.partition("/")
    return f"{hex(int(bits, 0))}/{mask or '0xff'}"


def _action(text: str) -> Iterator[Action]:
    """The action; what Slotcar would never write stays as tc prints it, and so differs."""
    if match := _POLICE.search(text):
        rate, burst = numbers.parse_rate(match[1]), numbers.parse_size(match[2])
        yield Police(rate, burst, _verdict(match[3]), _verdict(match[4] or "ok"))
    elif match := _PEDIT_KEY.search(text):
        yield Mark(int(match[1], 16) >> 18)
    elif match := _STEER.search(text):
        yield Steer(match[1])
    elif "csum (iph)" in text:
        yield Checksum()
    elif "gact action pass" in text:
        yield Pass()
    else:
        yield Other(" ".join(text.split())[:80])


def _verdict(word: str) -> str:
    return "ok" if word == "pass" else word
