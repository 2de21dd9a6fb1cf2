"""Each fault once, and what a person at the terminal sees."""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Self

import asyncssh
import pytest

from slotcar_lab.ios import (
    Counters,
    DropOnCopy,
    DropOnLine,
    FullFlash,
    HangAfter,
    RefuseLine,
    Router,
    Routers,
    Slow,
    WrongPassword,
)
from tests.integration.ios.conftest import NAME, STARTUP
from tests.support.patience import PATIENCE_S

PROMPT = re.compile(r"[\w.-]+(?:\([\w-]+\))?[#>]$|\? $|\[confirm\]$|--More-- $|Password: $")
CAR = "rate-limit input 8000 2000 2000 conform-action transmit exceed-action drop"


class Terminal:
    """A person who reads until the router waits for something."""

    def __init__(self, connection: asyncssh.SSHClientConnection) -> None:
        self.connection = connection

    @classmethod
    async def open(cls, router: Router, **options: object) -> Self:
        login = {
            "client_keys": None,
            "username": router.user,
            "password": router.password,
            "known_hosts": None,
            **options,
        }
        connection = await asyncssh.connect(router.address, router.port, config=None, **login)
        terminal = cls(connection)
        terminal.process = await connection.create_process(term_type="vt100", encoding="utf-8")
        await terminal.read()
        return terminal

    process: asyncssh.SSHClientProcess[str]

    async def read(self) -> str:
        text = ""
        while not PROMPT.search(text):
            piece = await self.process.stdout.read(65536)
            if not piece:
                raise EOFError(text)
            text += piece
        return text.replace("\r\n", "\n")

    async def type(self, *lines: str) -> str:
        text = ""
        for line in lines:
            self.process.stdin.write(f"{line}\r\n")
            text = await self.read()
        return text

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.connection.abort()
        await self.connection.wait_closed()


Work = Callable[[Terminal], Awaitable[None]]


def at_terminal(router: Router, work: Work) -> None:
    async def run() -> None:
        async with await Terminal.open(router) as terminal:
            await asyncio.wait_for(work(terminal), PATIENCE_S)

    asyncio.run(run())


def test_prompts_carets_and_help(router: Router) -> None:
    async def work(at: Terminal) -> None:
        cut = NAME[:20]
        assert await at.type("terminal length 0") == f"terminal length 0\n{NAME}#"
        assert (await at.type("conf t")).endswith(f"\n{cut}(config)#")
        assert (await at.type("interface ATM1/0/0")).endswith(f"\n{cut}(config-if)#")
        printed = await at.type("rate-limit input 8001 1 1")
        *_, caret, error, _, prompt = printed.split("\n")
        assert error == "% Invalid input detected at '^' marker."
        assert caret.index("^") == len(prompt) + len("rate-limit input ")
        assert "% Incomplete command." in await at.type("rate-limit input")
        assert "Ambiguous command" in await at.type("do di")
        assert f"Current privilege level is 15\n{cut}(config-if)#" in await at.type("do show priv")
        assert (await at.type("exit", "end")).endswith(f"\n{NAME}#")
        at.process.stdin.write("show running-config ?\n")
        assert "\n  all\n" in await at.read()

    at_terminal(router, work)


def test_output_comes_in_pages(router: Router) -> None:
    async def work(at: Terminal) -> None:
        await at.type("terminal length 10")
        first = await at.type("show running-config")
        assert first.endswith("\n --More-- ")
        assert first.count("\n") == 10
        at.process.stdin.write("q")
        assert (await at.read()).endswith(f"{NAME}#")
        await at.type("terminal length 0")
        text = await at.type("show running-config | sec interface FastEthernet")
        assert text.split("\n")[1:-1] == ["interface FastEthernet4/0/0", " ip address 10.0.0.1 255.255.255.0"]
        assert (await at.type("show run | exc .")).split("\n")[1:-1] == ["", ""]

    at_terminal(router, work)


def test_counters_are_printed(router: Router) -> None:
    router.configure(f"interface ATM1/0/0\n {CAR}\n")
    router.count("ATM1/0/0", "input", CAR.removeprefix("rate-limit input "), Counters(12, 1200, 3, 300))

    async def work(at: Terminal) -> None:
        text = await at.type("show interfaces ATM1/0/0 rate-limit")
        assert "conformed 12 packets, 1200 bytes; action: transmit\n      exceeded 3 packets, 300 bytes" in text

    at_terminal(router, work)


