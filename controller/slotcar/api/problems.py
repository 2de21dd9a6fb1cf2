"""Errors as RFC 9457 problem details: the sentence that the CLI prints, a type to branch on, and the numbers."""

from __future__ import annotations

import json
import re
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from slotcar.base.located_yaml import TOO_DEEP
from slotcar.base.problems import SlotcarError, shortened, with_short_words
from slotcar.base.units import UnitError
from slotcar.desk.problems import MOST_PROBLEMS, first_of, wire_problem
from slotcar_client.wire.errors import PREFIX
from slotcar_client.wire.errors import Problem as WireProblem

MEDIA_TYPE = "application/problem+json"
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
    app.add_exception_handler(WireProblem, _of_a_verb)
    app.add_exception_handler(SlotcarError, _slotcar)
    app.add_exception_handler(UnitError, _slotcar)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RecursionError, _too_deep)
    app.add_exception_handler(Exception, _internal)


async def _of_a_verb(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, WireProblem)
    more = {key: error.document[key] for key in ("errors", "refusal", "current_version", "quota")}
    return problem(request, error.status, error.kind, error.title, error.detail, **more)


async def _slotcar(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, SlotcarError | UnitError)
    return await _of_a_verb(request, wire_problem(error))


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
    words = first_of([f"{one['key'] or 'body'}: {one['message']}" for one in wrong], len(details), "; ")
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
