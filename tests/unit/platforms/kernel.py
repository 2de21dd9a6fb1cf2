"""A pure model of what a Linux kernel keeps of tc's commands: takes a batch line by line, refuses what the kernel would
refuse, and prints itself as tc does. Written from the kernel's and iproute2's behaviour, not from the renderer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from slotcar.network.model import Device
from tests.unit.platforms.tc_words import rate_text, shown_bucket, size_text, time_text

OWN = range(20_800, 20_900)


class Refused(AssertionError):
    """RTNETLINK answers with an error."""


@dataclass(slots=True)
class Port:
    """One interface. A filter is kept under its hook, preference and handle, as (what it matches, classid, actions);
    an operator's, under its hook, as tc prints it."""

    clsact: bool = False
    root: str = ""
    overhead: int = 0
    classes: dict[str, dict[str, str]] = field(default_factory=dict)
    leaves: dict[str, dict[str, Any]] = field(default_factory=dict)
    filters: dict[tuple[str, int, str], tuple[str, str, tuple[str, ...]]] = field(default_factory=dict)
    others: list[tuple[str, str]] = field(default_factory=list)

    @property
    def scheduler(self) -> str:
        return self.root.partition(" ")[0]


def refuse_unless(condition: object, why: str, line: str) -> None:
    if not condition:
        raise Refused(f"{why}: {line}")


