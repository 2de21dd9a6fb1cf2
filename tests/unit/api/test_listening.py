"""The sockets that the API listens on: what a connection has that comes in by one."""

from __future__ import annotations

import asyncio
import socket

from slotcar.api.connections import BACKLOG
from slotcar.api.listening import bound, listen


def test_a_connection_sends_the_parts_of_an_answer_without_waiting_for_acknowledgements() -> None:
    """asyncio sets TCP_NODELAY where a socket says that it is TCP's. Without it every answer on a kept connection, whose
    head and body are two segments, waited for the client's delayed acknowledgement."""

    async def options(listener: socket.socket) -> list[int]:
        taken: asyncio.Queue[int] = asyncio.Queue()

        async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            await taken.put(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(serve, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname()[:2])
            option = await taken.get()
            writer.close()
            await writer.wait_closed()
            return [option]

    with bound("localhost", 0) as sockets:
        listen(sockets, BACKLOG)
        for listener in sockets:
            assert asyncio.run(options(listener)) == [1], listener
