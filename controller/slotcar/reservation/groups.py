"""Groups of a reservation file: members of any kind over one window, all of them or none (`together:`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, get_args

from pydantic import StringConstraints, ValidationError

from slotcar.base.lengths import too_long
from slotcar.base.located_yaml import Document
from slotcar.base.model_errors import explained
from slotcar.base.names import Name
from slotcar.base.vocabulary import OnFailure, Service
from slotcar.base.vocabulary import Protocol as Transport
from slotcar.managers import ManagerError, managers, option_words
from slotcar.reservation.entry import Ends, EntryReader
from slotcar.reservation.keys import value_text
from slotcar.reservation.model import Claim, Membership, Reservation
from slotcar.reservation.written import FIELDS, NEED_KEYS

#: The kind of a member that is a flow.
NETWORK = "network"
#: What a group says for all of its members.
SHARED = ("owner", "start", "end", "duration", "recurrence", "timezone", "if_unready", "labels")
GROUP_KEYS = ("name", *SHARED, "on_failure", "members")
MEMBER_KEYS = ("name", "on_failure")
#: What a flow of a group says itself.
FLOW_KEYS = tuple(key for key in FIELDS if key not in ("name", *SHARED, "schedule", *NEED_KEYS))
MOST_MEMBERS = 50
_NAME = re.compile(next(one.pattern for one in get_args(Name) if isinstance(one, StringConstraints)) or "")
_NAME_HINT = (
    "say a-z, 0-9, `.`, `_`, `-`, beginning and ending with a letter or digit; group and member 62 letters at most"
)
_ON_FAILURE_HINT = f"say one of {', '.join(OnFailure)}"
#: `complain(key, message, value, hint)`, the key below the group.
Complain = Callable[[str, str, object, str], None]


class Loading(Protocol):
    """What the reader of files has noted so far (`loading.Loaded`)."""

    now: datetime
    reservations: list[Reservation]
    places: dict[tuple[str, str], str]
    relative: set[tuple[str, str]]
    group_documents: list[Mapping[str, Any]]
    windows: int

    @property
    def check(self) -> Callable[[Reservation], Any]: ...

    @property
    def check_ends(self) -> Callable[[Ends], Any]: ...

    def wrong(self, document: Document, key: str, message: str, value: object = "", hint: str = "") -> None: ...


def kinds() -> tuple[str, ...]:
    """The kinds of members: flows, and the kinds of the installed resource managers."""
    return (NETWORK, *sorted(managers()))


def read_groups(document: Document, value: object, defaults: Mapping[str, Any], loaded: Loading) -> None:
    """Adds the members of all groups to what was loaded, and notes all that is wrong with them."""
    if not isinstance(value, list):
        loaded.wrong(document, "together", "is no list", value, "say a list: each group begins with `- name: …`")
        return
    for index, data in enumerate(value):
        above = f"together[{index}]"

        def complain(key: str, message: str, value: object = "", hint: str = "", above: str = above) -> None:
            loaded.wrong(document, f"{above}.{key}" if key else above, message, value, hint)

        if not isinstance(data, Mapping):
            complain("", "is no group", data, "each group is a mapping that begins with `- name: …`")
            continue
        _Group(data, defaults, document, above, complain, loaded).read()


@dataclass(frozen=True, slots=True)
class _Group:
    """One group: `data` as it is written."""

    data: Mapping[str, Any]
    defaults: Mapping[str, Any]
    document: Document
    above: str
    complain: Complain
    loaded: Loading

    def read(self) -> None:
        for key in self.data:
            if key not in GROUP_KEYS:
                self.complain(str(key), "is no key of a group", "", f"the keys are {', '.join(GROUP_KEYS)}")
        name = self._name("name", self.data.get("name"))
        on_failure = self._on_failure("on_failure", self.data.get("on_failure"), OnFailure.END_ALL)
        members = self.data.get("members")
        if not isinstance(members, list) or not members:
            self.complain(
                "members",
                "is missing" if members is None else "is no list of members",
                members,
                "say `- name: …` with one of the keys " + ", ".join(kinds()),
            )
            return
        if len(members) > MOST_MEMBERS:
            self.complain("members", "are too many", len(members), f"at most {MOST_MEMBERS}")
            return
        names: set[str] = set()
        for index, member in enumerate(members):
            self._member(f"members[{index}]", member, name, on_failure, names)
        if all(isinstance(one, Mapping) for one in members):
            self.loaded.group_documents.append(self.as_written())

    def _name(self, key: str, value: object) -> str:
        """Empty where it is wrong, which was said."""
        if isinstance(value, str) and _NAME.fullmatch(value):
            return value
        self.complain(key, "is missing" if value is None else "is no name", "" if value is None else value, _NAME_HINT)
        return ""

    def _on_failure(self, key: str, value: object, default: OnFailure) -> OnFailure:
        if value is None:
            return default
        if isinstance(value, str) and value in tuple(OnFailure):
            return OnFailure(value)
        self.complain(key, "is none that is known here", value, _ON_FAILURE_HINT)
        return default

    def _member(self, key: str, data: object, group: str, on_failure: OnFailure, names: set[str]) -> None:
        if not isinstance(data, Mapping):
            self.complain(key, "is no member", data, "each member is a mapping that begins with `- name: …`")
            return
        name = self._name(f"{key}.name", data.get("name"))
        if name and name in names:
            self.complain(f"{key}.name", "is given twice", name, "each member has a name of its own")
        names.add(name)
        whole = f"{group}.{name}"
        if group and name and not _NAME.fullmatch(whole):
            self.complain(f"{key}.name", "is too long", whole, _NAME_HINT)
        other_keys = [one for one in data if one not in MEMBER_KEYS]
        for one in other_keys:
            if one not in kinds():
                self.complain(f"{key}.{one}", "is no kind of member", "", f"the kinds are {', '.join(kinds())}")
        of_kind = [one for one in other_keys if one in kinds()]
        if len(of_kind) != 1:
            words = "says not what it reserves" if not of_kind else "reserves several things"
            self.complain(key, words, ", ".join(of_kind), f"say one of {', '.join(kinds())}; a member for each")
            return
        membership = self._on_failure(f"{key}.on_failure", data.get("on_failure"), on_failure)
        before = {"name": whole if group and name else "x"}
        self._reserve(key, of_kind[0], data[of_kind[0]], before, (group, membership))

    def _reserve(
        self, key: str, kind: str, data: object, before: MutableMapping[str, Any], of: tuple[str, OnFailure]
    ) -> None:
        if not isinstance(data, Mapping):
            self.complain(f"{key}.{kind}", "is no mapping", data, "say `KEY: VALUE` pairs of what is reserved")
            return
        shared = {one: self.data[one] for one in SHARED if self.data.get(one) is not None}
        rest = self._shared_defaults()
        if kind == NETWORK:
            claim, own = None, self._flow(key, data)
        else:
            claim = self._claim(key, kind, data)
            if claim is None:
                return
            own = {
                "source": claim.place,
                "destination": claim.place,
                "protocol": Transport.TCP.value,
                "service": Service.BEST_EFFORT.value,
            }
        self._read(key, kind, {**rest, **shared, **own, **before}, claim, of)

    def _shared_defaults(self) -> dict[str, Any]:
        """What the file says for all; an end of the group speaks against a default duration, and the other way round."""
        return {
            key: value
            for key, value in self.defaults.items()
            if key in SHARED and self.data.get(_OPPOSITE.get(key, "")) is None
        }

    def as_written(self) -> dict[str, Any]:
        """A group with the defaults of its file, so that it can be sent without the file."""
        flow = {key: value for key, value in self.defaults.items() if key in FLOW_KEYS}
        members = [
            {**one, NETWORK: {**flow, **one[NETWORK]}} if isinstance(one.get(NETWORK), Mapping) else dict(one)
            for one in self.data["members"]
        ]
        return {**self._shared_defaults(), **self.data, "members": members}

    def _flow(self, key: str, data: Mapping[str, Any]) -> dict[str, Any]:
        for one in data:
            if one not in FLOW_KEYS:
                words = "is the group's" if one in ("name", *SHARED) else "is no key of a flow of a group"
                self.complain(f"{key}.{NETWORK}.{one}", words, "", f"the keys are {', '.join(FLOW_KEYS)}")
        defaults = {one: value for one, value in self.defaults.items() if one in FLOW_KEYS}
        return {**defaults, **{one: value for one, value in data.items() if one in FLOW_KEYS}}

    def _claim(self, key: str, kind: str, data: Mapping[str, Any]) -> Claim | None:
        """The claim; None where it is wrong, which was noted."""
        manager = managers()[kind]
        model = manager.request
        if long_texts := list(too_long(data)):
            for one in long_texts:
                self.complain(f"{key}.{kind}.{one.path}", "is too long", one.text, one.hint)
            return None
        try:
            request = model.model_validate(dict(data))
        except ValidationError as error:
            for below, message, value, hint in explained(error, model, data):
                shown = "" if isinstance(value, Mapping) else value  # the lines of the file show it better
                self.complain(".".join((key, kind, *below)), message, shown, hint)
            return None
        try:
            option_words(manager, request)
        except ManagerError as error:
            self.complain(f"{key}.{kind}", str(error), "", "")
            return None
        return Claim(kind=kind, place=request.place, request=dict(data))

    def _read(
        self, key: str, kind: str, data: Mapping[str, Any], claim: Claim | None, of: tuple[str, OnFailure]
    ) -> None:
        group, on_failure = of

        def complain(wrong: str, message: str, value: object = "", hint: str = "") -> None:
            top = wrong.partition(".")[0]
            if top == "name":
                return  # it was said of the two that it is made of
            if top in SHARED:
                self.complain(wrong, message, value, hint)
            elif claim is not None:
                self.complain(f"{key}.{kind}", message, value if top == "source" else "", hint)
            else:
                self.complain(f"{key}.{kind}.{wrong}" if wrong else f"{key}.{kind}", message, value, hint)

        reader = EntryReader(data, complain, self.loaded.now)
        read = reader.reservation()
        self.loaded.windows += reader.slot_count
        ends_wrong = [] if claim else list(self.loaded.check_ends(reader.ends))
        for wrong, why in ends_wrong:
            complain(wrong, why)
        if read is None or ends_wrong or not group:
            return
        fields = {"claim": claim, "together": Membership(group=group, on_failure=on_failure)}
        reservation = Reservation.model_validate({**read.__dict__, **fields})
        self._add(key, reservation, complain, data)
        if reader.relative:
            self.loaded.relative.add(reservation.key)

    def _add(self, key: str, reservation: Reservation, complain: Complain, data: Mapping[str, Any]) -> None:
        first = self.loaded.places.get(reservation.key)
        line = self.document.line(f"{self.above}.{key}.name")
        self.loaded.places.setdefault(
            reservation.key, f"{self.document.file}:{line}" if line else f"{self.above}.{key}"
        )
        if first is not None:
            hint = f"{reservation.owner} has one of this name at {first}; names are unique per owner"
            self.complain(f"{key}.name", "is given twice", value_text(reservation.name), hint)
            return
        for wrong, why in self.loaded.check(reservation):
            complain(wrong, why, "", "")
        self.loaded.reservations.append(reservation)


_OPPOSITE = {"end": "duration", "duration": "end"}
