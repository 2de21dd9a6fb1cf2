"""Slotcar's own canonical lines, as an archive keeps them, back into objects."""

from __future__ import annotations

from collections.abc import Sequence

from slotcar.platforms.linux_tc.objects import (
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

_CURVES = ("rt", "ls", "ul")


class _Words:
    """The words of a line, each value behind its name."""

    def __init__(self, text: str) -> None:
        self.words = text.split()

    def __contains__(self, name: str) -> bool:
        return name in self.words

    def after(self, name: str, default: str = "") -> str:
        return self.words[self.words.index(name) + 1] if name in self.words else default

    def number(self, name: str, default: int = 0) -> int:
        """The whole number behind a name, its unit (`bit`, `b`, `us`) left away."""
        value = self.after(name)
        return int(value.rstrip("bitus")) if value else default

    def numbers(self, name: str) -> tuple[int, ...]:
        """All whole numbers behind a name."""
        numbers: list[int] = []
        for word in self.words[self.words.index(name) + 1 :]:
            if not word.isdigit():
                break
            numbers.append(int(word))
        return tuple(numbers)


def read_lines(lines: Sequence[str]) -> Tc:
    """
    Raises:
        ValueError: no line of Slotcar's.
    """
    return Tc(tuple(_object(line) for line in lines))


def _object(line: str) -> TcObject:
    words = _Words(line)
    try:
        match words.words:
            case ["qdisc", "dev", device, "clsact"]:
                return Clsact(device)
            case ["qdisc", "dev", device, "root", *_]:
                return _root(device, words)
            case ["qdisc", "dev", device, "parent", *_]:
                return _leaf(device, words)
            case ["class", "dev", device, *_]:
                return _class(device, words)
            case ["filter", "dev", device, hook, *_]:
                return _filter(device, hook, line)
    except (ValueError, IndexError, ZeroDivisionError) as error:
        raise ValueError(f"no line of Slotcar's: {line!r}") from error
    raise ValueError(f"no line of Slotcar's: {line!r}")


def _root(device: str, words: _Words) -> TcObject:
    overhead = words.number("overhead")
    if "ets" in words:
        return EtsRoot(device, words.number("strict"), words.numbers("quanta"), words.numbers("priomap"), overhead)
    return HfscRoot(device, words.after("default"), overhead) if "hfsc" in words else Root(device)


def _leaf(device: str, words: _Words) -> TcObject:
    minor, limit = words.after("parent").removeprefix(ROOT), words.number("limit")
    thresholds = words.number("min"), words.number("max")
    if "bfifo" in words:
        return Fifo(device, minor, limit)
    if "red" in words:
        denominator = round(1 / float(words.after("probability")))
        return Red(
            device,
            minor,
            limit,
            *thresholds,
            "ecn" in words,
            "harddrop" in words,
            words.number("bandwidth"),
            denominator,
        )
    if "setup" in words:
        return Gred(device, minor, limit, words.number("DPs"), words.number("default"), "grio" in words)
    profile, priority, one_of = words.number("DP"), words.number("prio"), round(1 / float(words.after("probability")))
    return GredProfile(
        device, minor, profile, limit, *thresholds, priority, "ecn" in words, "harddrop" in words,
        words.number("bandwidth"), one_of,
    )  # fmt: skip


def _class(device: str, words: _Words) -> TcObject:
    minor = words.after("classid").removeprefix(ROOT)
    if "htb" in words:
        return HtbClass(
            device, minor, words.number("prio") if "prio" in words else None,
            words.number("rate"), words.number("ceil"), words.number("burst"), words.number("cburst"),
            words.number("overhead"),
        )  # fmt: skip
    starts = [n for n, word in enumerate(words.words) if word in _CURVES]
    curves = {}
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        curve = _Words(" ".join(words.words[start:end]))
        curves[words.words[start]] = Curve(curve.number("m2"), curve.number("m1"), curve.number("d"))
    return HfscClass(device, minor, *(curves.get(name) for name in _CURVES))


def _filter(device: str, hook: str, line: str) -> Filter:
    head, *actions = line.split(" action ")
    words = _Words(head)
    packets = words.words[words.words.index("flower") + 1 :]
    keys = [Key(name, value) for name, value in zip(packets[::2], packets[1::2], strict=True) if name != "classid"]
    return Filter(
        device, hook, words.number("pref"), int(words.after("handle"), 16), tuple(keys),
        tuple(map(_action, actions)), words.after("classid"),
    )  # fmt: skip


def _action(text: str) -> Action:
    words = _Words(text)
    match words.words:
        case ["police", *_]:
            exceed, _, conform = words.after("conform-exceed").partition("/")
            return Police(words.number("rate"), words.number("burst"), exceed, conform)
        case ["pedit", *_]:
            return Mark(int(words.after("set"), 16) >> 2)
        case ["csum", "ip4h"]:
            return Checksum()
        case ["skbedit", "priority", classid, "pipe"]:
            return Steer(classid.removeprefix(ROOT))
        case ["ok"]:
            return Pass()
    return Other(text)
