"""A router's command line over SSH: log in, enable, ask, configure, copy a file. No more IOS than that."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import count, repeat
from pathlib import Path

import asyncssh

from slotcar.rollout.fanout.login import Login
from slotcar.rollout.host_keys import file_of, host_key_words, read_once
from slotcar.rollout.ios.dialog import FIRST, OutOfStep, PrintedAnswer, Prompts, may_be_prompt, prompts_of
from slotcar.rollout.transport import DeviceError, Unreachable

#: asyncssh's own, with those first that OpenSSL does in one call a packet.
_CIPHERS = "^aes128-gcm@openssh.com,aes256-gcm@openssh.com"
#: Typed at login after `FIRST`; what the router logs must not come between a line and its answer.
_SETTINGS = ("terminal width 511", "terminal no monitor")
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
        self._prompts = Prompts("")
        self._marks = count(1)

    async def open(self) -> None:
        """
        Raises:
            Unreachable: no connection, another host key, or refused.
        """
        login = self._login
        try:
            async with asyncio.timeout(login.answer_s):
                await self._connect()
                await self._ready()
        except asyncssh.PermissionDenied:
            raise Unreachable(f"{self._name}: {login.host}:{login.port} does not let {login.user} in") from None
        except asyncssh.HostKeyNotVerifiable:
            raise Unreachable(f"{self._name}: {host_key_words(login)}") from None
        except TimeoutError:
            raise Unreachable(
                f"{self._name}: {login.host}:{login.port} did not answer within {login.answer_s:g} s"
            ) from None
        except (OSError, asyncssh.Error) as error:
            raise Unreachable(f"{self._name}: {login.host}:{login.port}: {error}") from None

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.abort()
        self._connection = self._process = None

    async def ask(self, command: str) -> str:
        """What a command printed, without its echo. It may hold what people wrote, also lines like this router's prompt.

        Raises:
            DeviceError: no answer, or the session ended.
        """
        return await self._send(command, marked=True)

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
                await self.tell(line.strip(" "))
        except BaseException:
            with suppress(DeviceError):  # the session may have ended; what it was first is told
                await self._send("end")
            raise
        # The answer to the last line is known to be its own when the next one's begins with its echo.
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

    async def _connect(self) -> None:
        login = self._login
        file = file_of(login)
        known_hosts = read_once(asyncssh.read_known_hosts, file) if file else b""
        self._connection = await asyncssh.connect(
            login.host, login.port, username=login.user, password=login.password, known_hosts=known_hosts,
            client_keys=[str(login.key_file)] if login.key_file else None, agent_path=None, config=None,
            preferred_auth="publickey,keyboard-interactive,password", keepalive_interval=15,
            encryption_algs=_CIPHERS,
        )  # fmt: skip
        self._process = await self._connection.create_process(
            term_type="vt100", term_size=(511, 0), encoding="latin-1"
        )

    async def _ready(self) -> None:
        """Learns the router's prompt: what stands before the echo of the first line that is typed."""
        printed = ""
        while not may_be_prompt(printed):
            printed += await self._read()
        self._write(FIRST)
        while (prompts := prompts_of(printed)) is None:
            printed += await self._read()
        self._prompts = prompts
        if REFUSED.search(printed.replace("\r", "").rpartition(f"{FIRST}\n")[2]):
            raise Unreachable(
                f"{self._name}: {self._login.user} may not `{FIRST}`, and pages cannot be told from text"
            )
        if not printed.rstrip(" ").endswith("#"):
            await self._enable()
        for command in _SETTINGS:
            await self._send(command)

    async def _enable(self) -> None:
        why = f"{self._name}: {self._login.user} may not `enable`; set ansible_become_password"
        try:
            answer = await self._exchange("enable", iter([self._login.enable_password or self._login.password or ""]))
        except OutOfStep:
            raise Unreachable(why) from None
        if not answer.prompt.rstrip(" ").endswith("#"):
            raise Unreachable(why)

    def _write(self, line: str) -> None:
        if self._process is None:
            raise DeviceError(f"{self._name}: not connected")
        self._process.stdin.write(f"{line}\n")

    async def _read(self) -> str:
        if self._process is None:
            raise DeviceError(f"{self._name}: not connected")
        piece = await self._process.stdout.read(65536)
        if not piece:
            raise DeviceError(f"{self._name}: the router ended the session")
        return piece

    async def _send(self, command: str, *, marked: bool = False) -> str:
        """What a command printed. Where that is not known the session ends: a later answer would be taken for this one."""
        try:
            async with asyncio.timeout(self._login.answer_s):
                answer = await self._exchange(command, repeat(""))
                if marked and not self._prompts.configuring:
                    mark = f"! slotcar {next(self._marks)}"
                    answer.until(mark)
                    await self._finish(answer, mark)
                return answer.text
        except TimeoutError:
            why = f"no answer to `{command}` within {self._login.answer_s:g} s"
        except OutOfStep as error:
            why = f"the session was ended at `{command}`: {error}"
        except (OSError, asyncssh.Error) as error:
            why = f"the session ended at `{command}`: {error}"
        await self.close()
        raise DeviceError(f"{self._name}: {why}")

    async def _exchange(self, line: str, replies: Iterator[str]) -> PrintedAnswer:
        answer = PrintedAnswer(line, self._prompts.after(line), replies)
        await self._finish(answer, line)
        self._prompts.learn(answer.prompt)
        return answer

    async def _finish(self, answer: PrintedAnswer, line: str) -> None:
        """Types a line, and what the router asks of it, until the answer is whole."""
        self._write(line)
        while not answer.whole:
            reply = answer.add(await self._read())
            if reply is not None:
                self._write(reply)
