"""The routers in a process of their own, so that their work is not counted as a pusher's."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

ETHERNET_HEADER_BYTES = 14


def _serve(size: int, platform: str, pipe: Connection) -> None:
    from slotcar_lab.ios import Routers

    with Routers() as routers:
        for number in range(1, size + 1):
            routers.add(f"r{number}", platform, startup(number))
        pipe.send([routers.known_hosts, [router.port for router in routers], routers[0].password])
        while (command := pipe.recv()) != "stop":
            if command == "last lines":
                pipe.send([router.history[-1].at_ns / 1e9 for router in routers])
            elif isinstance(command, int):
                for router in routers:
                    _count(router, command)
                pipe.send(None)
            elif isinstance(command, tuple):
                start, end = command
                taken = [[one.at_ns / 1e9 for one in router.history] for router in routers]
                pipe.send([max((at for at in one if start <= at < end), default=None) for one in taken])
            else:
                pipe.send([router.running_text() for router in routers])


def startup(number: int) -> str:
    lines = [f"hostname r{number}", "ip scp server enable"]
    for port, side in enumerate("ab"):
        lines += [
            f"interface FastEthernet{port}/0",
            f" description {side}",
            f" ip address {network(number, port)}.1 255.255.255.0",
        ]
    return "".join(f"{line}\n" for line in lines)


def _count(router: Any, packets: int) -> None:
    """What the policer of the router's flow counted: so many packets of 1,000 bytes of IP."""
    from slotcar_lab.ios import Counters

    for line in router.running_text().splitlines():
        if line.startswith("interface "):
            interface = line.removeprefix("interface ")
        elif line.startswith(" rate-limit input access-group "):
            octets = packets * (1_000 + ETHERNET_HEADER_BYTES)
            router.count(interface, "input", line.removeprefix(" rate-limit input "), Counters(packets, octets))


def network(number: int, port: int) -> str:
    """Of some 25,000 routers at most."""
    return f"10.{number // 100}.{2 * (number % 100) + port}"


class Fleet:
    """`size` emulated routers, from `with` to its end."""

    def __init__(self, size: int, platform: str = "cisco-car") -> None:
        self.size, self.platform = size, platform
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(size, platform, theirs), daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        self.known_hosts, self.ports, self.password = self._pipe.recv()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipe.send("stop")
        self._process.join(30)

    def last_line_at(self) -> float:
        """Seconds since the epoch of the last configuration line that any router took."""
        return max(self.last_lines_at())

    def last_lines_at(self) -> list[float]:
        """The same of each router."""
        instants: list[float] = self._ask("last lines")
        return instants

    def last_lines_between(self, start: float, end: float) -> list[float | None]:
        """The same, of those that it took within `[start, end)`; None where it took none."""
        instants: list[float | None] = self._ask((start, end))
        return instants

    def count_each(self, packets: int) -> None:
        """The policer of each router's flow has counted so many packets of 1,000 bytes of IP."""
        self._ask(packets)

    def running_texts(self) -> list[str]:
        texts: list[str] = self._ask("running")
        return texts

    def _ask(self, what: object) -> Any:
        self._pipe.send(what)
        return self._pipe.recv()
