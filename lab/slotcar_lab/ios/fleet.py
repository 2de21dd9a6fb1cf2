"""Routers for tests and measurements: any number in one thread, driven from synchronous code.

with Routers() as routers:
    router = routers.add("anl-7507-1", "cisco-car", startup_text)
    ... router.port, router.running_text(), router.fault(Slow(20)), router.history ...
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import errno
import functools
import random
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import asyncssh

from slotcar.base.texts import lines_of
from slotcar_lab.ios.counters import Counters
from slotcar_lab.ios.events import USER as EEM_USER
from slotcar_lab.ios.events import Fired
from slotcar_lab.ios.faults import Fault
from slotcar_lab.ios.machine import Account, Machine, Pending, Received
from slotcar_lab.ios.server import listen
from slotcar_lab.ios.shell import run_unattended
from slotcar_lab.patience import HANG_S

LOOPBACK = "127.0.0.1"
#: Below those that the kernel gives to connections: a router that is started again finds its port free.
PORTS = range(20_000, 32_000)
USER, PASSWORD = "slotcar", "not-a-secret"
#: Nothing that a test waits for takes longer.
_T = TypeVar("_T")


class Router:
    """One router. Made by `Routers.add`, or by itself: `with Router(...) as router`."""

    _acceptor: asyncssh.SSHAcceptor | None = None
    _key: asyncssh.SSHKey | None = None
    _fleet: Routers | None = None
    _alone: Routers | None = None
    #: Counts what changed, for those who wait.
    _version = 0

    def __init__(
        self,
        name: str,
        platform: str,
        startup_text: str = "",
        *,
        port: int = 0,
        user: str = USER,
        password: str = PASSWORD,
        enable_secret: str = "",
        privilege: int = 15,
        authorized_keys: Iterable[str] = (),
        own_key: bool = True,
        minute_s: float = 60.0,
        clock_offset_s: float = 0.0,
        acl_sequences_shown: bool = False,
        address: str = LOOPBACK,
    ) -> None:
        """
        Args:
            platform: one of `slotcar_lab.ios.grammar.PLATFORMS`.
            startup_text: what the router boots with; its interfaces are the router's hardware.
            port: 0 for a free one.
            privilege: of a login; 1 for user EXEC mode.
            own_key: a host key of its own, not that which the routers of one `Routers` share.
            minute_s: how long a minute of the revert timers lasts.
        Raises:
            ValueError: no such platform, or start-up lines that its table does not hold.
        """
        account = Account(user, password, enable_secret, privilege, tuple(authorized_keys))
        self.name = name
        self.platform = platform
        self.address, self.port = address, port
        self._own_key = own_key
        self._machine = Machine(name, platform, startup_text, account, minute_s, clock_offset_s, acl_sequences_shown)
        self._changes = threading.Condition()
        self._connections: set[asyncssh.SSHServerConnection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._reloading = asyncio.Lock()
        self._machine.changed = self._note
        self._machine.reload = lambda: self._spawn(self._reload(0.0))
        self._machine.execute = functools.partial(run_unattended, self._machine, EEM_USER)

    def __enter__(self) -> Self:
        self._alone = Routers()
        self._alone.start()
        self._alone.adopt(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._alone:
            self._alone.stop()

    @property
    def user(self) -> str:
        return self._machine.account.user

    @property
    def password(self) -> str:
        return self._machine.account.password

    @property
    def known_hosts(self) -> str:
        """The router's line for a `known_hosts` file."""
        assert self._key is not None
        return f"[{self.address}]:{self.port} {' '.join(self._key.export_public_key().decode().split()[:2])}\n"

    @property
    def history(self) -> list[Received]:
        """Every configuration line that came, with its time."""
        return self._call(lambda: list(self._machine.history))

    @property
    def commands(self) -> list[tuple[int, str, str]]:
        """Every command of EXEC mode: nanoseconds since 1970, user, line."""
        return self._call(lambda: list(self._machine.commands))

    @property
    def pending(self) -> Pending | None:
        """The change that is on trial."""
        return self._call(lambda: self._machine.pending)

    @property
    def reverted(self) -> int:
        """How often a change was taken back, by its timer or by `configure revert now`."""
        return self._machine.reverted

    @property
    def fired(self) -> list[Fired]:
        """The applets that were run, with their instants and what became of them."""
        return self._call(lambda: list(self._machine.events.fired))

    def running_text(self) -> str:
        return self._call(lambda: self._machine.running.text())

    def startup_text(self) -> str:
        return self._call(lambda: self._machine.startup)

    def files(self) -> dict[str, bytes]:
        return self._call(lambda: {name: file.data for name, file in self._machine.flash.files.items()})

    def configure(self, text: str, user: str = "operator") -> list[str]:
        """Take lines as from an operator at the console; gives those that were refused."""

        def run() -> list[str]:
            cursor = self._machine.running.cursor()
            lines = lines_of(text)
            return [x for x in lines if not self._machine.take_now(cursor, x, user, "console").taken]

        return self._call(run)

    def fault(self, *faults: Fault) -> None:
        for fault in faults:
            self._call(functools.partial(self._machine.faults.add, fault))

    def heal(self) -> None:
        """Take all faults away; what hangs goes on."""
        self._call(self._machine.faults.clear)

    def count(self, interface: str, direction: str, what: str, counters: Counters) -> None:
        """Set counters of a class, or of a `rate-limit` line by its text after `rate-limit DIRECTION`.

        Raises:
            KeyError: the router has none of this name there.
        """
        key, machine = (interface, direction, what), self._machine
        self._call(lambda: machine.counters.set(key, counters, machine.running.top))

    def clear_counters(self) -> None:
        """As an operator's `clear counters`."""
        self._call(lambda: self._machine.counters.clear(self._machine.running.top))

    def set_clock(self, offset_s: float) -> None:
        self._machine.clock_offset_s = offset_s

    def reload(self, down_s: float = 0.0) -> None:
        """Lose what only ran: sessions end, the start-up configuration runs; nothing listens for `down_s`."""
        self._run(self._reload(down_s))

    def kill(self) -> None:
        """Nothing listens any more, and sessions end; the running configuration stays."""
        self._run(self._close())

    def revive(self) -> None:
        self._run(self._listen())

    def change_host_key(self) -> None:
        """Listen with another host key; sessions go on."""
        self._run(self._change_host_key())

    def wait_for(self, holds: Callable[[Router], object], timeout_s: float = HANG_S) -> bool:
        """Wait until something holds, looking again whenever the router changes; gives whether it came to hold."""
        deadline = time.monotonic() + timeout_s
        while True:
            last_version = self._version
            if holds(self):
                return True
            with self._changes:
                while self._version == last_version:
                    if not self._changes.wait(max(0.0, deadline - time.monotonic())):
                        return bool(holds(self))

    def _note(self) -> None:
        with self._changes:
            self._version += 1
            self._changes.notify_all()

    def _call(self, action: Callable[[], _T]) -> _T:
        return self._fleet.call(action) if self._fleet else action()

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        assert self._fleet is not None, "the router does not run"
        return self._fleet.run(work)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def start(self, fleet: Routers, shared_key: asyncssh.SSHKey) -> None:
        self._fleet = fleet
        self._key = asyncssh.generate_private_key("ssh-ed25519") if self._own_key else shared_key
        await self._listen()

    async def stop(self) -> None:
        self._machine.forget_pending()
        self._machine.events.forget()
        for task in tuple(self._tasks):
            task.cancel()
        await self._close()
        self._fleet = None

    async def _listen(self) -> None:
        assert self._key is not None
        self._machine.events.register()
        for port in [self.port] if self.port else random.sample(PORTS, 50):
            try:
                self._acceptor = await listen(self._machine, self.address, port, self._key, self._connections)
            except OSError as error:
                if self.port or error.errno != errno.EADDRINUSE:
                    raise
                continue
            self.port = self._acceptor.get_port()
            return
        raise OSError(errno.EADDRINUSE, f"no free port on {self.address}")

    async def _close(self, *, sessions: bool = True) -> None:
        if self._acceptor:
            self._acceptor.close()
            await self._acceptor.wait_closed()
        self._acceptor = None
        for connection in tuple(self._connections) if sessions else ():
            connection.abort()

    async def _reload(self, down_s: float) -> None:
        async with self._reloading:  # one who reloads it meanwhile waits until it listens again
            await self._close()
            self._machine.boot()
            if down_s:
                self._spawn(self._listen_after(down_s))
            else:
                await self._listen()

    async def _listen_after(self, down_s: float) -> None:
        await asyncio.sleep(down_s)
        await self._listen()
        self._note()

    async def _change_host_key(self) -> None:
        await self._close(sessions=False)
        self._key = asyncssh.generate_private_key("ssh-ed25519")
        await self._listen()


