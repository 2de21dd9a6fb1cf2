"""A pure model of the part of IOS 12.x that CAR and ToS-based WFQ live in: takes lines in configuration mode, refuses what
the command reference refuses, and prints a running configuration.

From "Quality of Service Solutions Command Reference", 12.1: `access-list rate-limit` (one line a list; the `no` form says
the line), `rate-limit` (steps of 8 kb/s; a burst of rate/2000 bytes at least), `fair-queue tos` (not on subinterfaces; two
low bits of the precedence), `fair-queue weight` (by default 20, 30 and 40; 99 at most together); `no access-list N` takes
the whole list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field

DEFAULTS = {1: 20, 2: 30, 3: 40}
PORT_NAMES = {("tcp", "80"): "www", ("tcp", "179"): "bgp", ("udp", "53"): "domain", ("udp", "514"): "syslog"}
CAR = re.compile(
    r"rate-limit (?:input|output) access-group (rate-limit )?(\d+) (\d+) (\d+) (\d+)"
    r" conform-action (transmit|drop|set-prec-transmit [0-7]) exceed-action (transmit|drop|set-prec-transmit [0-7])"
)


class Refused(AssertionError):
    """`% Invalid input`, or something that IOS takes and that opens a hole."""


@dataclass(slots=True)
class Port:
    """`weights` is None without `fair-queue tos`; `others` are an operator's lines."""

    car: list[str] = field(default_factory=list)
    weights: dict[int, int] | None = None
    others: list[str] = field(default_factory=list)


@dataclass(slots=True)
class State:
    lists: dict[int, list[str]] = field(default_factory=dict)
    rate_lists: dict[int, str] = field(default_factory=dict)
    named: dict[str, list[str]] = field(default_factory=dict)
    ports: dict[str, Port] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)


def refuse_unless(condition: object, why: str, line: str) -> None:
    if not condition:
        raise Refused(f"{why}: {line}")


class Ios:
    def __init__(self, names: Iterable[str]) -> None:
        self.state = State(ports={name: Port() for name in names})

    def snapshot(self) -> State:
        return deepcopy(self.state)

    def run(self, lines: Iterable[str]) -> None:
        port, named = None, None
        for raw in lines:
            line = raw.strip()
            if line.startswith("interface "):
                port, named = line.removeprefix("interface "), None
                refuse_unless(port in self.state.ports, "no such interface", line)
            elif line.startswith("ip access-list extended "):
                port, named = None, self.state.named.setdefault(line.rpartition(" ")[2], [])
            elif line.startswith("no ip access-list extended "):
                refuse_unless(self.state.named.pop(line.rpartition(" ")[2], None), "no such list", line)
            elif line == "exit":
                port, named = None, None
            elif named is not None:
                self._entry(named, line)
            elif port is None:
                self._top(line)
            else:
                self._port(self.state.ports[port], port, line)

    def _entry(self, entries: list[str], line: str) -> None:
        body = line.removeprefix("no ")
        refuse_unless((body in entries) is line.startswith("no "), "no such entry, or there twice", line)
        if line.startswith("no "):
            entries.remove(body)
        else:
            entries.append(body)

    def _top(self, line: str) -> None:
        no, words = line.startswith("no "), line.removeprefix("no ").split()
        refuse_unless(words[0] == "access-list", "not in global mode", line)
        if words[1] == "rate-limit":
            number, precedence = int(words[2]), words[3]
            refuse_unless(1 <= number <= 99 and precedence in "01234567", "no such list of precedences", line)
            refuse_unless(not no or self.state.rate_lists.get(number) == precedence, "no such line", line)
            refuse_unless(not no or not self._used(f"rate-limit {number} "), "lines still use the list", line)
            if no:
                del self.state.rate_lists[number]
            else:
                self.state.rate_lists[number] = precedence
            return
        number = int(words[1])
        refuse_unless(100 <= number <= 199 or 2000 <= number <= 2699, "no extended list", line)
        refuse_unless(
            not self._used(f"access-group {number} "), "a line that uses the list matches in mid-change", line
        )
        if no:
            refuse_unless(words[2:] == [] and number in self.state.lists, "no such list", line)
            del self.state.lists[number]
        else:
            refuse_unless(words[2] != "remark" or len(" ".join(words[3:])) <= 100, "a remark has 100 letters", line)
            self.state.lists.setdefault(number, []).append(" ".join(words[2:]))

    def _used(self, reference: str) -> bool:
        return any(reference in f"{line} " for port in self.state.ports.values() for line in port.car)

    def _port(self, port: Port, name: str, line: str) -> None:
        no, body = line.startswith("no "), line.removeprefix("no ")
        if body.startswith("rate-limit "):
            self._car(port, no, body)
        elif body == "fair-queue tos":
            refuse_unless("." not in name, "DWFQ is not on subinterfaces", line)
            refuse_unless(not no or port.weights, "no fair-queue there", line)
            port.weights = None if no else port.weights or dict(DEFAULTS)
        else:
            match = re.fullmatch(r"fair-queue tos ([1-3]) weight (\d+)", line)
            refuse_unless(match and port.weights, "not in interface mode", line)
            assert match is not None
            assert port.weights is not None
            port.weights[int(match[1])] = int(match[2])
            refuse_unless(sum(port.weights.values()) <= 99 and int(match[2]) >= 1, "weights are 99 at most", line)

    def _car(self, port: Port, no: bool, body: str) -> None:
        if no:
            refuse_unless(body in port.car, "no such rate-limit", body)
            port.car.remove(body)
            return
        match = CAR.fullmatch(body)
        refuse_unless(match, "not a rate-limit", body)
        assert match is not None
        rate, normal, excess = (int(match[n]) for n in (3, 4, 5))
        refuse_unless(rate % 8000 == 0 and 8000 <= rate <= 2_000_000_000, "a rate that CAR has not", body)
        refuse_unless(max(1000, rate / 2000) <= normal <= excess <= 512_000_000, "a burst that CAR has not", body)
        lists: dict[int, object] = {**(self.state.rate_lists if match[1] else self.state.lists)}
        refuse_unless(int(match[2]) in lists, "a list that is not there permits everything", body)
        refuse_unless(body not in port.car, "there twice", body)
        port.car.append(body)

    def text(self) -> str:
        """`show running-config`; weights that are as by default are left out, ports have their names."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield from ("Building configuration...", "!", "version 12.1", "hostname router", "!")
        for name, port in sorted(self.state.ports.items()):
            yield f"interface {name}" + (" point-to-point" if "." in name else "")
            yield from (f" {line}" for line in port.others)
            yield from (f" {line}" for line in port.car)
            if port.weights:
                yield " fair-queue tos"
                yield from (f" fair-queue tos {n} weight {w}" for n, w in port.weights.items() if w != DEFAULTS[n])
            yield "!"
        yield from self.state.others
        for name, entries in self.state.named.items():
            yield f"ip access-list extended {name}"
            yield from (f" {entry}" for entry in entries)
        for number, entries in sorted(self.state.lists.items()):
            yield from (f"access-list {number} {_with_names(entry)}" for entry in entries)
        yield from (
            f"access-list rate-limit {n} {precedence}" for n, precedence in sorted(self.state.rate_lists.items())
        )
        yield "end"


def _with_names(entry: str) -> str:
    words = entry.split()
    for place in range(1, len(words)):
        if words[0] == "permit" and words[place - 1] == "eq":
            words[place] = PORT_NAMES.get((words[1], words[place]), words[place])
    return " ".join(words)
