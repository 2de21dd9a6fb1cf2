"""Plans as documents: what `plan --format json` prints is what `plan -o` writes and `apply plan.json` reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from slotcar.base import lengths
from slotcar.base.files import read_regular_file
from slotcar.base.lengths import TooLong, too_long
from slotcar.base.located_yaml import parse_json
from slotcar.base.names import Name, Owner
from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.timebase import RFC_3339, Window, iso
from slotcar.network.model import InterfaceId
from slotcar.network.path.model import Hop
from slotcar.planning.errors import require_no_refusal
from slotcar.planning.plan import Plan
from slotcar.planning.step import Action, PlanStep
from slotcar.reservation.checks import MOST_RECEIVERS, own_labels_in, problems_of
from slotcar.reservation.model import Reservation, ReservationFields
from slotcar.views.approximations import devices_by_words
from slotcar.views.configurations import Boundary, DeviceDiff
from slotcar.views.documents import path_document, refusal_document, reservation_document
from slotcar_client.wire import documents

FORMAT = "slotcar-plan/3"
#: What every plan has at its top, and no reservation file.
_PLAN_KEY = "ledger_sequence"
#: Of a plan that is read from a file.
LARGEST_FILE_BYTES = 200_000_000


def plan_document(plan: Plan) -> documents.Plan:
    return {
        "format": FORMAT,
        "made_at": iso(plan.made_at),
        "ledger_sequence": plan.sequence,
        "network": plan.network_digest,
        "set_name": plan.set_name,
        "owners": list(plan.owners),
        "moves": list(plan.moves),
        "steps": [_step_document(step) for step in plan.steps],
        "boundaries": [boundary_document(boundary) for boundary in plan.boundaries],
        "approximations": [
            {"devices": list(devices), "words": words}
            for words, devices in devices_by_words(plan.approximations).items()
        ],
        "in_the_way": [
            {
                "device": one.device,
                "at": iso(one.at),
                "words": one.words,
                "certain": one.certain,
                "read_at": iso(one.read_at),
            }
            for one in plan.in_the_way
        ],
        "not_looked_at": list(plan.not_looked_at),
        "looked_at": iso(plan.looked_at) if plan.looked_at else None,
        "boundaries_left_out": plan.boundaries_left_out,
        "next": iso(plan.next_at) if plan.next_at else None,
        "summary": {
            "create": plan.count(Action.CREATE),
            "change": plan.count(Action.CHANGE),
            "cancel": plan.count(Action.CANCEL),
            "unchanged": plan.count(Action.NO_OP),
            "refused": len(plan.refused),
        },
    }


def _step_document(step: PlanStep) -> documents.Step:
    owner, name = step.key
    return {
        "action": step.action.value,
        "owner": owner,
        "name": name,
        "handle": step.handle,
        "expected_version": step.expected_version,
        "reservation": reservation_document(step.reservation) if step.reservation else None,
        "paths": [path_document(path) for path in step.routed.paths] if step.routed and not step.refusal else None,
        "differences": [{"key": d.key, "before": d.before, "after": d.after} for d in step.differences],
        "refusal": refusal_document(step.refusal) if step.refusal else None,
        "seen": step.seen,
        "waits": step.waits,
        "note": step.note,
        "notes": list(step.notes),
    }


def boundary_document(boundary: Boundary) -> documents.Boundary:
    return {"at": iso(boundary.at), "devices": [device_document(one) for one in boundary.devices]}


def device_document(one: DeviceDiff, first_line: int = 0, max_lines: int | None = None) -> documents.DeviceDiff:
    """The diff from `first_line` on (the first is 0), at most `max_lines` of it."""
    lines = one.diff[first_line:]
    page = lines[:max_lines]
    return {
        "device": one.device,
        "diff": list(page),
        "first_line": first_line,
        "lines_left_out": len(lines) - len(page),
        "approximations": [f"{one.device}: {note.words}" for note in one.approximations],
    }


TIME_HINT = "say a time with its zone, such as 2027-03-01T22:00:00Z"
READ_HINT = "make the plan again with: slotcar plan FILES -o plan.json"


Place = Annotated[str, StringConstraints(max_length=lengths.PLACE)]
Handle = Annotated[str, StringConstraints(max_length=lengths.HANDLE, pattern=r"^r-[0-9a-z]{1,64}$")]
#: Or what stands for it, in a requester's plan (`marks_of`).
MovedHandle = Annotated[str, StringConstraints(max_length=lengths.HANDLE, pattern=r"^[rm]-[0-9a-z]{1,64}$")]
Count = Annotated[int, Field(ge=0, le=2**62)]


class DocumentedReservation(Reservation):
    """A reservation as documents have it: with what follows from its slots, which is there to be read only."""

    documented_rate_bps: int | None = Field(default=None, alias="rate_bps")
    documented_windows: tuple[Window, ...] | None = Field(default=None, alias="windows")

    @field_validator("documented_rate_bps", "documented_windows")
    @classmethod
    def _agrees_with_the_slots(cls, value: object, info: ValidationInfo) -> object:
        """Refuses a plan in which this field was edited alone: the slots are applied, so it would change nothing."""
        if {"slots", "direction"} <= info.data.keys():
            one = Reservation.model_construct(**info.data)
            if value != (one.windows if info.field_name == "documented_windows" else one.constant_rate_bps):
                raise PydanticCustomError("derived", "does not agree with the slots")
        return value

    @property
    def plain_reservation(self) -> Reservation:
        """The same without the fields that follow from the slots."""
        return Reservation.model_construct(**{key: getattr(self, key) for key in ReservationFields.model_fields})


class PlannedHop(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    device: Place
    ingress: Place
    egress: Place

    @property
    def hop(self) -> Hop:
        ends = (InterfaceId(device=self.device, name=name) for name in (self.ingress, self.egress))
        return Hop(self.device, *ends)


class PlannedPath(BaseModel):
    """What a step's path crosses in one direction; the inventory must have it still."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    hops: Annotated[tuple[PlannedHop, ...], Field(max_length=1_000)]


