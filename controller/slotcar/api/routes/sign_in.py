"""What says where one may sign in for this controller (RFC 9728), open to whoever can reach it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from slotcar.api.context import TheContext

router = APIRouter()


@router.get("/.well-known/oauth-protected-resource", include_in_schema=False)
async def protected_resource(request: Request, context: TheContext) -> dict[str, Any]:
    """The issuers whose tokens are taken; of those where people sign in from a terminal, by which client."""
    issuers = [one.issuer for one in context.bearers.providers.values()]
    return {
        "resource": str(request.base_url).rstrip("/"),
        "authorization_servers": [one.url for one in issuers],
        "bearer_methods_supported": ["header"],
        "slotcar_issuers": [
            {"name": one.name, "issuer": one.url, "client_id": one.cli.client_id, "scopes": one.cli.scopes,
             "resource": one.cli.resource}
            for one in issuers if one.cli is not None
        ],
    }  # fmt: skip
