"""Reservation files: many in a folder, many reservations in a file, every mistake of all of them in one pass."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from slotcar.base.located_yaml import Document, load, read_text, text_of
from slotcar.base.problems import InvalidInput, Problem
from slotcar.reservation.entry import KEYS, Ends, EntryReader, unknown_key
from slotcar.reservation.groups import read_groups
from slotcar.reservation.keys import value_text
from slotcar.reservation.model import Reservation

SUFFIXES = (".yml", ".yaml", ".json")
VERSION = 1
TOP = ("version", "defaults", "reservations", "together")
_TOP_HINT = "a reservation file has the keys version, defaults (if any) and reservations"

#: Of files of which none was read already.
NO_CONTENTS: Mapping[Path, bytes] = MappingProxyType({})

#: What a reservation that reads well may still have wrong in the caller's eyes: the keys and why.
Check = Callable[[Reservation], Iterable[tuple[str, str]]]
#: What the ends of one may have wrong, also where its other keys are: so that mending these brings no new complaint.
CheckEnds = Callable[[Ends], Iterable[tuple[str, str]]]


def _nothing_wrong(_what: Reservation | Ends) -> Iterable[tuple[str, str]]:
    return ()


@dataclass(slots=True)
class Loaded:
    """What was read so far.

    Attributes:
        relative: keys of the reservations that have a time relative to now.
        entry_documents, group_documents: each reservation and each group as it was written, with its file's defaults.
        max_windows: of all reservations together; what comes after the one that passes it is not read.
    """

    now: datetime
    check: Check = _nothing_wrong
    check_ends: CheckEnds = _nothing_wrong
    reservations: list[Reservation] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    places: dict[tuple[str, str], str] = field(default_factory=dict)
    max_windows: int | None = None
    windows: int = 0
    relative: set[tuple[str, str]] = field(default_factory=set)
    entry_documents: list[Mapping[str, Any]] = field(default_factory=list)
    group_documents: list[Mapping[str, Any]] = field(default_factory=list)

    def wrong(self, document: Document, key: str, message: str, value: object = "", hint: str = "") -> None:
        """Notes a problem at a key of the document; at its first line where it has no keys."""
        line = document.line(key) if key else 1
        self.problems.append(Problem(document.file, line, key, message, value_text(value), hint))

    def finished(self) -> Loaded:
        if self.problems:
            raise InvalidInput(list(dict.fromkeys(self.problems)))  # what many have from the defaults is told once
        return self


def load_files(paths: Sequence[Path], now: datetime) -> tuple[Reservation, ...]:
    """All reservations of these files, and of the files in these folders, in order.

    Raises:
        InvalidInput: anything in any of them is wrong; all of it is listed, and nothing is given.
    """
    return tuple(read_files(paths, now).reservations)


def read_files(
    paths: Sequence[Path],
    now: datetime,
    check: Check = _nothing_wrong,
    check_ends: CheckEnds = _nothing_wrong,
    contents: Mapping[Path, bytes] = NO_CONTENTS,
) -> Loaded:
    """As `load_files`, with what else was seen; the ends of each reservation pass `check_ends` too, and then all of it
    passes `check`. `contents`: what files hold that were read already."""
    loaded = Loaded(now, check, check_ends)
    for path in _files(paths, loaded):
        try:
            text = text_of(contents[path], str(path)) if path in contents else read_text(path)
            document = load(text, str(path))
        except InvalidInput as error:
            loaded.problems.extend(error.problems)
            continue
        _read(document, loaded)
    return loaded.finished()


def windows_problem(place: str, windows: int, max_windows: int) -> tuple[str, str, str]:
    """Key, message and hint for a request whose reservations have too many windows together."""
    message = f"brings the windows of the request to {windows}, more than the {max_windows} that it may have"
    return place, message, "shorten recurrences, or split the request; SLOTCAR_MAX_WINDOWS is the limit"


def load_text(text: str, file: str, now: datetime) -> tuple[Reservation, ...]:
    """All reservations of a file's text; `file` is what problems call it.

    Raises:
        InvalidInput: as `load_files`.
    """
    loaded = Loaded(now)
    _read(load(text, file), loaded)
    return tuple(loaded.finished().reservations)


def read_body(body: Mapping[str, Any] | str, now: datetime, max_windows: int) -> Loaded:
    """The reservations of a file that came as a request's JSON, or as the text that somebody pasted.

    Raises:
        InvalidInput: as `load_files`; also where they have more windows together than `max_windows`.
    """
    loaded = Loaded(now, max_windows=max_windows)
    _read(load(body, "the text") if isinstance(body, str) else Document("request", body, {}), loaded)
    return loaded.finished()


def read_group_documents(
    groups: Sequence[object], now: datetime, max_windows: int, check: Check = _nothing_wrong
) -> Loaded:
    """The members of groups that came as a request's JSON, with the keys that a group has in a file.

    Raises:
        InvalidInput: as `load_files`; also where they have more windows together than `max_windows`.
    """
    loaded = Loaded(now, check, max_windows=max_windows)
    document = Document("request", {"together": list(groups)}, {})
    read_groups(document, list(groups), {}, loaded)
    _few_windows_of_groups(document, loaded)
    return loaded.finished()


def _few_windows_of_groups(document: Document, loaded: Loaded) -> None:
    """Their members have 50 at most, so that they are counted when all are read."""
    if loaded.max_windows is not None and loaded.windows > loaded.max_windows:
        key, message, hint = windows_problem("together", loaded.windows, loaded.max_windows)
        loaded.wrong(document, key, message, hint=hint)


def from_mapping(data: Mapping[str, object], now: datetime, file: str = "request") -> Reservation:
    """One reservation in a file's keys, as the API and the command line take it.

    Raises:
        InvalidInput: all that is wrong with it.
    """
    problems: list[Problem] = []
    reader = EntryReader(data, lambda key, *words: problems.append(Problem(file, 0, key, *words)), now)
    reservation = reader.reservation()
    if reservation is None:
        raise InvalidInput(problems)
    return reservation


def _files(paths: Sequence[Path], loaded: Loaded) -> Iterator[Path]:
    seen_paths: set[Path] = set()
    for path in paths:
        if not path.is_dir():
            files = [path]
        else:
            files = sorted(
                one
                for one in path.rglob("*")
                if one.suffix.lower() in SUFFIXES
                and not one.is_dir()  # a link to nothing is told, not passed over
                and not any(part.startswith(".") for part in one.relative_to(path).parts)
            )
            if not files:
                hint = f"put files that end in {', '.join(SUFFIXES)} there"
                loaded.problems.append(Problem(str(path), 0, "", "holds no reservation files", "", hint))
        for one in files:
            real = Path(os.path.realpath(one))  # `Path.resolve` raises at a link to itself
            if real not in seen_paths:
                seen_paths.add(real)
                yield one


def _read(document: Document, loaded: Loaded) -> None:
    loaded.problems.extend(document.problems)
    data = document.data
    if not isinstance(data, Mapping):
        message = "is empty" if data is None else "is no reservation file"
        hint = "put the list below `reservations:`, and `version: 1` above it" if isinstance(data, list) else _TOP_HINT
        loaded.wrong(document, "", message, hint=hint)
        return
    for key in data:
        if key not in TOP:
            hint = "put it below `reservations:`" if key in KEYS else _TOP_HINT
            loaded.wrong(document, key, "is no key that is known here", hint=hint)
    version = data.get("version")
    if version != VERSION or isinstance(version, bool):
        message = "is missing" if version is None else "is no version that is known here"
        loaded.wrong(document, "version", message, version, "say `version: 1`")
    defaults = _defaults(document, data.get("defaults"), loaded)
    groups = data.get("together")
    entries = data.get("reservations", [] if groups is not None else None)
    if not isinstance(entries, list):
        hint = "say a list: each reservation begins with `- name: …`"
        message = "is missing" if entries is None else "is no list"
        loaded.wrong(document, "reservations", message, entries, hint)
        return
    for index, entry in enumerate(entries):
        _read_entry(document, index, entry, defaults, loaded)
        if loaded.max_windows is not None and loaded.windows > loaded.max_windows:
            key, message, hint = windows_problem(f"reservations[{index}]", loaded.windows, loaded.max_windows)
            loaded.wrong(document, key, message, hint=hint)
            return
    if groups is not None:
        read_groups(document, groups, defaults, loaded)
        _few_windows_of_groups(document, loaded)


def _defaults(document: Document, value: Any, loaded: Loaded) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        loaded.wrong(document, "defaults", "is no mapping", value, "say `KEY: VALUE` lines")
        return {}
    for key in value:
        if key == "name":
            words = ("is no default", "", "every reservation has a name of its own")
        elif value[key] is None:
            words = ("is empty", "", "say a value, or leave the key out")
        elif key not in KEYS:
            words = unknown_key(key)
        else:
            continue
        loaded.wrong(document, f"defaults.{key}", *words)
    defaults = {key: one for key, one in value.items() if key in KEYS and key != "name" and one is not None}
    for key in defaults:
        _check_default(document, key, defaults, loaded)
    return {key: one for key, one in value.items() if key in KEYS and key != "name"}


def _check_default(document: Document, key: str, defaults: Mapping[str, Any], loaded: Loaded) -> None:
    """A wrong default is wrong though every reservation may have a value of its own."""

    def complain(wrong: str, message: str, value: str, hint: str) -> None:
        if wrong.partition(".")[0] == key:  # what else a reservation needs is no matter here
            loaded.wrong(document, f"defaults.{wrong}", message, value, hint)

    EntryReader({key: defaults[key]}, complain, loaded.now).reservation()
    if key == "end" and "duration" in defaults:
        complain("end", "is given, and so is duration", "", "say either `end` or `duration`")


def _read_entry(document: Document, index: int, entry: Any, defaults: Mapping[str, Any], loaded: Loaded) -> None:
    above = f"reservations[{index}]"
    if not isinstance(entry, Mapping):
        hint = "each reservation is a mapping that begins with `- name: …`"
        loaded.wrong(document, above, "is no reservation", entry, hint)
        return

    def complain(key: str, message: str, value: str, hint: str) -> None:
        top = key.partition(".")[0]
        place = f"defaults.{key}" if top not in entry and top in defaults else f"{above}.{key}" if key else above
        loaded.wrong(document, place, message, value, hint)

    # An end in an entry speaks against a default duration, and the other way round.
    rest = {key: one for key, one in defaults.items() if entry.get(_OPPOSITE.get(key)) is None}
    whole = {**rest, **entry}
    reader = EntryReader(whole, complain, loaded.now)
    reservation = reader.reservation()
    loaded.windows += reader.slot_count
    ends_wrong = list(loaded.check_ends(reader.ends))
    for wrong, why in ends_wrong:
        complain(wrong, why, "", "")
    owner, name = whole.get("owner"), whole.get("name")
    if isinstance(owner, str) and isinstance(name, str):
        # Also of a reservation that is wrong otherwise, so that mending it brings no new complaint.
        first = loaded.places.get((owner, name))
        line = document.line(f"{above}.name")
        loaded.places.setdefault((owner, name), f"{document.file}:{line}" if line else above)
        if first is not None:
            hint = f"{owner} has one of this name at {first}; names are unique per owner"
            complain("name", "is given twice", value_text(name), hint)
            return
    if reservation is None or ends_wrong:
        return
    for wrong, why in loaded.check(reservation):
        complain(wrong, why, "", "")
    loaded.reservations.append(reservation)
    loaded.entry_documents.append(whole)
    if reader.relative:
        loaded.relative.add(reservation.key)


_OPPOSITE = {"end": "duration", "duration": "end"}
