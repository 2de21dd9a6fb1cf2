"""Plans as documents: what `plan --format json` prints is what `plan -o` writes and `apply plan.json` reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from controller.files import read_regular_file
from controller.planning.matching import Act
from controller.planning.plan import WAITS, Plan, Step
from controller.problems import InvalidInput, Problem
from controller.reservation.checks import problems_of
from controller.reservation.model import Name, Owner, Reservation
from controller.timebase import RFC_3339, iso
from controller.views.configurations import Boundary, DeviceDiff
from controller.views.documents import DERIVED_KEYS, refusal_document, reservation_document

FORMAT = "slotcar-plan/2"
#: Of a plan that is read from a file.
LARGEST_FILE_BYTES = 200_000_000


def plan_document(plan: Plan) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "made_at": iso(plan.made_at),
        "ledger_sequence": plan.sequence,
        "network": plan.network_digest,
        "set_name": plan.set_name,
        "steps": [_step_document(step) for step in plan.steps],
        "boundaries": [boundary_document(boundary) for boundary in plan.boundaries],
        "boundaries_left_out": plan.boundaries_left_out,
        "next": iso(plan.next_at) if plan.next_at else None,
        "summary": {
            "create": plan.count(Act.CREATE),
            "change": plan.count(Act.CHANGE),
            "cancel": plan.count(Act.CANCEL),
            "unchanged": plan.count(Act.NO_OP),
            "refused": len(plan.refused),
        },
    }


def _step_document(step: Step) -> dict[str, Any]:
    match = step.match
    owner, name = match.key
    return {
        "action": match.act.value,
        "owner": owner,
        "name": name,
        "handle": match.entry.handle if match.entry else None,
        "expected_version": match.entry.version if match.entry else None,
        "reservation": reservation_document(match.wanted) if match.wanted else None,
        "differences": [{"key": d.key, "before": d.before, "after": d.after} for d in match.differences],
        "refusal": refusal_document(step.refused) if step.refused else None,
        "note": WAITS if step.waits else match.note,
    }


def boundary_document(boundary: Boundary) -> dict[str, Any]:
    return {"at": iso(boundary.at), "devices": [device_document(one) for one in boundary.devices]}


def device_document(one: DeviceDiff, first_line: int = 0, max_lines: int | None = None) -> dict[str, Any]:
    """The diff from `first_line` on (the first is 0), at most `max_lines` of it."""
    lines = one.diff[first_line:]
    shown = lines[:max_lines]
    return {
        "device": one.device,
        "diff": list(shown),
        "first_line": first_line,
        "lines_left_out": len(lines) - len(shown),
        "approximations": list(one.approximations),
    }


TIME_HINT = "say a time with its zone, such as 2027-03-01T22:00:00Z"


Handle = Annotated[str, StringConstraints(pattern=r"^r-[0-9a-z]{1,64}$")]
Count = Annotated[int, Field(ge=0, le=2**62)]


class PlannedStep(BaseModel):
    """One step as a plan file holds it; what is only there to be read is ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    action: Act
    owner: Owner
    name: Name
    handle: Handle | None
    expected_version: Count | None
    reservation: Reservation | None
    refusal: dict[str, Any] | None

    @field_validator("reservation")
    @classmethod
    def _keeps_to_the_limits(cls, value: Reservation | None) -> Reservation | None:
        """A document may have been written by anybody: what it asks for is checked as what a file asks for is."""
        wrong = [] if value is None else [f"{key} {words}; {hint}" for key, words, _, hint in problems_of(value)]
        if wrong:
            raise ValueError("; ".join(wrong))
        return value

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.action in (Act.CREATE, Act.CHANGE):
            if self.reservation is None:
                raise ValueError(f"a step that is to {self.action.value} has no reservation")
            if self.reservation.key != (self.owner, self.name):
                raise ValueError(
                    f"the reservation is {'/'.join(self.reservation.key)}, the step {self.owner}/{self.name}"
                )
        if self.action in (Act.CHANGE, Act.CANCEL) and (self.handle is None or self.expected_version is None):
            raise ValueError(f"a step that is to {self.action.value} has no handle or no version")
        return self


class PlanFile(BaseModel):
    """A plan file, checked."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: Literal["slotcar-plan/2"]
    made_at: AwareDatetime
    ledger_sequence: Count | None
    network: str
    steps: tuple[PlannedStep, ...]


@dataclass(frozen=True, slots=True)
class StepToDo:
    """What apply needs of a step, whether the plan came from a file or was made this moment."""

    act: Act
    key: tuple[str, str]
    handle: str | None
    expected_version: int | None
    reservation: Reservation | None


@dataclass(frozen=True, slots=True)
class PlanToDo:
    """What apply needs of a plan."""

    made_at: datetime
    sequence: int | None
    network_digest: str
    steps: tuple[StepToDo, ...]
    refused: tuple[str, ...]


def to_do(plan: Plan) -> PlanToDo:
    """The plan as apply takes it. It goes through the file's form, so that both ways are one."""
    return to_do_from(json.dumps(plan_document(plan)), "plan")


