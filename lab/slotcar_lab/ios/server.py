"""A router's SSH server: logins, sessions, scp."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Callable, Iterable
from typing import cast

import asyncssh

from slotcar_lab.ios import scp
from slotcar_lab.ios.faults import SessionDropped, WrongPassword
from slotcar_lab.ios.flash import BYTES
from slotcar_lab.ios.machine import Machine
from slotcar_lab.ios.shell import Shell

_LOG = logging.getLogger(__name__)
_Channel = asyncssh.SSHServerChannel[bytes]


class Door(asyncssh.SSHServer):
    """One connection: who may come in."""

    def __init__(self, machine: Machine, connections: set[asyncssh.SSHServerConnection]) -> None:
        self.machine = machine
        self.connections = connections
        self.connection: asyncssh.SSHServerConnection | None = None
        self.user = ""

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self.connection = conn
        self.connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.connection:
            self.connections.discard(self.connection)

    def begin_auth(self, username: str) -> bool:
        self.user = username
        return True

    def password_auth_supported(self) -> bool:
        return bool(self.machine.account.password)

    def validate_password(self, username: str, password: str) -> bool:
        account = self.machine.account
        return not self.machine.faults.has(WrongPassword) and (username, password) == (account.user, account.password)

    def public_key_auth_supported(self) -> bool:
        return bool(self.machine.account.authorized_keys)

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        account = self.machine.account
        given = key.export_public_key().decode().split()[:2]
        known = [each.split()[:2] for each in account.authorized_keys]
        return not self.machine.faults.has(WrongPassword) and username == account.user and given in known

    def session_requested(self) -> Session:
        return Session(self.machine, self.user)


#: How many bytes a router sends at a time, over and over: single ones of an echo, halves of lines, much of a long answer.
PIECES = (1, 3, 40, 1, 700, 2, 1400, 11)


class Outbox:
    """What a router has printed and not sent yet. It leaves piece by piece, each in a packet of its own.

    Args:
        send: sends bytes at once.
    """

    def __init__(self, send: Callable[[bytes], None], sizes: Iterable[int] = PIECES) -> None:
        self._send = send
        self._sizes = itertools.cycle(sizes)
        self._waiting = bytearray()
        self._sending: asyncio.Task[None] | None = None

    def put(self, data: bytes) -> None:
        self._waiting += data
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._drain())

    async def empty(self) -> None:
        """Waits until all is sent."""
        if self._sending is not None:
            await self._sending

    def drop(self) -> None:
        """Loses what is not sent yet."""
        self._waiting.clear()

    async def _drain(self) -> None:
        while self._waiting:
            size = next(self._sizes)
            piece = bytes(self._waiting[:size])
            del self._waiting[:size]
            self._send(piece)
            await asyncio.sleep(0)


class Session(asyncssh.SSHServerSession[bytes]):
    """A shell, one command, or one file."""

    def __init__(self, machine: Machine, user: str) -> None:
        self.machine = machine
        self.user = user
        self.reader = asyncio.StreamReader()
        self.shell: Shell | None = None
        self.command = ""
        self.outbox = Outbox(self._write)
        self.task: asyncio.Task[None] | None = None

    def connection_made(self, chan: _Channel) -> None:
        self.channel = chan

    def pty_requested(self, term_type: str, term_size: object, term_modes: object) -> bool:
        return True

    def shell_requested(self) -> bool:
        self.shell = Shell(self.machine, self.user, self._write_text, self.machine.account.privilege)
        return True

    def exec_requested(self, command: str) -> bool:
        self.command = command
        return True

    def session_started(self) -> None:
        self.task = asyncio.get_running_loop().create_task(self._serve())

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        if self.shell:
            self.shell.feed(data.decode(errors=BYTES))
        else:
            self.reader.feed_data(data)

    def eof_received(self) -> bool:
        self._end()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        if self.task:
            self.task.cancel()

    def _end(self) -> None:
        if self.shell:
            self.shell.close()
        else:
            self.reader.feed_eof()

    async def _serve(self) -> None:
        status = 0
        try:
            if self.shell:
                await self.shell.run()
            elif copy := scp.wanted(self.command):
                status = await scp.serve(self.machine, *copy, self.reader, self._write)
            else:
                await self._one_command()
        except SessionDropped:
            # The whole connection goes, without a word: what a router does that loses its line.
            self.outbox.drop()
            cast(asyncssh.SSHServerConnection, self.channel.get_connection()).abort()
            return
        except asyncio.IncompleteReadError:
            status = 1
        except Exception:
            # Of the emulator itself: who waits for an answer must not wait for ever.
            _LOG.exception("%s: a session failed", self.machine.name)
            status = 1
        await self.outbox.empty()
        with contextlib.suppress(OSError):
            self.channel.exit(status)

    async def _one_command(self) -> None:
        shell = Shell(self.machine, self.user, self._write_text, self.machine.account.privilege)
        shell.length = 0
        await shell.run_command(self.command, 0)
        shell.flush()

    def _write_text(self, text: str) -> None:
        self.outbox.put(text.encode(errors=BYTES))

    def _write(self, data: bytes) -> None:
        if not self.channel.is_closing():
            self.channel.write(data)


async def listen(
    machine: Machine, address: str, port: int, key: asyncssh.SSHKey, connections: set[asyncssh.SSHServerConnection]
) -> asyncssh.SSHAcceptor:
    """
    Raises:
        OSError: the port is taken.
    """
    return await asyncssh.create_server(
        lambda: Door(machine, connections),
        address,
        port,
        server_host_keys=[key],
        encoding=None,
        kbdint_auth=False,
        gss_host=None,
        server_version="Cisco-1.25",
        compression_algs=None,
    )
