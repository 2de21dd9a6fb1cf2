"""Pages as routes: who asks is found out once, a form is taken from this site alone, errors become pages."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import parse_qs, quote

import structlog
from anyio.lowlevel import EventLoopToken, current_token
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from slotcar.api import problems
from slotcar.api.context import LOCAL, Context
from slotcar.api.origin import is_foreign
from slotcar.auth.sessions import USUAL_ZONE, Sessions, SignedIn
from slotcar.base.lengths import too_long
from slotcar.base.problems import InvalidInput, Problem, SlotcarError, with_short_words
from slotcar.base.texts import lines_of
from slotcar.base.units import UnitError
from slotcar.book.rules.roles import Caller, NotAllowed
from slotcar.desk.problems import MOST_PROBLEMS, kind_of
from slotcar.policy.asking import require_sending
from slotcar.web.navigation import links_for
from slotcar.web.page_threads import PageThreads
from slotcar.web.rendering import render
from slotcar.web.times import Clock
from slotcar.web.visit import Answer, Data, Moved, Visit, form_of
from slotcar_client.wire.errors import Problem as WireProblem

log = structlog.get_logger("slotcar.web")
COOKIE, COOKIE_OVER_TLS = "slotcar-session", "__Host-slotcar-session"
#: What a browser keeps while it is under way to an issuer.
BROWSER, BROWSER_OVER_TLS = "slotcar-sign-in", "__Host-slotcar-sign-in"
SIGN_IN = "/sign-in"


@dataclass(frozen=True, slots=True)
class WebPage:
    """One address of the page.

    Attributes:
        query: the keys that its address may have.
        verb: of the API, which policies are asked about before the page is shown; those that the page asks about itself
            are not here.
        open: asked by who has not signed in, too; its visit stands for nobody then.
        most_s: how long it may take.
    """

    path: str
    view: Callable[[Visit], Answer]
    method: str = "GET"
    query: tuple[str, ...] = ()
    verb: str = ""
    open: bool = False
    most_s: float = 60.0


#: Of a page that waits for routers, or for plans before its own.
LONG_S = 600.0


def route_of(page: WebPage, context: Context, threads: PageThreads) -> Route:
    async def endpoint(request: Request) -> Response:
        body = await request.body() if page.method == "POST" else b""
        make = partial(_answer, page, context, request, body, current_token())
        try:
            return await threads.run(make, page.most_s, f"{page.method} {page.path}")
        except HTTPException as error:
            return _cannot_be_done(request, None, context.now(), error)

    return Route(page.path, endpoint, methods=[page.method], name=f"{page.method} {page.path}")


def no_page(context: Context, request: Request, error: HTTPException) -> Response:
    """For an address that is no page's."""
    now, visit = context.now(), None
    try:
        sessions = sessions_of(context)
        signed = signed_in(request, sessions, now)
        caller = signed.caller if signed else sessions.anyone
        if caller is not None:
            clock = Clock(signed.session.zone if signed else USUAL_ZONE, now)
            visit = Visit(context, sessions, caller, signed.session if signed else None, clock)
    except SlotcarError:
        visit = None  # who asks is not found out now, and need not be to be told this
    words = "there is no such page" if error.status_code == 404 else str(error.detail)
    return _failed(request, visit, now, error.status_code, problems.title_of(error.status_code)[1], words, "")


def sessions_of(context: Context) -> Sessions:
    settings = context.desk.settings
    anyone = context.local if settings.open and settings.loopback else None
    return Sessions(context.desk.ledger.sessions, context.tokens, anyone)


def signed_in(request: Request, sessions: Sessions, now: datetime) -> SignedIn | None:
    session_id = request.cookies.get(_cookie_name(request), "")
    return sessions.find(session_id, now) if session_id else None


def _cookie_name(request: Request) -> str:
    return COOKIE_OVER_TLS if request.url.scheme == "https" else COOKIE


def _browser_name(request: Request) -> str:
    return BROWSER_OVER_TLS if request.url.scheme == "https" else BROWSER


def _answer(page: WebPage, context: Context, request: Request, body: bytes, event_loop: EventLoopToken) -> Response:
    now, sessions = context.now(), sessions_of(context)
    visit: Visit | None = None
    caller: Caller | None = None
    try:
        _require_own_form(page, request)
        signed = signed_in(request, sessions, now)
        caller = signed.caller if signed else sessions.anyone
        if caller is None and not page.open:
            return _to_sign_in(request)
        clock = Clock(signed.session.zone if signed else USUAL_ZONE, now)
        visit = Visit(
            context, sessions, caller or LOCAL, signed.session if signed else None, clock, request.path_params,
            event_loop=event_loop, origin=f"{request.url.scheme}://{request.headers['host']}",
            browser=request.cookies.get(_browser_name(request), ""),
        )  # fmt: skip
        if page.verb and caller is not None:
            require_sending(caller, page.verb)
        answer = page.view(_with_parameters(visit, page, request, body))
        return _response(answer, request, visit if caller else None, clock)
    except WireProblem as error:
        shown_to = visit if caller else None
        return _failed(request, shown_to, now, error.status, error.title, error.detail, error.kind)
    except (SlotcarError, UnitError) as error:
        status, kind, title = kind_of(error)
        return _failed(request, visit if caller else None, now, status, title, str(error), kind)
    except HTTPException as error:
        return _cannot_be_done(request, visit if caller else None, now, error)
    except Exception:
        log.exception("a page failed", path=request.url.path)
        return _failed(
            request, visit if caller else None, now, 500, problems.INTERNAL[2], "the controller's log says more", ""
        )


