"""Hands on what connects: `python relay.py FROM TO`, each a Unix socket's path or HOST:PORT.

The standard library alone: it runs on hosts of the lab.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress


async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while body := await source.read(65_536):
            sink.write(body)
            await sink.drain()
    sink.close()


async def connect(to: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if to.startswith("/"):
        return await asyncio.open_unix_connection(to)
    host, _, port = to.rpartition(":")
    return await asyncio.open_connection(host, int(port))


async def main(listen: str, to: str) -> None:
    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await connect(to)
        except OSError:
            writer.close()
            return
        await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))

    if listen.startswith("/"):
        server = await asyncio.start_unix_server(relay, listen)
    else:
        host, _, port = listen.rpartition(":")
        server = await asyncio.start_server(relay, host, int(port))
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