def test_counters_of_a_policy_are_printed(routers: Routers) -> None:
    router = routers.add("r", "cisco-mqc", STARTUP)
    policy = "class-map match-any EF\n match dscp ef\npolicy-map P\n class EF\n  police cir 8000000 bc 16000 "
    policy += "conform-action transmit exceed-action drop\ninterface ATM1/0/0\n service-policy input P\n"
    assert router.configure(policy) == []
    router.count("ATM1/0/0", "input", "EF", Counters(conformed_packets=7, conformed_bytes=700, exceeded_packets=2))

    async def work(at: Terminal) -> None:
        await at.type("terminal length 0")
        text = await at.type("show policy-map interface")
        assert "  Service-policy input: P\n\n    Class-map: EF (match-any)\n      9 packets, 700 bytes\n" in text
        assert "cir 8000000 bps, bc 16000 bytes\n        conformed 7 packets, 700 bytes; actions:" in text
        for other in ("FastEthernet4/0/0", "ATM1/0/0 output"):
            assert "    Class-map" not in await at.type(f"show policy-map interface {other}")

    at_terminal(router, work)


def test_a_line_is_refused_and_the_rest_taken(router: Router) -> None:
    router.fault(RefuseLine("^shutdown", "% Not now"), RefuseLine("^description"))

    async def work(at: Terminal) -> None:
        await at.type("configure terminal", "interface ATM1/0/0")
        assert "\n% Not now\n" in await at.type("shutdown")
        assert "Invalid input" in await at.type("description x")
        await at.type(CAR)

    at_terminal(router, work)
    assert [one.taken for one in router.history] == [True, False, False, True]


def test_a_router_hangs_until_it_is_healed(router: Router) -> None:
    router.fault(HangAfter(2))

    async def work(at: Terminal) -> None:
        await at.type("configure terminal", "interface ATM1/0/0", CAR)
        at.process.stdin.write("shutdown\n")
        echo = ""
        while "shutdown" not in echo:
            echo += await at.process.stdout.read(100)
        answer = asyncio.ensure_future(at.read())
        done, _ = await asyncio.wait([answer], timeout=0.3)
        assert not done
        router.heal()
        assert (await answer).endswith("(config-if)#")

    at_terminal(router, work)
    assert " shutdown\n" in router.running_text()


def test_a_session_is_dropped_in_mid_push(router: Router) -> None:
    router.fault(DropOnLine(2))

    async def work(at: Terminal) -> None:
        await at.type("configure terminal", "interface ATM1/0/0", CAR)
        with pytest.raises((EOFError, asyncssh.Error)):
            await at.type("shutdown")

    at_terminal(router, work)
    assert CAR in router.running_text()
    assert "shutdown" not in router.running_text()


@pytest.mark.parametrize("after", [False, True])
def test_a_session_is_dropped_on_the_copy(router: Router, tmp_path: Path, after: bool) -> None:
    router.fault(DropOnCopy(after=after))
    router.configure("file prompt quiet")
    (tmp_path / "change").write_text(f"interface ATM1/0/0\n {CAR}\nend\n")

    async def work(at: Terminal) -> None:
        await asyncssh.scp(tmp_path / "change", (at.connection, "slot0:change"))
        with pytest.raises((EOFError, asyncssh.Error)):
            await at.type("copy slot0:change running-config")

    at_terminal(router, work)
    assert (CAR in router.running_text()) == after


def test_lines_take_their_time(router: Router) -> None:
    router.fault(Slow(50))

    async def work(at: Terminal) -> None:
        await at.type("configure terminal", "interface ATM1/0/0", CAR, "shutdown")

    at_terminal(router, work)
    times = [one.at_ns for one in router.history]
    assert min(after - before for before, after in itertools.pairwise(times)) >= 50_000_000


def test_a_full_flash_takes_no_file(router: Router, tmp_path: Path) -> None:
    router.fault(FullFlash())
    router.configure("file prompt quiet")
    (tmp_path / "change").write_text("end\n")

    async def work(at: Terminal) -> None:
        with pytest.raises(asyncssh.SFTPError, match="No space left"):
            await asyncssh.scp(tmp_path / "change", (at.connection, "slot0:change"))
        assert "No space left on device" in await at.type("copy running-config slot0:rollback")
        assert "(0 bytes free)" in await at.type("dir")

    at_terminal(router, work)
    assert router.files() == {}


