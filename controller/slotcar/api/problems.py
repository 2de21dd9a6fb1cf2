"""Errors as RFC 9457 problem details: the sentence that the CLI prints, a type to branch on, and the numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from slotcar.auth.provider import ProviderUnreachable
from slotcar.base.located_yaml import TOO_DEEP
from slotcar.base.problems import InvalidInput, Problem, SlotcarError, shortened, with_short_words
from slotcar.base.units import UnitError
from slotcar.book import errors as ledger_errors
from slotcar.book.rules import errors as policy_errors
from slotcar.book.rules.request_limits import PlanTooLarge
from slotcar.book.rules.roles import NotAllowed
from slotcar.book.rules.webhooks import WrongWebhook
from slotcar.domains import errors as domain_errors
from slotcar.network.path import NoPath
from slotcar.notify.sending import WrongUrl
from slotcar.notify.signing import SecretUnusable
from slotcar.notify.webhooks import UnknownWebhook, WrongKind
from slotcar.planning import errors
from slotcar.platforms.model import Unrenderable
from slotcar.views.capacity import NoSuchResource
from slotcar.views.devices import NoSuchDevice
from slotcar.views.documents import refusal_document
from slotcar_client.wire.errors import PREFIX

MEDIA_TYPE = "application/problem+json"
#: Error -> status, type, title; the first that fits.
_KINDS: tuple[tuple[type[Exception], int, str, str], ...] = (
    (InvalidInput, 422, "invalid-input", "The request is wrong"),
    (UnitError, 422, "invalid-input", "The request is wrong"),
    (NoPath, 422, "no-path", "There is no path"),
    (policy_errors.EndpointNotAllowed, 403, "endpoint-not-allowed", "The owner may not use this endpoint"),
    (policy_errors.HostNotGiven, 403, "host-not-given", "An operator gives what this host has"),
    (policy_errors.BindNotAllowed, 403, "bind-not-allowed", "The owner may not bind these processes"),
    (policy_errors.BeyondHorizon, 422, "beyond-horizon", "It ends later than reservations may"),
    (policy_errors.NotPermitted, 403, "not-permitted", "The site's policies do not permit it"),
    (policy_errors.FlowTaken, 409, "flow-taken", "Another owner has these packets"),
    (policy_errors.HoldTooLong, 409, "hold-too-long", "A hold may not last so long"),
    (policy_errors.QuotaExceeded, 409, "quota-exceeded", "The owner's quota is exceeded"),
    (errors.RefusedByAdmission, 409, "refused", "Refused by admission"),
    (errors.PlanRefused, 409, "plan-refused", "The plan holds refusals"),
    (ledger_errors.PlanNotAdmitted, 409, "plan-refused", "The plan does not fit"),
    (errors.StalePlan, 409, "stale-plan", "The plan is out of date"),
    (ledger_errors.StaleLedger, 409, "stale-plan", "The plan is out of date"),
    (ledger_errors.StaleVersion, 412, "stale-version", "The reservation has changed"),
    (ledger_errors.UnknownHandle, 404, "unknown-reservation", "There is no such reservation"),
    (ledger_errors.ForbiddenTransition, 409, "forbidden-transition", "The reservation's state does not allow it"),
    (ledger_errors.NameTaken, 409, "name-taken", "The name is taken"),
    (ledger_errors.IdempotencyConflict, 409, "idempotency-conflict", "The idempotency key was used otherwise"),
    (ledger_errors.LedgerUnavailable, 503, "ledger-unavailable", "The ledger's database does not answer"),
    (NotAllowed, 403, "not-allowed", "Not allowed"),
    (NoSuchDevice, 404, "unknown-device", "There is no such device"),
    (NoSuchResource, 404, "unknown-resource", "There is no such resource"),
    (UnknownWebhook, 404, "unknown-webhook", "There is no such webhook"),
    (WrongUrl, 422, "invalid-input", "The request is wrong"),
    (SecretUnusable, 422, "invalid-input", "The request is wrong"),
    (WrongKind, 422, "invalid-input", "The request is wrong"),
    (WrongWebhook, 409, "wrong-webhook", "This makes no sense for the webhook"),
    (PlanTooLarge, 422, "plan-too-large", "The plan is too large for one request"),
    (domain_errors.UnknownConnection, 404, "unknown-connection", "There is no such connection"),
    (domain_errors.ConnectionRefused, 409, "refused-by-domain", "A domain refuses"),
    (domain_errors.TicketRefused, 409, "ticket-refused", "The ticket is not taken"),
    (domain_errors.NotAuthentic, 403, "not-a-neighbour", "It is not from whom it says"),
    (domain_errors.NotThatWay, 422, "no-path", "There is no path"),
    (Unrenderable, 409, "unrenderable", "A platform cannot express it"),
    (ProviderUnreachable, 503, "unavailable", "The controller cannot do it now"),
    (SlotcarError, 409, "not-possible", "Not possible"),
)
INTERNAL = (500, "internal", "There is a fault in Slotcar")
_TITLES = {
    400: ("malformed", "The request cannot be read"),
    401: ("unauthenticated", "Who asks is not known"),
    403: ("cross-site", "The request comes from another site"),
    404: ("not-found", "There is nothing here"),
    408: ("timeout", "The request took too long to come in"),
    405: ("method-not-allowed", "The method is not allowed here"),
    413: ("too-large", "The request is too large"),
    415: ("media-type", "The request's media type is not understood"),
    412: ("stale-version", "The reservation has changed"),
    421: ("wrong-host", "The request is for another host"),
    429: ("too-many-streams", "Too many event streams"),
    428: ("precondition-required", "The version must be said"),
    503: ("unavailable", "The controller cannot do it now"),
}


#: Problems that one answer tells; of more it says how many there are.
MOST_PROBLEMS = 100
#: What pydantic names in the place of an error, of a value that may be of several kinds (`ModifyIn.rate`).
UNION_ARMS = ("constrained-str", "RatesIn")


class ProblemResponse(JSONResponse):
    """What a request said may be told back to it even where UTF-8 has no form for it (half of a surrogate pair)."""

    media_type = MEDIA_TYPE

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def problem(request: Request, status: int, kind: str, title: str, detail: str, **more: Any) -> ProblemResponse:
    body = {
        "type": f"{PREFIX}{kind}",
        "title": title,
        "status": status,
        "detail": with_short_words(detail),
        "instance": shortened(request.url.path),
        "errors": None,
        "refusal": None,
        "current_version": None,
        "quota": None,
        **more,
    }
    headers = (
        {"Retry-After": "5"} if status in (429, 503) else {"WWW-Authenticate": "Bearer"} if status == 401 else None
    )
    return ProblemResponse(body, status, headers=headers)


def title_of(status: int) -> tuple[str, str]:
    """The type, without its prefix, and the title of what has no error of its own."""
    return _TITLES[status]


def too_large_words(most_bytes: int) -> str:
    return f"at most {most_bytes} bytes"


def answer(request: Request, status: int, words: str) -> ProblemResponse:
    """The problem of a status that a request meets before any route does."""
    return problem(request, status, *_TITLES[status], words)


def install(app: FastAPI) -> None:
    """Every error of ours, of FastAPI's and of Starlette's becomes a problem."""
    app.add_exception_handler(SlotcarError, _slotcar)
    app.add_exception_handler(UnitError, _slotcar)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RecursionError, _too_deep)
    app.add_exception_handler(Exception, _internal)


def kind_of(error: SlotcarError | UnitError) -> tuple[int, str, str]:
    """The status, the type without its prefix, and the title of an error of ours."""
    return next((s, k, t) for one, s, k, t in _KINDS if isinstance(error, one))


async def _slotcar(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, SlotcarError | UnitError)
    status, kind, title = kind_of(error)
    more: dict[str, Any] = {}
    words = str(error)
    if isinstance(error, InvalidInput):
        more["errors"] = [_error(one) for one in error.problems[:MOST_PROBLEMS]]
        words = _first_of([str(one) for one in error.problems[:MOST_PROBLEMS]], len(error.problems), "\n")
    elif isinstance(error, errors.RefusedByAdmission):
        more["refusal"] = refusal_document(error.refused)
    elif isinstance(error, ledger_errors.StaleVersion):
        more["current_version"] = error.actual
    elif isinstance(error, policy_errors.QuotaExceeded):
        more["quota"] = {
            "owner": error.owner,
            "what": error.what,
            "limit": error.limit,
            "in_use": error.in_use,
            "asked": error.requested,
        }
    return problem(request, status, kind, title, words, **more)


def _first_of(words: Sequence[str], count: int, between: str) -> str:
    """The first of `count` problems, and how many more there are."""
    rest = count - len(words)
    return between.join([*words, *([f"and {rest} more problems"] if rest else [])])


def _error(one: Problem) -> dict[str, str]:
    return {"key": one.key, "message": one.message, "value": one.value, "hint": one.hint}


async def _validation(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    wrong: list[dict[str, str]] = []
    details = error.errors()
    if any(detail["type"] == "json_invalid" for detail in details):
        return problem(request, 400, *_TITLES[400], "the body is not JSON")
    for detail in details[:MOST_PROBLEMS]:
        where, *rest = [str(part) for part in detail["loc"] if part not in UNION_ARMS] or [""]
        key = shortened(".".join(rest if where in ("body", "query", "path", "header") else [where, *rest]))
        value = detail.get("input")
        value_text = "" if value is None or isinstance(value, dict | list) else shortened(str(value), 60)
        wrong.append({"key": key, "message": with_short_words(str(detail["msg"])), "value": value_text, "hint": ""})
    words = _first_of([f"{one['key'] or 'body'}: {one['message']}" for one in wrong], len(details), "; ")
    return problem(request, 422, "invalid-input", "The request is wrong", words, errors=wrong)


#: Starlette's and FastAPI's own phrases, which say less than ours.
_BARE = ("Not Found", "Method Not Allowed", "There was an error parsing the body")
_WORDS = {
    400: "the body is not JSON",
    404: "nothing is at this path; /openapi.json lists what is",
    405: "this path does not know this method; the Allow header lists those that it does",
}


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    kind, title = _TITLES.get(error.status_code, ("error", "The request cannot be done"))
    words = _WORDS.get(error.status_code, str(error.detail)) if error.detail in _BARE else str(error.detail)
    if isinstance(error.__cause__, RecursionError):  # FastAPI's, of a body that it could not parse
        words = f"the body {TOO_DEEP}"
    response = problem(request, error.status_code, kind, title, words)
    for name, value in (error.headers or {}).items():
        response.headers[name] = value
    if error.status_code == 405:
        response.headers["Allow"] = ", ".join(_methods(request))
    return response


def _methods(request: Request) -> list[str]:
    """The methods that the path takes. Starlette names those of the first route alone, and here each method has a route."""
    methods = set()
    for template, operations in request.app.openapi()["paths"].items():
        if re.fullmatch(re.sub(r"\{[^}]+\}", "[^/]+", template), request.url.path):
            methods |= {method.upper() for method in operations}
    return sorted(methods or {"GET"})


async def _too_deep(request: Request, _error: Exception) -> JSONResponse:
    return problem(request, 400, *_TITLES[400], f"the body {TOO_DEEP}")


async def _internal(request: Request, _error: Exception) -> JSONResponse:
    """The server's log has the rest: what went wrong inside is nobody's business outside."""
    status, kind, title = INTERNAL
    return problem(request, status, kind, title, "nothing is known to have been done; the controller's log says more")