def _without_derived_keys(text: str) -> tuple[str, list[dict[str, Any]]]:
    """The document without what is in its reservations only to be read, and that, step by step; a text that is no such
    document as it is.
    """
    derived: list[dict[str, Any]] = []
    try:
        document = json.loads(text)
        for step in document["steps"]:
            asked = step["reservation"] or {}
            derived.append({key: asked.pop(key) for key in sorted(DERIVED_KEYS & set(asked))})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return text, []  # the model says what is wrong
    return json.dumps(document), derived


def _contradictions(plan: PlanFile, derived: list[dict[str, Any]]) -> Iterator[str]:
    """Keys that do not follow from the slots beside them: somebody changed what is only there to be read."""
    for number, (step, keys) in enumerate(zip(plan.steps, derived, strict=False)):
        document = reservation_document(step.reservation) if step.reservation else {}
        yield from (f"steps.{number}.reservation.{key}" for key, one in keys.items() if document.get(key) != one)


def to_do_from(text: str, file: str, hint: str = "") -> PlanToDo:
    """What a plan document in JSON asks to be done; `file` is what problems call it.

    Raises:
        InvalidInput: it is no plan, not one of this version, or asks for a reservation that may not be.
    """
    try:
        asked, derived = _without_derived_keys(text)
        plan = PlanFile.model_validate_json(asked, strict=True)
        wrong = [(key, value) for key, value in _times(json.loads(text)) if not RFC_3339.fullmatch(value)]
    except ValidationError as error:
        raise InvalidInput(
            Problem(file, 0, ".".join(map(str, one["loc"])), str(one["msg"]).removeprefix("Value error, "), hint=hint)
            for one in error.errors(include_url=False, include_input=False)
        ) from error
    if wrong:
        raise InvalidInput(Problem(file, 0, key, "is no time", value[:60], TIME_HINT) for key, value in wrong)
    if changed := list(_contradictions(plan, derived)):
        words = "does not agree with the slots"
        raise InvalidInput(Problem(file, 0, key, words, "", "change `slots`, and leave it out") for key in changed)
    return PlanToDo(
        made_at=plan.made_at,
        sequence=plan.ledger_sequence,
        network_digest=plan.network,
        steps=tuple(
            StepToDo(step.action, (step.owner, step.name), step.handle, step.expected_version, step.reservation)
            for step in plan.steps
        ),
        refused=tuple(f"{step.owner}/{step.name}" for step in plan.steps if step.refusal),
    )


def _times(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every time of a plan document that was validated, with its key: pydantic takes the text of a number for one, too."""
    yield "made_at", document["made_at"]
    for number, step in enumerate(document["steps"]):
        for index, slot in enumerate((step["reservation"] or {}).get("slots", ())):
            yield from ((f"steps.{number}.reservation.slots.{index}.{end}", slot[end]) for end in ("start", "end"))


def write_plan(plan: Plan, file: Path) -> None:
    """
    Raises:
        InvalidInput: the file cannot be written.
    """
    try:
        file.write_text(json.dumps(plan_document(plan), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidInput([Problem(str(file), 0, "", f"cannot be written: {error.strerror}")]) from error


def is_plan_file(paths: list[Path]) -> bool:
    """A single `.json` file whose top is a plan's; reservation files are YAML or JSON too, so the name is not enough."""
    if len(paths) != 1 or paths[0].suffix != ".json" or not paths[0].is_file():
        return False
    try:
        document = json.loads(read_regular_file(paths[0], LARGEST_FILE_BYTES))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and "ledger_sequence" in document


def read_plan(file: Path) -> PlanToDo:
    """
    Raises:
        InvalidInput: the file cannot be read; see `to_do_from`.
    """
    try:
        text = read_regular_file(file, LARGEST_FILE_BYTES).decode("utf-8")
    except OSError as error:
        raise InvalidInput([Problem(str(file), 0, "", f"cannot be read: {error.strerror}")]) from error
    except UnicodeDecodeError as error:
        raise InvalidInput([Problem(str(file), 0, "", f"is no UTF-8 text: {error.reason}")]) from error
    return to_do_from(text, str(file), "make the plan again with: slotcar plan FILES -o plan.json")