class Kernel:
    def __init__(self, names: Iterable[str]) -> None:
        self.ports = {name: Port() for name in names}
        self.roots_deleted: list[str] = []

    def snapshot(self) -> dict[str, Port]:
        return deepcopy(self.ports)

    def run(self, lines: Iterable[str]) -> None:
        for line in lines:
            what, verb, word, name, *rest = line.split()
            refuse_unless(word == "dev" and name in self.ports, "Cannot find device", line)
            getattr(self, f"_{what}")(verb, self.ports[name], name, rest, line)

    # -- queues --------------------------------------------------------------------------------------------------------

    def _qdisc(self, verb: str, port: Port, name: str, rest: list[str], line: str) -> None:
        if rest == ["clsact"]:
            refuse_unless((verb == "add") != port.clsact, "File exists or No such file", line)
            port.clsact = verb == "add"
            if verb == "del":
                port.filters.clear()
                port.others.clear()
        elif rest[0] == "root":
            self._root(verb, port, name, rest, line)
        else:
            self._leaf(verb, port, rest, line)

    def _root(self, verb: str, port: Port, name: str, rest: list[str], line: str) -> None:
        if verb == "del":
            refuse_unless(port.root and rest == ["root"], "Cannot delete qdisc", line)
            self.ports[name] = Port(clsact=port.clsact, filters=port.filters, others=port.others)
            self.roots_deleted.append(name)
            return
        refuse_unless(rest[:3] == ["root", "handle", "51c0:"], "Unknown place", line)
        overhead, kind, *args = overhead_of(rest[3:])
        refuse_unless(kind in ("htb", "hfsc", "ets"), "Unknown qdisc", line)
        if verb == "add":
            refuse_unless(not port.root, "Exclusivity flag on, cannot modify", line)
        else:
            refuse_unless(verb == "change" and port.scheduler == kind, "Invalid qdisc name", line)
        port.root, port.overhead = " ".join((kind, *args)), int(overhead)
        if kind == "ets":
            self._bands(port, args, line)

    def _bands(self, port: Port, args: list[str], line: str) -> None:
        """The classes of ets come with it. What a change does not repeat is as if it had never been told."""
        options = lists(args, ("bands", "strict", "quanta", "priomap"))
        count, strict = int(options["bands"][0]), int(options.get("strict", ["0"])[0])
        refuse_unless(count <= 16 and strict + len(options["quanta"]) == count, "Wrong number of quanta", line)
        refuse_unless(all(int(band) < count for band in options["priomap"]), "Invalid band in priomap", line)
        quanta = [""] * strict + [str(min(max(int(one), 256), 2**20)) for one in options["quanta"]]
        port.classes = {f"51c0:{n:x}": {"parent": "", "quantum": quantum} for n, quantum in enumerate(quanta, 1)}
        port.leaves = {parent: leaf for parent, leaf in port.leaves.items() if parent in port.classes}

    def _leaf(self, verb: str, port: Port, rest: list[str], line: str) -> None:
        parent, handle = rest[1], rest[3]
        refuse_unless(rest[0] == "parent" and rest[2] == "handle", "Unknown place", line)
        refuse_unless(parent in port.classes, "Class not found", line)
        current = port.leaves.get(parent)
        if verb == "add":
            refuse_unless(not current, "File exists", line)
            refuse_unless(all(leaf["handle"] != handle for leaf in port.leaves.values()), "Handle in use", line)
            port.leaves[parent] = {"handle": handle, "kind": rest[4], "args": words(rest[5:]), "profiles": {}}
            return
        refuse_unless(current and current["handle"] == handle, "No such file", line)
        if verb == "del":
            del port.leaves[parent]
            return
        refuse_unless(verb == "change" and current["kind"] == rest[4], "Change operation not supported", line)
        if "DP" in rest:
            refuse_unless(current["args"].get("DPs"), "GRED is not set up", line)
            args = words(rest[5:])
            current["profiles"][int(args["DP"])] = args
        else:
            current["args"] = words(rest[5:])

    def _class(self, verb: str, port: Port, name: str, rest: list[str], line: str) -> None:
        refuse_unless(port.scheduler in ("htb", "hfsc"), "Operation not supported", line)
        if verb == "del":
            classid = rest[1]
            refuse_unless(classid in port.classes, "No such class", line)
            children = [one for one in port.classes.values() if one["parent"] == classid]
            steered = [one for one in port.filters.values() if any(f"priority {classid} " in act for act in one[2])]
            refuse_unless(not children and not steered, "Device or resource busy", line)
            del port.classes[classid]
            port.leaves.pop(classid, None)
            return
        parent, classid = rest[1], rest[3]
        refuse_unless(
            rest[0] == "parent" and rest[2] == "classid" and rest[4] == port.scheduler, "Unknown class", line
        )
        refuse_unless(parent == "51c0:" or parent in port.classes, "Parent not found", line)
        refuse_unless((verb == "change") == (classid in port.classes), "File exists or No such class", line)
        if port.scheduler == "hfsc":
            # A change leaves alone what it does not name: a curve cannot be taken away.
            args = port.classes.get(classid, {}) | {
                kind: curve_text(curve) for kind, curve in curves(rest[5:]).items()
            }
            refuse_unless("rt" in args or "ls" in args, "HFSC: no curve", line)
        else:
            args = words(rest[5:])
            refuse_unless(bits(args["rate"]) <= bits(args["ceil"]), "a ceil below the rate", line)
        port.classes[classid] = args | {"parent": parent}

    # -- filters -------------------------------------------------------------------------------------------------------

    def _filter(self, verb: str, port: Port, name: str, rest: list[str], line: str) -> None:
        refuse_unless(port.clsact, "Parent Qdisc doesn't exist", line)
        match = re.fullmatch(
            r"(\w+) protocol ip pref (\d+)(?: handle (\w+) flower ?(.*?)(?: classid (\S+))?((?: action .*)?))?",
            " ".join(rest),
        )
        refuse_unless(match, "Unknown filter", line)
        assert match is not None
        hook, preference, handle = match[1], int(match[2]), match[3]
        if handle is None:
            removed = [key for key in port.filters if key[:2] == (hook, preference)]
            refuse_unless(verb == "del" and removed, "No such file", line)
            for key in removed:
                del port.filters[key]
            return
        key = (hook, preference, handle)
        refuse_unless((verb == "add") != (key in port.filters), "File exists or No such filter", line)
        if verb == "del":
            del port.filters[key]
            return
        actions = tuple(match[6].strip().removeprefix("action ").split(" action "))
        if verb == "add":
            same = [k for k, one in port.filters.items() if k[:2] == key[:2] and one[0] == match[4]]
            refuse_unless(not same, "File exists (fl_ht_insert_unique)", line)
        for steered in re.findall(r"priority (\S+)", match[6]):
            refuse_unless(steered in port.classes, "leads to a class that is not there", line)
        port.filters[key] = (match[4], match[5] or "", actions)

    # -- what tc prints ------------------------------------------------------------------------------------------------

    def outputs(self, commands: tuple[str, ...], device: Device) -> dict[str, str]:
        qdiscs, listing = commands
        return {
            qdiscs: _as_tc_prints_it([one for name, port in self.ports.items() for one in _qdiscs(name, port)]),
            listing: "".join(f"{line}\n" for name in sorted(device.interfaces) for line in _listing(self.ports[name])),
        }


def words(rest: list[str]) -> dict[str, str]:
    """`limit 30000b ecn` as a dictionary; words that stand alone are given themselves."""
    alone = {"setup", "grio", "ecn", "harddrop"}
    options, rest = {}, list(rest)
    while rest:
        word = rest.pop(0)
        options[word] = word if word in alone else rest.pop(0)
    return options