class Routers(Sequence[Router]):
    """Routers in one event loop, in a thread of its own."""

    def __init__(self) -> None:
        self._routers: list[Router] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ios-routers", daemon=True)
        self._shared_key = asyncssh.generate_private_key("ssh-ed25519")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __len__(self) -> int:
        return len(self._routers)

    def __getitem__(self, at: Any) -> Any:
        return self._routers[at]

    @property
    def known_hosts(self) -> str:
        """All routers' lines for a `known_hosts` file."""
        return "".join(router.known_hosts for router in self._routers)

    def start(self) -> None:
        self._thread.start()

    def add(self, name: str, platform: str, startup_text: str = "", **options: Any) -> Router:
        """Start a router, which shares the others' host key unless `own_key` is set (`Router`)."""
        router = Router(name, platform, startup_text, **{"own_key": False, **options})
        self.adopt(router)
        return router

    def adopt(self, router: Router) -> None:
        self.run(router.start(self, self._shared_key))
        self._routers.append(router)

    def stop(self) -> None:
        for router in self._routers:
            self.run(router.stop())
        self.run(self._drain())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(HANG_S)
        self._loop.close()

    async def _drain(self) -> None:
        """Let what was cancelled end."""
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(HANG_S)

    def call(self, action: Callable[[], _T]) -> _T:
        """Run something in the loop's thread, between two of its steps."""
        if threading.current_thread() is self._thread:
            return action()
        done: concurrent.futures.Future[_T] = concurrent.futures.Future()

        def step() -> None:
            try:
                done.set_result(action())
            except Exception as error:
                done.set_exception(error)

        self._loop.call_soon_threadsafe(step)
        return done.result(HANG_S)
