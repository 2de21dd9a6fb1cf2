"""What the API's document says on top of what FastAPI finds out: requests' schemas, every error, and examples."""

from __future__ import annotations

from typing import Any

from slotcar.api.answers import model_of
from slotcar.api.context import IF_MATCH
from slotcar.api.examples import EXAMPLES, PROBLEMS
from slotcar.api.problems import MEDIA_TYPE
from slotcar.api.verbs import has_version
from slotcar.base.lengths import with_lengths
from slotcar.planning.plan_file import PlanFile
from slotcar.reservation import json_schema, reservation_schema
from slotcar.reservation.schema import ONE_END, group_schema
from slotcar_client.wire import documents
from slotcar_client.wire.verbs import VERBS

DESCRIPTION = """Reserve bandwidth for a time slot and have the routers do it.

Times are RFC 3339 with a zone; windows are half-open, `[start, end)`. Answers have integers with their units in their
names, and amounts of resources in the `unit` beside them; requests have texts with units, as reservation files do. Errors
are problem details (RFC 9457)."""
TAGS = [
    {"name": "reservations", "description": "GARA's verbs: enquire, create, modify, bind, commit, cancel."},
    {"name": "delegations", "description": "Rights on one reservation in somebody else's hands, limited in time."},
    {"name": "shares", "description": "What a community's manager shares out among its members."},
    {"name": "connections", "description": "Reservations over several domains, each with a controller of its own."},
    {"name": "groups", "description": "Several resources, one reservation: all members or none."},
    {"name": "offers", "description": "Who asks, and what may be asked for."},
    {"name": "costs", "description": "What a transfer takes from where to where, and what is near what."},
    {"name": "policies", "description": "Who may what, and why."},
    {
        "name": "plans",
        "description": "Reservation files as a whole: what applying one would do, and doing exactly that.",
    },
    {"name": "views", "description": "What is wanted when: boundaries, configurations, the audit log."},
    {"name": "usage", "description": "What was used of what was reserved, as devices counted it."},
    {"name": "audits", "description": "Whether SLSs were kept, as probes measured and devices counted."},
    {"name": "webhooks", "description": "Who is told of events: signed, at least once, in order per reservation."},
    {"name": "devices", "description": "What the devices have."},
    {"name": "health", "description": "Outside the versioned API, without a token."},
]
#: Which requests have which schema: what a reservation file says, said once.
_BODIES = {
    "create": "ReservationIn",
    "group_create": "GroupIn",
    "group_create_all": "GroupSetIn",
    "enquire": "EnquiryIn",
    "plan": "ReservationFileIn",
    "apply": "PlanIn",
}
_BODY = (400, 413, 415, 422)
#: Any operation can be asked with a parameter that it does not know, or for a host that this is not.
_ALWAYS = (421, 422)
#: The errors that each operation can answer with beside these, and no others.
ERRORS: dict[str, tuple[int, ...]] = {
    **{name: verb.errors for name, verb in VERBS.items()},
    "plan": (401, 403, 409, 503, *_BODY),
    "event_stream": (401, 403, 404, 422, 429, 503),
    "healthz": (),
    "readyz": (),
    "metrics": (),
}
_MORE_WITH_A_TOKEN = ("readyz",)
_HEADERS = {
    "ETag": {"description": "The reservation's version; say it as `If-Match`", "pattern": '^"[0-9]+"$'},
    "Location": {"description": "Where the new reservation is", "pattern": "^/v1/(reservations|groups)/"},
    "Retry-After": {"description": "Seconds to wait before trying again", "pattern": "^[0-9]+$"},
    "WWW-Authenticate": {"description": "`Bearer`", "pattern": "^Bearer$"},
}
_PROBLEM_HEADERS = {401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}
#: Keywords of JSON Schema that limit a number.
_LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def complete(document: dict[str, Any]) -> dict[str, Any]:
    """The document with all that FastAPI cannot know. Changes it in place."""
    schemas = document["components"]["schemas"]
    schemas["ProblemOut"] = model_of(documents.Problem).model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= schemas["ProblemOut"].pop("$defs", {})
    schemas |= _request_schemas()
    for path in document["paths"].values():
        for operation in path.values():
            _describe(operation)
    document["paths"], document["components"] = _whole(document["paths"]), _whole(document["components"])
    schemas = document["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    return document


def _request_schemas() -> dict[str, Any]:
    reservation = reservation_schema() | ONE_END
    needed = [key for key in reservation["required"] if key != "owner"]
    plan = with_lengths(PlanFile.model_json_schema(ref_template="#/components/schemas/{model}"))
    return {
        "ReservationIn": reservation | {"required": needed},
        "EnquiryIn": reservation | {"required": [key for key in needed if key != "name"]},
        "ReservationFileIn": _file_schema(),
        "GroupIn": group_schema() | {"required": ["name", "start", "members"]},
        "GroupSetIn": {
            "type": "object",
            "additionalProperties": False,
            "required": ["together"],
            "properties": {
                "together": {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/GroupIn"}}
            },
        },
        **plan.pop("$defs"),
        "PlanIn": plan
        | {"description": "What `plan` answered, whole. What is only there to be read is not looked at."},
    }


def _file_schema() -> dict[str, Any]:
    """A reservation file in two forms: without defaults each reservation is complete.

    With defaults, what is required may stand there or in the reservation; `schemas/reservation.schema.json` says that
    in conditions, which no generator of requests can solve.
    """
    schema = {key: value for key, value in json_schema().items() if not key.startswith("$") and key != "allOf"}
    with_defaults = schema | {"required": [*schema["required"], "defaults"], "title": "With defaults"}
    alone = {key: value for key, value in schema["properties"].items() if key != "defaults"}
    alone["reservations"] = alone["reservations"] | {"items": reservation_schema() | ONE_END}
    return {
        "title": schema["title"],
        "description": schema["description"],
        "anyOf": [schema | {"title": "Without defaults", "properties": alone}, with_defaults],
    }


def _describe(operation: dict[str, Any]) -> None:
    name = operation["operationId"]
    responses = operation["responses"]
    responses.pop("422", None)
    body, answers = EXAMPLES[name]
    if name in _BODIES:
        reference = {"$ref": f"#/components/schemas/{_BODIES[name]}"}
        operation["requestBody"]["content"] = {"application/json": {"schema": reference}}
    if body is not None:
        operation["requestBody"]["content"]["application/json"]["example"] = body
    good = next(status for status in responses if status.startswith("2"))
    for media_type, example in answers.items():
        responses[good]["content"][media_type]["example"] = example
    verb = VERBS.get(name)
    if verb is not None and has_version(verb):
        responses[good]["headers"] = _headers("ETag", *(["Location"] if verb.location else []))
    if name in _MORE_WITH_A_TOKEN:
        operation["security"] = [{}, *operation["security"]]
    for parameter in operation.get("parameters", ()):
        _describe_parameter(parameter, 428 in ERRORS[name])
    for status in sorted({*ERRORS[name], *_ALWAYS}):
        responses[str(status)] = _problem(status)


def _describe_parameter(parameter: dict[str, Any], needs_version: bool) -> None:
    """A parameter is there or not, never null; and `If-Match` must be where a version is needed."""
    schema = parameter["schema"]
    kinds = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    if len(kinds) == 1:
        parameter["schema"] = {key: value for key, value in schema.items() if key != "anyOf"} | kinds[0]
    if parameter["name"] == "If-Match":
        parameter["required"] = needs_version
        parameter["schema"]["pattern"] = IF_MATCH


def _whole(value: Any) -> Any:
    """Limits of integers as integers: FastAPI writes all limits as fractions, 4.6e18 for one."""
    if isinstance(value, dict):
        return {key: int(one) if _is_limit(key, one) else _whole(one) for key, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, list) else value


def _is_limit(key: str, value: Any) -> bool:
    return key in _LIMITS and isinstance(value, float) and value.is_integer()


def _problem(status: int) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": PROBLEMS[status]["title"],
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemOut"}, "example": PROBLEMS[status]}},
    }
    if status in _PROBLEM_HEADERS:
        response["headers"] = _headers(_PROBLEM_HEADERS[status])
    return response


def _headers(*names: str) -> dict[str, Any]:
    return {
        name: {
            "description": _HEADERS[name]["description"],
            "required": True,
            "schema": {"type": "string", "pattern": _HEADERS[name]["pattern"]},
        }
        for name in names
    }