def bits(text: str) -> int:
    return int(text.removesuffix("bit"))


def octets(text: str) -> int:
    return int(text.removesuffix("b"))


def overhead_of(rest: list[str]) -> list[str]:
    """The size table's overhead, 0 where there is none, then what follows."""
    if rest[0] != "stab":
        return ["0", *rest]
    assert [rest[1], *rest[3:5]] == ["overhead", "linklayer", "ethernet"]
    return [rest[2], *rest[5:]]


def lists(rest: list[str], names: tuple[str, ...]) -> dict[str, list[str]]:
    """`bands 4 quanta 1 2 3` as a dictionary of lists."""
    values: dict[str, list[str]] = {}
    for word in rest:
        if word in names:
            name = word
            values[name] = []
        else:
            values[name].append(word)
    return values


def curves(rest: list[str]) -> dict[str, dict[str, str]]:
    """`rt m1 8bit d 1us m2 8bit ls m2 8bit` as dictionaries of their parts."""
    by_kind: dict[str, dict[str, str]] = {}
    words_ = iter(rest)
    for word in words_:
        if word in ("rt", "ls", "ul"):
            kind = word
            by_kind[kind] = {}
        else:
            by_kind[kind][word] = next(words_)
    return by_kind


def curve_text(curve: dict[str, str]) -> str:
    """A curve as tc prints it; the kernel keeps its rates as 32-bit numbers of bytes a second."""
    rates = {name: bits(curve.get(name, "0bit")) for name in ("m1", "m2")}
    assert all(rate % 8 == 0 and rate // 8 < 2**32 for rate in rates.values()), f'HFSC: Illegal "m1" or "m2": {curve}'
    delay = time_text(int(curve.get("d", "0us").removesuffix("us")))
    return f"m1 {rate_text(rates['m1'])} d {delay} m2 {rate_text(rates['m2'])}"


def _as_tc_prints_it(qdiscs: list[dict[str, Any]]) -> str:
    """iproute2 6.1 prints HFSC's options as if no JSON were wanted."""
    return re.sub(r'\{"default":"(\w+)"\}', r"{default \1 }", json.dumps(qdiscs, separators=(",", ":")))


def _root_options(port: Port) -> dict[str, Any]:
    kind, *args = port.root.split()
    if kind == "hfsc":
        return {"default": args[1].removeprefix("0x")}
    if kind != "ets":
        return {}
    settings = lists(args, ("bands", "strict", "quanta", "priomap"))
    quanta = [int(one["quantum"]) for one in port.classes.values() if one["quantum"]]
    options = {"bands": len(port.classes), "quanta": quanta, "priomap": [int(band) for band in settings["priomap"]]}
    return options | ({"strict": len(port.classes) - len(quanta)} if len(quanta) < len(port.classes) else {})


def _qdiscs(name: str, port: Port) -> Iterator[dict[str, Any]]:
    if not port.root:
        yield {"kind": "noqueue", "handle": "0:", "dev": name, "root": True, "options": {}}
    else:
        stab = {"stab": {"linklayer": "ethernet", "overhead": port.overhead}} if port.overhead else {}
        options = _root_options(port)
        yield {"kind": port.scheduler, "handle": "51c0:", "dev": name, "root": True, "options": options} | stab
    for parent, leaf in port.leaves.items():
        args = leaf["args"]
        options: dict[str, Any] = {"limit": octets(args["limit"])}
        if leaf["kind"] == "red":
            options |= {
                "min": octets(args["min"]),
                "max": octets(args["max"]),
                "ecn": "ecn" in args,
                "harddrop": "harddrop" in args,
            }
            options["probability"] = int(float(args["probability"]) * 2**32) / 2**32
        if leaf["kind"] == "gred":
            options |= {"dp_cnt": int(args["DPs"]), "dp_default": int(args["default"]), "grio": "grio" in args}
            options["vqs"] = [
                {"vq": n, "prio": int(p["prio"]), "ecn": "ecn" in p, "harddrop": "harddrop" in p}
                | {"probability": int(float(p["probability"]) * 2**32) / 2**32}
                | {key: octets(p[key]) for key in ("limit", "min", "max")}
                for n, p in sorted(leaf["profiles"].items())
            ]
        yield {"kind": leaf["kind"], "handle": leaf["handle"], "dev": name, "parent": parent, "options": options}
    if port.clsact:
        yield {"kind": "clsact", "handle": "ffff:", "dev": name, "parent": "ffff:fff1", "options": {}}


def _listing(port: Port) -> Iterator[str]:
    texts = {"htb": _class_text, "hfsc": _hfsc_text, "ets": _band_text}
    if port.scheduler == "hfsc":
        yield "class hfsc 51c0: root "
    for classid, args in port.classes.items():
        yield texts[port.scheduler](classid, args, port.leaves.get(classid))
    yield "qdisc noqueue 0: dev lo root refcnt 2 "
    for hook in ("ingress", "egress"):
        for _, text in (one for one in port.others if one[0] == hook):
            yield from text.splitlines()
        for (at, preference, handle), (packets, classid, actions) in sorted(port.filters.items()):
            if at == hook:
                yield f"filter protocol ip pref {preference} flower chain 0 "
                yield f"filter protocol ip pref {preference} flower chain 0 handle {handle} " + (
                    f"classid {classid} " if classid else ""
                )
                yield from _filter_text(packets, actions)
        yield "qdisc noqueue 0: dev lo root refcnt 2 "


def _class_text(classid: str, args: dict[str, str], leaf: dict[str, Any] | None) -> str:
    rate, ceil = bits(args["rate"]), bits(args["ceil"])
    place = "root" if args["parent"] == "51c0:" else f"parent {args['parent']}"
    text = f"class htb {classid} {place} " + (f"leaf {leaf['handle']} " if leaf else "")
    text += f"prio {args['prio']} quantum {args['quantum']} " if "prio" in args else ""
    text += f"rate {rate_text(rate)} " + (f"overhead {args['overhead']} " if "overhead" in args else "")
    text += f"ceil {rate_text(ceil)} linklayer ethernet burst {shown_bucket(rate, octets(args['burst']))}/1 mpu 0b "
    return text + f"cburst {shown_bucket(ceil, octets(args['cburst']))}/1 mpu 0b level 0 "


def _hfsc_text(classid: str, args: dict[str, str], leaf: dict[str, Any] | None) -> str:
    options = dict(args)
    if options.get("rt") == options.get("ls"):
        options["sc"] = options.pop("rt")
        del options["ls"]
    text = f"class hfsc {classid} parent {args['parent']} " + (f"leaf {leaf['handle']} " if leaf else "")
    return text + "".join(f"{kind} {options[kind]} " for kind in ("sc", "rt", "ls", "ul") if kind in options)


def _band_text(classid: str, args: dict[str, str], leaf: dict[str, Any] | None) -> str:
    text = f"class ets {classid} root " + (f"leaf {leaf['handle']} " if leaf else "")
    return text + (f"quantum {args['quantum']} " if args["quantum"] else "")


def _filter_text(packets: str, actions: tuple[str, ...]) -> Iterator[str]:
    yield "  eth_type ipv4"
    words = iter(packets.split())
    for key in words:
        yield f"  {key} {next(words)}"
    yield "  not_in_hw"
    for order, action in enumerate(actions, 1):
        yield from (f"\taction order {order}: {_action_text(action)}".splitlines())


def _action_text(action: str) -> str:
    if match := re.fullmatch(r"police rate (\d+)bit burst (\d+)b mtu 16Kb conform-exceed (\w+)/(\w+)", action):
        rate = int(match[1])
        verdicts = "/".join("pass" if word == "ok" else word for word in match.groups()[2:])
        bucket = shown_bucket(rate, int(match[2]))
        text = f" police 0x1 rate {rate_text(rate)} burst {bucket} mtu {size_text(16384)} action {verdicts}"
        return f"{text} overhead 0b \n\tref 1 bind 1 "
    if match := re.fullmatch(r"pedit ex munge ip dsfield set (\w+) retain 0xfc pipe", action):
        value = int(match[1], 16)
        key = f"at ipv4+0: val 00{value:02x}0000 mask ff03ffff"
        return f" pedit action pipe keys 1\n \t index 1 ref 1 bind 1\n\t key #0  {key}"
    if action == "csum ip4h":
        return "csum (iph) action pass\n\tindex 1 ref 1 bind 1"
    if action == "ok":
        return "gact action pass\n\t random type none pass val 0\n\t index 1 ref 1 bind 1"
    if match := re.fullmatch(r"skbedit priority (\S+) pipe", action):
        return f"skbedit  priority {match[1]} pipe\n\t index 1 ref 1 bind 1"
    raise Refused(f'What is "{action}"?')
