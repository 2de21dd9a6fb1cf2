"""`python -m benchmarks.api.serving URL FOLDER`: the application of `slotcar serve` over a ledger, and a bare endpoint of
the same framework and server on another port. It says both ports, and a token, and serves until it is told to stop.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from benchmarks.api.process import HOST
from benchmarks.web.world import world
from slotcar.api.connections import connection_options
from slotcar.api.context import Context
from slotcar.api.listening import bound
from slotcar.api.serving import exempt_from_collections
from slotcar.auth.tokens import TokenStore, create_token
from slotcar.base.settings import Settings
from slotcar.base.timebase import SYSTEM
from slotcar.book.rules.roles import Role
from slotcar.desk.desk import Desk
from slotcar.store import open_ledger
from slotcar.web.app import create_app


def main(url: str, folder: Path) -> None:
    settings = Settings(state_dir=folder, inventory=folder, max_connections_per_client=256)
    token = create_token(settings.tokens_path, "bench", Role.OPERATOR, "bench", SYSTEM.now())
    with open_ledger(url, folder) as ledger, bound(HOST, 0) as sockets, bound(HOST, 0) as bare_sockets:
        app = create_app(Context(Desk(ledger, world().network, settings), TokenStore(settings.tokens_path)))
        exempt_from_collections()
        servers = [(_server(app, settings), sockets), (_server(bare(), settings), bare_sockets)]
        for listening in (*sockets, *bare_sockets):
            listening.listen(64)
        ports = [one[0].getsockname()[1] for one in (sockets, bare_sockets)]
        print(json.dumps([*ports, token]), flush=True)

        async def serve() -> None:
            await asyncio.gather(*(server.serve(sockets=where) for server, where in servers))

        asyncio.run(serve())


def _server(app: FastAPI, settings: Settings) -> uvicorn.Server:
    options = connection_options(settings)
    return uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", **options))


def bare() -> FastAPI:
    """An application whose only endpoint does nothing."""
    app = FastAPI()

    @app.get("/")
    async def nothing() -> dict[str, str]:
        return {"status": "ok"}

    return app


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
