"""What the API's document says on top of what FastAPI finds out: requests' schemas, every error, and examples."""

from __future__ import annotations

from typing import Any

from controller.api.examples import EXAMPLES, PROBLEMS
from controller.api.models import ProblemOut
from controller.api.problems import MEDIA_TYPE
from controller.reservation import json_schema, reservation_schema

DESCRIPTION = """Reserve bandwidth for a time slot and have the routers do it.

Times are RFC 3339 with a zone; windows are half-open, `[start, end)`. Answers have integers with their units in their
names; requests have texts with units, as reservation files do. Errors are problem details (RFC 9457)."""
TAGS = [
    {"name": "reservations", "description": "GARA's verbs: enquire, create, modify, bind, commit, cancel."},
    {
        "name": "plans",
        "description": "Reservation files as a whole: what applying one would do, and doing exactly that.",
    },
    {"name": "views", "description": "What is wanted when: boundaries, configurations, the audit log."},
    {"name": "webhooks", "description": "Who is told of events: signed, at least once, in order per reservation."},
    {"name": "devices", "description": "What the devices have."},
    {"name": "health", "description": "Outside the versioned API, without a token."},
]
#: Which requests have which schema: what a reservation file says, said once.
_BODIES = {"create": "ReservationIn", "enquire": "EnquiryIn", "plan": "ReservationFileIn", "apply": "PlanIn"}
_BODY = (400, 413, 415, 422)
_CHANGE = (401, 403, 404, 409, 503)
#: The errors that each operation can answer with, and no others.
ERRORS: dict[str, tuple[int, ...]] = {
    "create": (401, 403, 409, 503, *_BODY),
    "list": (401, 422, 503),
    "status": (401, 404, 503),
    "modify": (*_CHANGE, *_BODY, 412, 428),
    "bind": (*_CHANGE, *_BODY, 412, 428),
    "commit": _CHANGE,
    "extend": (*_CHANGE, *_BODY),
    "cancel": (*_CHANGE, *_BODY),
    "approve": (*_CHANGE, 412, 428),
    "reject": (*_CHANGE, *_BODY),
    "enquire": (401, 503, *_BODY),
    "plan": (401, 403, 409, 503, *_BODY),
    "apply": (*_CHANGE, *_BODY, 412),
    "timeline": (401, 403, 404, 422, 503),
    "controller": (401, 403, 503),
    "configurations": (401, 403, 404, 409, 422, 503),
    "difference": (401, 403, 404, 409, 503),
    "events": (401, 403, 404, 422, 503),
    "event_stream": (401, 403, 404, 422, 503),
    "webhook_add": (401, 403, 409, 503, *_BODY),
    "webhook_list": (401, 403, 503),
    "webhook_remove": (401, 403, 404, 503),
    "webhook_test": (401, 403, 404, 422, 503),
    "webhook_dead_letters": (401, 403, 404, 422, 503),
    "webhook_redeliver": (401, 403, 404, 409, 503, *_BODY),
    "healthz": (),
    "readyz": (),
    "metrics": (),
}
_WITH_ETAG = ("create", "status", "modify", "bind", "commit", "extend", "cancel", "approve", "reject")
_HEADERS = {
    "ETag": {"description": "The reservation's version; say it as `If-Match`", "pattern": '^"[0-9]+"$'},
    "Location": {"description": "Where the new reservation is", "pattern": "^/v1/reservations/"},
    "Retry-After": {"description": "Seconds to wait before trying again", "pattern": "^[0-9]+$"},
    "WWW-Authenticate": {"description": "`Bearer`", "pattern": "^Bearer$"},
}
_PROBLEM_HEADERS = {401: "WWW-Authenticate", 503: "Retry-After"}


def complete(document: dict[str, Any]) -> dict[str, Any]:
    """The document with all that FastAPI cannot know. Changes it in place."""
    schemas = document["components"]["schemas"]
    schemas["ProblemOut"] = ProblemOut.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= schemas["ProblemOut"].pop("$defs", {})
    schemas |= _request_schemas()
    for path in document["paths"].values():
        for operation in path.values():
            _describe(operation)
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    return document


def _request_schemas() -> dict[str, Any]:
    reservation = reservation_schema()
    needed = [key for key in reservation["required"] if key != "owner"]
    file_schema = {key: value for key, value in json_schema().items() if not key.startswith("$")}
    return {
        "ReservationIn": reservation | {"required": needed},
        "EnquiryIn": reservation | {"required": [key for key in needed if key != "name"]},
        "ReservationFileIn": file_schema,
        "PlanIn": {
            "description": "What `plan` answered, whole.",
            "allOf": [{"$ref": "#/components/schemas/PlanOut"}],
        },
    }


def _describe(operation: dict[str, Any]) -> None:
    name = operation["operationId"]
    responses = operation["responses"]
    responses.pop("422", None)
    asked, answered = EXAMPLES[name]
    if name in _BODIES:
        reference = {"$ref": f"#/components/schemas/{_BODIES[name]}"}
        operation["requestBody"]["content"] = {"application/json": {"schema": reference}}
    if asked is not None:
        operation["requestBody"]["content"]["application/json"]["example"] = asked
    good = next(status for status in responses if status.startswith("2"))
    for media_type, example in answered.items():
        responses[good]["content"][media_type]["example"] = example
    if name in _WITH_ETAG:
        responses[good]["headers"] = _headers("ETag", *(["Location"] if good == "201" else []))
    for status in sorted(ERRORS[name]):
        responses[str(status)] = _problem(status)


def _problem(status: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "description": PROBLEMS[status]["title"],
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemOut"}, "example": PROBLEMS[status]}},
    }
    if status in _PROBLEM_HEADERS:
        found["headers"] = _headers(_PROBLEM_HEADERS[status])
    return found


def _headers(*names: str) -> dict[str, Any]:
    return {
        name: {
            "description": _HEADERS[name]["description"],
            "required": True,
            "schema": {"type": "string", "pattern": _HEADERS[name]["pattern"]},
        }
        for name in names
    }
