"""Files that pages load, by addresses that hold a hash of their content: a browser keeps them for ever."""

from __future__ import annotations

import hashlib
import mimetypes
from functools import cache
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

STATIC = Path(__file__).parent / "static"
FOR_EVER = "public, max-age=31536000, immutable"
_HASH_LENGTH = 12


@cache
def _files() -> dict[str, bytes]:
    """Every file below `static/`, by its path there."""
    return {str(file.relative_to(STATIC)): file.read_bytes() for file in sorted(STATIC.rglob("*")) if file.is_file()}


@cache
def address_of(name: str) -> str:
    """`/assets/3f2a…/app.css`, for a file below `static/`.

    Raises:
        KeyError: there is none.
    """
    return f"/assets/{hashlib.sha256(_files()[name]).hexdigest()[:_HASH_LENGTH]}/{name}"


async def asset(request: Request) -> Response:
    """The file, where the hash is its own: an old page gets a new file under no old address."""
    name = request.path_params["name"]
    if name not in _files() or request.url.path != address_of(name):
        raise HTTPException(404, f"there is no file {request.url.path}")
    kind = mimetypes.guess_type(name)[0] or "text/plain"
    return Response(_files()[name], media_type=kind, headers={"Cache-Control": FOR_EVER})