class PlannedStep(BaseModel):
    """One step as a plan file holds it; what is only there to be read is ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    action: Action
    owner: Owner
    name: Name
    handle: Handle | None
    expected_version: Count | None
    reservation: DocumentedReservation | None
    paths: Annotated[tuple[PlannedPath, ...], Field(max_length=MOST_RECEIVERS)] | None = None
    refusal: dict[str, Any] | None
    seen: Annotated[str, StringConstraints(max_length=lengths.CHOICE)]
    waits: bool

    @field_validator("reservation")
    @classmethod
    def _keeps_to_the_limits(cls, value: Reservation | None) -> Reservation | None:
        """A document may have been written by anybody: what it asks for is checked as what a file asks for is."""
        problems = [] if value is None else [*problems_of(value), *own_labels_in(value.labels)]
        wrong = [f"{key} {words}; {hint}" for key, words, _, hint in problems]
        if wrong:
            raise ValueError("; ".join(wrong))
        return value

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.action in (Action.CREATE, Action.CHANGE):
            if self.reservation is None:
                raise ValueError(f"a step that is to {self.action.value} has no reservation")
            if self.reservation.key != (self.owner, self.name):
                raise ValueError(
                    f"the reservation is {'/'.join(self.reservation.key)}, the step {self.owner}/{self.name}"
                )
        if self.action is Action.CREATE and self.handle is not None:
            raise ValueError(f"a step that is to create has a handle, {self.handle}")
        if self.action in (Action.CHANGE, Action.CANCEL) and (self.handle is None or self.expected_version is None):
            raise ValueError(f"a step that is to {self.action.value} has no handle or no version")
        return self

    @property
    def step(self) -> PlanStep:
        return PlanStep(
            self.action,
            (self.owner, self.name),
            self.reservation.plain_reservation if self.reservation else None,
            self.handle,
            self.expected_version,
            paths=tuple(tuple(one.hop for one in path.hops) for path in self.paths) if self.paths else None,
            waits=self.waits,
            seen=self.seen,
        )


class PlanFile(BaseModel):
    """A plan file, checked."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: Literal["slotcar-plan/3"]
    made_at: AwareDatetime
    ledger_sequence: Count | None
    network: Annotated[str, StringConstraints(max_length=lengths.CHOICE)]
    set_name: Annotated[str, StringConstraints(max_length=lengths.SET_NAMES)]
    owners: Annotated[tuple[Owner, ...], Field(max_length=10_000)]
    moves: Annotated[tuple[MovedHandle, ...], Field(max_length=10_000)]
    steps: tuple[PlannedStep, ...]