def test_nobody_gets_in(router: Router) -> None:
    router.fault(WrongPassword())
    with pytest.raises(asyncssh.PermissionDenied):
        asyncio.run(Terminal.open(router))


def test_a_key_gets_in_without_a_password(routers: Routers) -> None:
    key = asyncssh.generate_private_key("ssh-ed25519")
    router = routers.add("r", "cisco-car", STARTUP, authorized_keys=[key.export_public_key().decode()])

    async def run() -> None:
        async with await Terminal.open(router, password=None, client_keys=[key]) as at:
            assert "Current privilege" in await at.type("show privilege")

    asyncio.run(run())


def test_another_host_key_is_seen(routers: Routers, tmp_path: Path) -> None:
    first, second = (routers.add(name, "cisco-car", STARTUP, own_key=True) for name in ("a", "b"))
    known = tmp_path / "known_hosts"
    known.write_text(routers.known_hosts)

    async def login(router: Router) -> None:
        async with await Terminal.open(router, known_hosts=str(known)):
            pass

    asyncio.run(login(first))
    first.change_host_key()
    with pytest.raises(asyncssh.HostKeyNotVerifiable):
        asyncio.run(login(first))
    asyncio.run(login(second))
    known.write_text(routers.known_hosts)
    asyncio.run(login(first))


def test_a_dead_router_comes_back_as_it_was(router: Router) -> None:
    router.configure(f"interface ATM1/0/0\n {CAR}")
    router.kill()
    with pytest.raises(OSError, match=r"(?i)refused|connect"):
        asyncio.run(Terminal.open(router))
    router.revive()
    at_terminal(router, lambda at: _has(at, CAR))


async def _has(at: Terminal, what: str) -> None:
    await at.type("terminal length 0")
    assert what in await at.type("show running-config")


def test_a_reload_loses_what_only_ran(router: Router) -> None:
    router.configure(f"interface ATM1/0/0\n {CAR}\n exit\nfile prompt quiet")

    async def work(at: Terminal) -> None:
        await at.type("configure terminal revert timer 5", "end")
        assert router.pending is not None
        await at.type("reload")
        with pytest.raises((EOFError, asyncssh.Error)):
            await at.type("y")

    at_terminal(router, work)
    assert router.wait_for(lambda one: CAR not in one.running_text())
    assert router.pending is None
    router.configure(f"interface ATM1/0/0\n {CAR}")
    router.reload()
    assert CAR not in router.running_text()


def test_questions_are_asked_unless_file_prompts_are_quiet(router: Router) -> None:
    async def work(at: Terminal) -> None:
        assert (await at.type("copy running-config slot0:a")).endswith("Destination filename [a]? ")
        assert "bytes copied" in await at.type("b")
        assert (await at.type("delete slot0:b")).endswith("Delete filename [b]? ")
        assert (await at.type("")).endswith("[confirm]")
        assert (await at.type("")).endswith(f"{NAME}#")

    at_terminal(router, work)
    assert router.files() == {}


def test_the_clock_can_be_wrong(router: Router) -> None:
    router.set_clock(-86400.0)

    async def work(at: Terminal) -> None:
        yesterday = time.strftime("UTC %a %b", time.gmtime(time.time() - 86400))
        assert yesterday in await at.type("show clock")

    at_terminal(router, work)


def test_a_hundred_routers_run_in_one_process(routers: Routers) -> None:
    many = [routers.add(f"r{number}", "cisco-car", STARTUP) for number in range(100)]

    async def one(router: Router) -> str:
        async with await Terminal.open(router) as at:
            await at.type("configure terminal", "interface ATM1/0/0", CAR, "end")
            return await at.type("show privilege")

    async def run() -> list[str]:
        return [
            answer
            for start in range(0, 100, 20)
            for answer in await asyncio.gather(*map(one, many[start : start + 20]))
        ]

    assert [answer.rpartition("\n")[2] for answer in asyncio.run(run())] == [f"r{number}#" for number in range(100)]
    assert all(CAR in router.running_text() for router in many)
    assert len({router.port for router in many}) == 100
