"""A router's command line over SSH: log in, enable, ask, configure, copy a file. No more IOS than that."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

import asyncssh

from slotcar.rollout.fanout.login import Login
from slotcar.rollout.transport import DeviceError, Unreachable

#: `router>`, `router#`, `router(config-if)#` at the end of what was printed.
_PROMPT = re.compile(r"(?:^|[\r\n])([\w.:/@-]+)(\([\w.:/@+ -]+\))?([>#]) ?$")
#: A question that has its answer in brackets, such as `Destination filename [running-config]?`.
_QUESTION = re.compile(r"(\[[^\]\r\n]*\]\s*\??|\[confirm\])\s*$")
_PASSWORD = re.compile(r"[Pp]assword:\s*$")
#: asyncssh's own, with those first that OpenSSL does in one call a packet.
_CIPHERS = "^aes128-gcm@openssh.com,aes256-gcm@openssh.com"
_MORE = re.compile(r"--More--\s*$")
#: What IOS prints where it did not do it; a lone `%` begins its mere remarks, too.
REFUSED = re.compile(
    r"^%\s*(?:Invalid|Incomplete|Ambiguous|Unrecognized|Unknown|Error|Bad|Cannot|Can't|Not|policy map|Class|class|Policy"
    r"|service-policy|No such|Rejected|.*not (?:configured|supported|allowed|found|defined|valid)|.*(?:is being used|failed"
    r"|already)).*$",
    re.MULTILINE,
)


class CommandLine:
    """One login. Not for concurrent use."""

    def __init__(self, name: str, login: Login) -> None:
        self._name = name
        self._login = login
        self._connection: asyncssh.SSHClientConnection | None = None
        self._process: asyncssh.SSHClientProcess[str] | None = None

    async def open(self) -> None:
        """
        Raises:
            Unreachable: no connection, another host key, or refused.
        """
        login = self._login
        known_hosts = str(login.known_hosts) if login.known_hosts else ()
        try:
            async with asyncio.timeout(login.answer_s):
                self._connection = await asyncssh.connect(
                    login.host, login.port, username=login.user, password=login.password, known_hosts=known_hosts or (),
                    client_keys=[str(login.key_file)] if login.key_file else None, agent_path=None, config=None,
                    preferred_auth="publickey,keyboard-interactive,password", keepalive_interval=15,
                    encryption_algs=_CIPHERS,
                )  # fmt: skip
                self._process = await self._connection.create_process(
                    term_type="vt100", term_size=(511, 0), encoding="latin-1"
                )
                await self._ready()
        except asyncssh.PermissionDenied:
            raise Unreachable(f"{self._name}: {login.host}:{login.port} does not let {login.user} in") from None
        except asyncssh.HostKeyNotVerifiable:
            raise Unreachable(
                f"{self._name}: the host key of {login.host}:{login.port} is not the one that is known; if it was"
                f" changed on purpose, put the new one into {login.known_hosts or '~/.ssh/known_hosts'}"
            ) from None
        except TimeoutError:
            raise Unreachable(
                f"{self._name}: {login.host}:{login.port} did not answer within {login.answer_s:g} s"
            ) from None
        except (OSError, asyncssh.Error) as error:
            raise Unreachable(f"{self._name}: {login.host}:{login.port}: {error}") from None

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.abort()
            self._connection = None

    async def ask(self, command: str) -> str:
        """What a command printed, without its echo.

        Raises:
            DeviceError: no answer, or the session ended.
        """
        return await self._send(command)

    async def tell(self, command: str) -> str:
        """Like `ask`, for what changes something.

        Raises:
            DeviceError: the router refused it.
        """
        printed = await self._send(command)
        if refused := REFUSED.search(printed):
            raise DeviceError(f"{self._name}: `{command}`: {refused[0].strip()}")
        return printed

    async def configure(self, lines: Iterable[str]) -> None:
        """Lines of configuration, one by one, each taken when it is its turn; stops at the first that is refused.

        Raises:
            DeviceError: the router refused one.
        """
        await self.tell("configure terminal")
        try:
            for line in lines:
                await self.tell(line.strip())
        finally:
            await self._send("end")

    async def put(self, text: str, path: str) -> None:
        """Writes a file on the router, over a connection's second channel.

        Raises:
            DeviceError: it takes no files.
        """
        if self._connection is None:
            raise DeviceError(f"{self._name}: not connected")
        with tempfile.TemporaryDirectory(prefix="slotcar-") as folder:
            file = Path(folder) / "staged"
            file.write_text(text, encoding="latin-1")
            try:
                async with asyncio.timeout(self._login.answer_s):
                    await asyncssh.scp(str(file), (self._connection, path))
            except (OSError, asyncssh.Error, TimeoutError) as error:
                why = str(error) or "it takes too long"
                raise DeviceError(f"{self._name}: {path} could not be written: {why}") from None

    async def _ready(self) -> None:
        printed = await self._until_prompt()
        if not printed.endswith("#"):
            await self._enable()
        for command in ("terminal length 0", "terminal width 511"):
            await self._send(command)

    async def _enable(self) -> None:
        self._write("enable")
        printed = await self._until_prompt(password=True)
        if _PASSWORD.search(printed):
            self._write(self._login.enable_password or self._login.password or "")
            printed = await self._until_prompt(password=True)
        if not printed.endswith("#"):
            raise Unreachable(f"{self._name}: {self._login.user} may not `enable`; set ansible_become_password")

    def _write(self, line: str) -> None:
        if self._process is None:
            raise DeviceError(f"{self._name}: not connected")
        self._process.stdin.write(f"{line}\n")

    async def _send(self, command: str) -> str:
        try:
            async with asyncio.timeout(self._login.answer_s):
                self._write(command)
                printed = await self._until_prompt()
        except TimeoutError:
            raise DeviceError(f"{self._name}: no answer to `{command}` within {self._login.answer_s:g} s") from None
        except (OSError, asyncssh.Error) as error:
            raise DeviceError(f"{self._name}: the session ended at `{command}`: {error}") from None
        lines = printed.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        # The first line is the echo, the last one the prompt.
        return "\n".join(lines[1:-1])

    async def _until_prompt(self, *, password: bool = False) -> str:
        assert self._process is not None
        printed = ""
        while True:
            piece = await self._process.stdout.read(65536)
            if not piece:
                raise DeviceError(f"{self._name}: the router ended the session")
            printed += piece
            tail = printed[-400:]
            if _PROMPT.search(tail):
                return printed.rstrip(" ")
            if password and _PASSWORD.search(tail):
                return printed
            if _MORE.search(tail):
                self._process.stdin.write(" ")
                printed = _MORE.sub("", printed)
            elif _QUESTION.search(tail):
                self._process.stdin.write("\n")
