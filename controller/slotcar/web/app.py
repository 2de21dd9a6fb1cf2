"""The API with its pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from slotcar.api import app as api
from slotcar.api.context import Context
from slotcar.web import (
    account,
    approvals,
    audits,
    boundaries,
    connections,
    costs,
    devices,
    home,
    links,
    live,
    logs,
    maps,
    plans,
    policies,
    requests,
    reservations,
    rollback,
    shares,
    signing_in,
    usage,
)
from slotcar.web.assets import asset
from slotcar.web.headers import SecurityHeaders
from slotcar.web.page_threads import PageThreads
from slotcar.web.serving import WebPage, no_page, route_of

#: That there is no such page is told within it.
MISSING_S = 60.0
PAGES: tuple[WebPage, ...] = tuple(
    page
    for entity in (
        home, signing_in, boundaries, reservations, approvals, links, connections, devices, maps, rollback, requests,
        plans, usage, audits, costs, logs, policies, shares, account,
    )
    for page in entity.PAGES
)  # fmt: skip


def create_app(context: Context) -> FastAPI:
    """The application of `slotcar serve`: `/v1` for programs, everything else for people."""
    app = api.create_app(context)
    threads = PageThreads()
    app.router.routes.extend(route_of(page, context, threads) for page in PAGES)
    app.router.routes.append(Route("/live", live.endpoint_of(context), name="GET /live"))
    app.router.routes.append(Route("/assets/{hash}/{name:path}", asset, name="GET /assets"))
    app.add_exception_handler(HTTPException, _missing_for(app, context, threads))
    app.add_middleware(SecurityHeaders)
    return app


def _missing_for(
    app: FastAPI, context: Context, threads: PageThreads
) -> Callable[[Request, Exception], Awaitable[Response]]:
    """A page for a person who follows a wrong link; problem details for programs, and below `/v1`."""
    for_programs: Any = app.exception_handlers[HTTPException]

    async def missing(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        wants_page = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/v1/")
        if not wants_page or error.status_code not in (404, 405):
            answer: Response = await for_programs(request, error)
            return answer
        return await threads.run(partial(no_page, context, request, error), MISSING_S, "no page")

    return missing