def _cannot_be_done(request: Request, visit: Visit | None, now: datetime, error: HTTPException) -> Response:
    return _failed(request, visit, now, error.status_code, "This cannot be done", str(error.detail), "")


def _require_own_form(page: WebPage, request: Request) -> None:
    """A form of another site is refused, and so is one of which a browser does not say whose it is.

    Raises:
        HTTPException: 403.
    """
    if page.method == "GET":
        return
    says_origin = "sec-fetch-site" in request.headers or "origin" in request.headers
    if not says_origin or is_foreign(page.method, request.headers):
        raise HTTPException(403, "the form comes from another site, or from a browser that does not say where from")


def _with_parameters(visit: Visit, page: WebPage, request: Request, body: bytes) -> Visit:
    """
    Raises:
        InvalidInput: the address has a key that means nothing here, or the form is none.
    """
    query = parse_qs(request.url.query, keep_blank_values=True, max_num_fields=100)
    if unknown := sorted(set(query) - set(page.query)):
        hint = f"those are {', '.join(page.query)}" if page.query else "this page takes none"
        raise InvalidInput([Problem("query", 0, name, "is not a known parameter", "", hint) for name in unknown])
    form = form_of(body) if page.method == "POST" else {}
    given = {"path": request.path_params, "query": query, "request": form}
    long_texts = [(source, one) for source, texts in given.items() for one in too_long(texts)]
    if long_texts:
        raise InvalidInput(
            Problem(source, 0, one.path.partition("[")[0], "is too long", "", one.hint) for source, one in long_texts
        )
    return replace(visit, query=query, form=form)


def _to_sign_in(request: Request) -> Response:
    """A fragment's reader goes there as a whole: swapped in, the form would stand in a table."""
    back = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    wanted = f"{SIGN_IN}?next={quote(back, safe='')}" if request.method == "GET" and not _is_part(request) else SIGN_IN
    if _is_part(request) or request.headers.get("sec-fetch-dest") == "empty":
        return Response(status_code=401, headers={"HX-Redirect": SIGN_IN, "Cache-Control": "no-store"})
    return RedirectResponse(wanted, 303, headers={"Cache-Control": "no-store"})


def _is_part(request: Request) -> bool:
    return "hx-request" in request.headers


def _response(answer: Answer, request: Request, visit: Visit | None, clock: Clock) -> Response:
    headers = {"Cache-Control": "no-store", "Vary": "HX-Request, Cookie"}
    if isinstance(answer, Data):
        if answer.file_name:
            headers["Content-Disposition"] = f'attachment; filename="{answer.file_name}"'
        body = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
        return Response(body, media_type=answer.media_type, headers=headers)
    if isinstance(answer, Moved):
        moved = _moved(answer, request, headers)
        if answer.cookie is not None:
            _keep_cookie(moved, request, _cookie_name(request), answer.cookie)
        if answer.browser is not None:
            _keep_cookie(moved, request, _browser_name(request), answer.browser)
        return moved
    model = {**_usual(request, visit, clock), **answer.model}
    template = answer.template
    if answer.heading and not _is_part(request):
        template, model = "wrapped.html", {**model, "heading": answer.heading, "part_template": template}
    shown = HTMLResponse(render(template, model), answer.status, headers=headers)
    if answer.forgets:
        _keep_cookie(shown, request, _cookie_name(request), "")
    return shown


def _moved(answer: Moved, request: Request, headers: dict[str, str]) -> Response:
    if _is_part(request):
        return Response(status_code=204, headers=headers | {"HX-Redirect": answer.to})
    return RedirectResponse(answer.to, 303, headers=headers)


def _keep_cookie(response: Response, request: Request, name: str, value: str) -> None:
    secure = request.url.scheme == "https"
    if value:
        response.set_cookie(name, value, path="/", secure=secure, httponly=True, samesite="lax")
    else:
        response.delete_cookie(name, path="/", secure=secure, httponly=True, samesite="lax")


def _usual(request: Request, visit: Visit | None, clock: Clock) -> dict[str, Any]:
    """What every template may use."""
    return {
        "clock": clock,
        "caller": visit.caller if visit else None,
        "links": links_for(visit.caller, request.url.path) if visit else (),
        "here": request.url.path,
        "address": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        "version": request.app.version,
        "sequence": None,
    }


def _few(lines: list[str]) -> list[str]:
    """No more problems than the API tells at a time."""
    rest = len(lines) - MOST_PROBLEMS
    return lines if rest <= 0 else [*lines[:MOST_PROBLEMS], f"and {rest} more problems"]


def _failed(
    request: Request, visit: Visit | None, now: datetime, status: int, title: str, words: str, kind: str
) -> Response:
    """A whole page, or where a part was asked for, a part: what was refused is told where it was asked."""
    clock = visit.clock if visit else Clock(USUAL_ZONE, now)
    template = "problem_part.html" if _is_part(request) else "problem.html"
    forbidden = status == 403 and kind == kind_of(NotAllowed(""))[1]
    model = {
        **_usual(request, visit, clock), "status": status, "title": title, "lines": _few(lines_of(with_short_words(words))),
        "forbidden": forbidden,
    }  # fmt: skip
    return HTMLResponse(
        render(template, model), status, headers={"Cache-Control": "no-store", "Vary": "HX-Request, Cookie"}
    )
