"""The transport for those who trust NAPALM: its `ios` driver as it is, which saves to the startup configuration."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from slotcar.base.texts import lines_of
from slotcar.rollout.fanout.login import Login
from slotcar.rollout.host_keys import host_key_words
from slotcar.rollout.transport import DeviceError, Transport, Unreachable

#: A session that waits for its instant is kept open, and a connection that nothing comes back on ends.
KEEPALIVE_S = 5
T = TypeVar("T")


class NapalmTransport(Transport):
    """Load a merge candidate, commit with a revert timer, confirm. The driver blocks, so each call has a thread."""

    def __init__(self, name: str, login: Login, flash: str = "flash:") -> None:
        self._name = name
        self._login = login
        self._flash = flash
        self._driver: Any = None
        self._revert_s: int | None = None

    async def open(self) -> None:
        await asyncio.to_thread(self._open)

    def _open(self) -> None:
        from napalm import get_network_driver  # type: ignore[import-untyped]
        from netmiko.exceptions import NetmikoAuthenticationException

        login = self._login
        optional = {
            "port": login.port,
            "secret": login.enable_password or login.password or "",
            "dest_file_system": self._flash,
            "ssh_strict": True,
            "system_host_keys": login.known_hosts is None,
            "alt_host_keys": login.known_hosts is not None,
            "alt_key_file": str(login.known_hosts or ""),
            "allow_agent": False,
            "use_keys": login.key_file is not None,
            "key_file": str(login.key_file) if login.key_file else None,
            # The driver gives a commit 90 s whatever it is given.
            "read_timeout_override": login.answer_s,
            "keepalive": KEEPALIVE_S,
        }
        driver = get_network_driver("ios")(
            login.host, login.user, login.password or "", timeout=int(login.answer_s), optional_args=optional
        )
        try:
            driver.open()
        except NetmikoAuthenticationException:
            raise Unreachable(f"{self._name}: {login.host}:{login.port} does not let {login.user} in") from None
        except Exception as error:  # NAPALM and netmiko have no common base
            raise Unreachable(f"{self._name}: {_why_no_session(error, login)}") from None
        _watch(driver.device)
        self._driver = driver

    async def close(self) -> None:
        if self._driver is not None:
            await asyncio.to_thread(self._quietly_close)

    def _quietly_close(self) -> None:
        try:
            self._driver.close()
        except Exception:  # the session may be gone already, and what counts was read back
            self._driver = None

    async def read(self, commands: Sequence[str]) -> dict[str, str]:
        outputs: dict[str, str] = await self._do("cli", lambda: self._driver.cli(list(commands)))
        return outputs

    async def stage(self, apply: Sequence[str], undo: Sequence[str]) -> None:
        await self._do("load_merge_candidate", lambda: self._driver.load_merge_candidate(config=_text(apply)))
        await self._do("compare_config", self._driver.compare_config)

    async def arm_revert(self, apply: Sequence[str], minutes: int) -> bool:
        printed = (await self.read(["show archive"]))["show archive"]
        if "%" in printed or "not enabled" in printed:
            return False
        self._revert_s = 60 * minutes
        return True

    async def activate(self, apply: Sequence[str]) -> bool:
        await self._do("commit_config", lambda: self._driver.commit_config(revert_in=self._revert_s))
        return True

    async def confirm(self) -> None:
        if await self._do("has_pending_commit", self._driver.has_pending_commit):
            await self._do("confirm_commit", self._driver.confirm_commit)

    async def cancel(self) -> None:
        """`change` confirms instead, as `SshTransport` does."""

    async def change(self, lines: Sequence[str]) -> None:
        await self.confirm()
        if lines:
            await self._do("load_merge_candidate", lambda: self._driver.load_merge_candidate(config=_text(lines)))
            await self._do("commit_config", self._driver.commit_config)

    async def _do(self, what: str, call: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(call)
        except Exception as error:  # NAPALM and netmiko have no common base
            words = lines_of((str(error) or type(error).__name__).strip())[0]
            raise DeviceError(f"{self._name}: NAPALM's {what}: {words}") from None


def _watch(device: Any) -> None:
    """Has netmiko notice at once that a session ended: its own channel goes on looking for an answer until the time for
    one is over."""
    from netmiko.channel import SSHChannel
    from netmiko.exceptions import ReadException

    class Watched(SSHChannel):
        def read_buffer(self) -> str:
            printed: str = super().read_buffer()
            shell: Any = self.remote_conn
            if not printed and not shell.recv_ready() and (shell.closed or not shell.get_transport().is_active()):
                raise ReadException("the session ended")
            return printed

    device.channel = Watched(conn=device.remote_conn, encoding=device.encoding)


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _why_no_session(error: Exception, login: Login) -> str:
    """In words. NAPALM says that it cannot connect; why, the errors say that it had from netmiko and paramiko."""
    errors: list[BaseException] = [error]
    while (cause := errors[-1].__cause__ or errors[-1].__context__) is not None:
        errors.append(cause)
    if any(_is_of_a_host_key(one) for one in errors):
        return host_key_words(login)
    return f"{login.host}:{login.port}: {lines_of((str(error) or type(error).__name__).strip())[0]}"


def _is_of_a_host_key(error: BaseException) -> bool:
    """Paramiko has no class for a key that is not known."""
    from paramiko import BadHostKeyException  # type: ignore[import-untyped]

    return isinstance(error, BadHostKeyException) or "not found in known_hosts" in str(error)