def plan_of_document(document: object, file: str, hint: str) -> Plan:
    """The plan that a document (as JSON gives it) asks to be applied; `file` is what problems call it.

    Raises:
        InvalidInput: it is no plan, not one of this version, or asks for a reservation that may not be. PlanRefused: it
        holds a refusal.
    """
    if long_texts := list(_long_texts(document)):
        raise InvalidInput(Problem(file, 0, one.path, "is too long", one.text, one.hint) for one in long_texts)
    try:
        read = PlanFile.model_validate_json(json.dumps(document), strict=True)
    except ValidationError as error:
        raise InvalidInput(_problem(dict(one), file, hint) for one in error.errors(include_url=False)) from error
    wrong = [(key, value) for key, value in _times(document) if not RFC_3339.fullmatch(value)]
    if wrong:
        raise InvalidInput(Problem(file, 0, key, "is not a time", value, TIME_HINT) for key, value in wrong)
    if twice := list(_given_twice(read.steps)):
        raise InvalidInput(
            Problem(file, 0, key, "is given twice", value, "one step a reservation") for key, value in twice
        )
    require_no_refusal(f"{step.owner}/{step.name}" for step in read.steps if step.refusal)
    steps = tuple(step.step for step in read.steps)
    return Plan(
        read.made_at, read.ledger_sequence, read.network, read.set_name, steps, owners=read.owners, moves=read.moves
    )


def _long_texts(document: object) -> Iterator[TooLong]:
    """The texts that are too long, before anything else looks at them; what is only there to be read is not looked at."""
    if not isinstance(document, Mapping):
        return
    yield from too_long({"made_at": document.get("made_at")})
    steps = document.get("steps")
    for number, step in enumerate(steps if isinstance(steps, list) else ()):
        if isinstance(step, Mapping) and isinstance(reservation := step.get("reservation"), Mapping):
            yield from too_long(reservation, f"steps.{number}.reservation.")


def _given_twice(steps: Sequence[PlannedStep]) -> Iterator[tuple[str, str]]:
    """The places of steps whose reservation an earlier step is about: neither would be what was planned."""
    known: set[str] = set()
    for number, step in enumerate(steps):
        names = {f"{step.owner}/{step.name}", *filter(None, (step.handle,))}
        if again := names & known:
            yield f"steps.{number}", min(again)
        known |= names


def _problem(error: dict[str, Any], file: str, hint: str) -> Problem:
    if error["type"] == "derived":
        hint = "change `slots`, and leave it out"
    message = str(error["msg"]).removeprefix("Value error, ")
    return Problem(file, 0, ".".join(map(str, error["loc"])), message, hint=hint)


def _times(document: Any) -> Iterator[tuple[str, str]]:
    """Every time of a plan document that was validated, with its key: pydantic takes the text of a number for one, too."""
    yield "made_at", document["made_at"]
    for number, step in enumerate(document["steps"]):
        need = (step["reservation"] or {}).get("need") or {}
        yield from ((f"steps.{number}.reservation.need.{end}", need[end]) for end in ("start", "by") if need.get(end))
        for index, slot in enumerate((step["reservation"] or {}).get("slots", ())):
            yield from ((f"steps.{number}.reservation.slots.{index}.{end}", slot[end]) for end in ("start", "end"))


def write_document(document: dict[str, Any], file: Path) -> None:
    """Writes a plan's document.

    Raises:
        InvalidInput: the file cannot be written.
    """
    try:
        file.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidInput([Problem(str(file), 0, "", f"cannot be written: {error.strerror}")]) from error


def contents_of(files: Sequence[Path]) -> Mapping[Path, bytes]:
    """What a single `.json` file holds, by its path, for it may be a plan; nothing of others, or if it cannot be read."""
    if len(files) != 1 or files[0].suffix != ".json" or not files[0].is_file():
        return {}
    try:
        return {files[0]: read_regular_file(files[0], LARGEST_FILE_BYTES)}
    except OSError:
        return {}


def read_plan(contents: Mapping[Path, bytes]) -> Plan | None:
    """As `plan_in`, checked.

    Raises:
        InvalidInput, PlanRefused: see `plan_of_document`.
    """
    document = plan_in(contents)
    return None if document is None else plan_of_document(document, " ".join(map(str, contents)), READ_HINT)


def plan_in(contents: Mapping[Path, bytes]) -> dict[str, Any] | None:
    """The plan that a file holds whose top is a plan's; None where these are reservation files, which are YAML or JSON too,
    so that the name is not enough.

    Args:
        contents: see `contents_of`.
    """
    for raw in contents.values():
        # Hardly a reservation file has this word: none is parsed here for nothing. UTF-16 puts zeros between letters.
        if _PLAN_KEY.encode() in raw.replace(b"\0", b""):
            try:
                document = parse_json(raw)
            except ValueError:
                return None
            return document if isinstance(document, dict) and _PLAN_KEY in document else None
    return None
