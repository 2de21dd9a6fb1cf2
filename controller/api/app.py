"""The API: the verbs under `/v1`, with an OpenAPI document that says every answer, errors included."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi

from controller.api import problems
from controller.api.context import Context
from controller.api.models import EXAMPLE_RESERVATION, ProblemOut
from controller.api.routes import health, planning, reservations, viewing
from controller.reservation import json_schema, reservation_schema

DESCRIPTION = """Reserve bandwidth for a time slot and have the routers do it.

Times are RFC 3339 with a zone; windows are half-open, `[start, end)`. Answers have integers with their units in their
names; requests have texts with units, as reservation files do. Errors are problem details (RFC 9457)."""
#: Which requests have which schema: what a reservation file says, said once.
_BODIES = {
    ("/v1/reservations", "post"): "ReservationIn",
    ("/v1/enquiries", "post"): "EnquiryIn",
    ("/v1/plans", "post"): "ReservationFileIn",
    ("/v1/applies", "post"): "PlanIn",
}
_COMMON = (401, 403, 413, 422, 503)
_OF_ROUTE = {
    ("/v1/reservations", "post"): (409,),
    ("/v1/reservations/{handle}", "get"): (404,),
    ("/v1/reservations/{handle}", "patch"): (404, 409, 412, 428),
    ("/v1/reservations/{handle}/bind", "post"): (404, 409, 412, 428),
    **{
        (f"/v1/reservations/{{handle}}/{verb}", "post"): (404, 409)
        for verb in ("commit", "extend", "cancel", "approve", "reject")
    },
    ("/v1/plans", "post"): (409,),
    ("/v1/applies", "post"): (409,),
    ("/v1/configurations", "get"): (404, 409),
}


def create_app(context: Context | None, max_body_bytes: int = 1_000_000) -> FastAPI:
    """The application; without a context it only describes itself."""
    app = FastAPI(
        title="Slotcar", version=version("slotcar"), description=DESCRIPTION, docs_url="/docs", redoc_url=None
    )
    app.state.context = context
    for module in (reservations, planning, viewing, health):
        app.include_router(module.router)
    problems.install(app)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]

    @app.middleware("http")
    async def limit_body(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        length = request.headers.get("content-length", "0")
        too_long = not length.isdigit() or int(length) > max_body_bytes
        if too_long or "chunked" in request.headers.get("transfer-encoding", ""):
            words = f"at most {max_body_bytes} bytes, with a Content-Length"
            return problems.problem(request, 413, "too-large", "The request is too large", words)
        return await go_on(request)

    return app


def openapi_document() -> dict[str, Any]:
    return create_app(None).openapi()


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema:
        return app.openapi_schema
    document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    schemas = document["components"]["schemas"]
    schemas["ProblemOut"] = ProblemOut.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= schemas["ProblemOut"].pop("$defs", {})
    schemas |= _request_schemas()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _describe(operation, path, method)
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    app.openapi_schema = document
    return document


def _request_schemas() -> dict[str, Any]:
    reservation = reservation_schema()
    needed = [key for key in reservation["required"] if key != "owner"]
    file_schema = {key: value for key, value in json_schema().items() if not key.startswith("$")}
    return {
        "ReservationIn": reservation | {"required": needed, "examples": [EXAMPLE_RESERVATION]},
        "EnquiryIn": reservation | {"required": [key for key in needed if key != "name"]},
        "ReservationFileIn": file_schema,
        "PlanIn": {"type": "object", "description": "What POST /v1/plans answered.", "required": ["format", "steps"]},
    }


def _describe(operation: dict[str, Any], path: str, method: str) -> None:
    if (path, method) in _BODIES:
        reference = {"$ref": f"#/components/schemas/{_BODIES[path, method]}"}
        operation["requestBody"]["content"] = {"application/json": {"schema": reference}}
    if not path.startswith("/v1"):
        operation["responses"].pop("422", None)
        return
    for status in (*_COMMON, *_OF_ROUTE.get((path, method), ())):
        operation["responses"][str(status)] = {
            "description": "What is wrong, and what would be right",
            "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemOut"}}},
        }
