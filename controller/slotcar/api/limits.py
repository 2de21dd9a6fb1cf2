"""What a request may be, before anything reads it: its size, and that its body says it is JSON."""

from __future__ import annotations

from fastapi import HTTPException, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slotcar.api import problems
from slotcar.base.located_yaml import TOO_DEEP, is_too_deep
from slotcar.base.problems import InvalidInput, Problem


class LimitBody:
    """Refuses a body above the limit: by its stated length before it is read, else when so many bytes have come.

    It is no `BaseHTTPMiddleware`, because that stands between a stream of events and its reader's leaving.
    """

    def __init__(self, app: ASGIApp, max_body_bytes: int) -> None:
        self._app = app
        self._most = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        stated = dict(scope["headers"]).get(b"content-length", b"0")
        if not stated.isdigit() or int(stated) > self._most:
            await problems.answer(Request(scope), 413, problems.too_large_words(self._most))(scope, receive, send)
            return
        got = 0

        async def counted() -> Message:
            nonlocal got
            message = await receive()
            got += len(message.get("body", b""))
            if got > self._most:
                raise HTTPException(413, problems.too_large_words(self._most))
            return message

        await self._app(scope, counted, send)


async def only_known_query(request: Request) -> None:
    """A parameter that means nothing here was meant otherwise: to leave it out of account would answer another question.

    Raises:
        InvalidInput: the query has parameters that the operation's document does not name.
    """
    if not request.scope["query_string"]:
        return
    template, operations = request.scope["route"].path, request.app.openapi()["paths"]
    operation = operations.get(template, {}).get(request.method.lower(), {})
    parameters = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
    hint = f"the parameters are {', '.join(parameters)}" if parameters else "this takes no parameters"
    unknown = [name for name in dict.fromkeys(request.query_params) if name not in parameters]
    if unknown:
        raise InvalidInput(Problem("query", 0, name, "is not a known parameter", "", hint) for name in unknown)


async def few_levels(request: Request) -> None:
    """A body that is JSON is nested no deeper than a file may be. It was parsed before, and is not parsed again.

    Raises:
        HTTPException: 400.
    """
    if not (_is_json(request) and await request.body()):
        return
    try:
        is_deep = is_too_deep(await request.json())
    except ValueError:
        return  # told where it is read
    except RecursionError:
        is_deep = True
    if is_deep:
        raise HTTPException(400, f"the body {TOO_DEEP}")


def _is_json(request: Request) -> bool:
    kind = _kind_of(request)
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def _kind_of(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def json_only(request: Request) -> None:
    """
    Raises:
        HTTPException: 415, there is a body and it does not say that it is JSON.
    """
    headers = request.headers
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return
    if not _is_json(request):
        raise HTTPException(415, f"say `Content-Type: application/json`, not {_kind_of(request)[:100] or 'nothing'}")
