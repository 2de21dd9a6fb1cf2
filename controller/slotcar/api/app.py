"""The API: the verbs under `/v1`, with an OpenAPI document that says every answer, errors included."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles

from slotcar.api import nsi, problems
from slotcar.api.context import Context
from slotcar.api.limits import LimitBody, few_levels, only_known_query
from slotcar.api.openapi import DESCRIPTION, TAGS, complete
from slotcar.api.origin import CheckOrigin
from slotcar.api.proxies import ForwardedHeaders
from slotcar.api.routes import events, health, planning, sign_in
from slotcar.api.verbs import router_of

#: In the order of the document: families of verbs, and what is written by hand.
PARTS: tuple[str | APIRouter, ...] = (
    *("reservations", "delegations", "shares", "connections", "slss", "groups", "offers", "costs", "policies"),
    *(planning.router, "plans"),
    *("views", "usage", "audits", events.router),
    *("webhooks", "devices", health.router, sign_in.router),
)
#: Swagger UI, as its makers publish it: the page must open in a network that reaches no other server.
STATIC = Path(__file__).parent / "static"


def create_app(context: Context) -> FastAPI:
    """The application."""
    app = app_with_routes()
    app.state.context = context
    if context.nsi is not None:
        app.include_router(nsi.router)
    settings = context.desk.settings
    app.add_middleware(LimitBody, max_body_bytes=settings.max_body_bytes)
    app.add_middleware(CheckOrigin, hosts=(settings.listen_host, *settings.hosts))
    app.add_middleware(ForwardedHeaders, trusted=settings.trusted_proxies, troubles=context.proxies)
    app.openapi = _document  # type: ignore[method-assign]
    _document()  # the first request would wait for it: queries are checked against it
    return app


def openapi_document() -> dict[str, Any]:
    """A copy, which may be changed."""
    return deepcopy(_document())


@cache
def _document() -> dict[str, Any]:
    """The same for every application of a process."""
    return complete(app_with_routes().openapi())


def app_with_routes() -> FastAPI:
    """The application without what it answers from: it only describes itself."""
    app = FastAPI(
        title="Slotcar",
        version=version("slotcar"),
        description=DESCRIPTION,
        openapi_tags=TAGS,
        docs_url=None,
        redoc_url=None,
        dependencies=[Depends(only_known_query), Depends(few_levels)],
        generate_unique_id_function=lambda route: route.name,
    )
    for part in PARTS:
        app.include_router(router_of(part) if isinstance(part, str) else part)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_api_route("/docs", _docs, include_in_schema=False)
    problems.install(app)
    return app


def _docs() -> HTMLResponse:
    return get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="Slotcar's API",
        swagger_js_url="/static/swagger-ui/swagger-ui-bundle.js",
        swagger_css_url="/static/swagger-ui/swagger-ui.css",
        swagger_favicon_url="/static/swagger-ui/favicon-32x32.png",
    )
