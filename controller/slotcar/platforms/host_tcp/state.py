"""What a host answered to `read.sh`, as values. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from slotcar.base.problems import SlotcarError
from slotcar.base.texts import lines_of

#: The handle of a card's queue that is ours, in hexadecimal: nobody gives it by chance. `proto` of our routes.
HANDLE = "534c:"
PROTOCOL = "83"
#: What the kernel gives a card by itself has this handle.
KERNELS_HANDLE = "0:"


class Unreadable(SlotcarError):
    """A host's answer cannot be understood."""


@dataclass(frozen=True, slots=True)
class Card:
    """A network interface.

    Attributes:
        mtu_bytes, most_mtu_bytes: of its IP packets, now and at most.
        queue_packets: `txqueuelen`. queues: so many that it sends from.
        speed_bps: what the link carries; None where it does not say.
        qdisc, handle: its queue's kind, and the handle; the kernel's own has `0:`.
    """

    name: str
    mtu_bytes: int
    most_mtu_bytes: int
    queue_packets: int
    queues: int
    speed_bps: int | None
    qdisc: str
    handle: str


@dataclass(frozen=True, slots=True)
class Route:
    """How a peer is reached.

    Attributes:
        card, gateway, source: of the route that holds; the latter two empty where it has none.
        protocol: who made it, as `ip route` names it; by a number where it has no name.
        exact: the words of a route to the peer alone, as `ip route` shows it; empty where there is none.
    """

    card: str
    gateway: str
    source: str
    protocol: str
    exact: str


@dataclass(frozen=True, slots=True)
class Kept:
    """What a setting was before, and what it was set to."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class HostState:
    """Attributes:
    sysctls: value by key, such as `net/ipv4/tcp_rmem`; writable: those that may be set from where it was asked.
    page_bytes: of memory. cards, routes: by name, by peer; a peer without a route is missing.
    kept: what was set before and is not undone, by setting.
    """

    sysctls: Mapping[str, str]
    writable: frozenset[str]
    page_bytes: int
    cards: Mapping[str, Card]
    routes: Mapping[str, Route]
    kept: Mapping[str, Kept] = field(default_factory=dict)

    def value(self, setting: str) -> str:
        """What a setting is now: `sysctl KEY`, `mtu CARD`, `txqueuelen CARD`, `qdisc CARD`, `route PEER`; empty where there
        is none, or the kernel's own."""
        kind, _, name = setting.partition(" ")
        if kind == "sysctl":
            return self.sysctls[name]
        if kind == "route":
            return self.routes[name].exact if name in self.routes else ""
        card = self.cards.get(name)
        if card is None:
            return ""
        if kind == "qdisc":
            return "" if card.handle == KERNELS_HANDLE else f"{card.qdisc} {card.handle}"
        return str(card.mtu_bytes if kind == "mtu" else card.queue_packets)


def state_of(answer: str) -> HostState:
    """
    Raises:
        Unreadable: it is no such answer.
    """
    try:
        return _state_of(answer)
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise Unreadable(f"what the host answered cannot be understood: {type(error).__name__} {error}") from error


def _state_of(answer: str) -> HostState:
    lines: dict[str, list[list[str]]] = {}
    for line in lines_of(answer):
        kind, *rest = line.split("\t")
        lines.setdefault(kind, []).append(rest)
    queues = {card: words.split() for card, words in lines.get("qdisc", ())}
    speeds = {card: int(text) for card, text in lines.get("speed", ()) if text.lstrip("-").isdigit()}
    cards = {card.name: card for card in _cards(json.loads(lines["links"][0][0] or "[]"), queues, speeds)}
    exact = {peer: _plain(words) for peer, words in lines.get("host-route", ())}
    routes = {
        peer: _route(json.loads(text)[0], exact.get(peer, "")) for peer, text in lines.get("route", ()) if text.strip()
    }
    return HostState(
        sysctls={key: value.strip() for key, _, value in lines["sysctl"]},
        writable=frozenset(key for key, may, _ in lines["sysctl"] if may == "write"),
        page_bytes=int(lines["pagesize"][0][0]),
        cards=cards,
        routes=routes,
        kept={setting: Kept(before, after) for setting, before, after in lines.get("kept", ())},
    )


def _cards(links: list[dict[str, Any]], queues: Mapping[str, list[str]], speeds: Mapping[str, int]) -> Iterator[Card]:
    for link in links:
        kind, handle = queues.get(link["ifname"], ["noqueue", KERNELS_HANDLE])
        mbps = speeds.get(link["ifname"], -1)
        yield Card(
            name=link["ifname"],
            mtu_bytes=link["mtu"],
            most_mtu_bytes=link.get("max_mtu") or 65_535,
            queue_packets=link.get("txqlen", 0),
            queues=link.get("num_tx_queues", 1),
            speed_bps=mbps * 1_000_000 if mbps > 0 else None,
            qdisc=kind,
            handle=handle,
        )


def _route(route: Mapping[str, Any], exact: str) -> Route:
    return Route(
        card=route["dev"],
        gateway=route.get("gateway", ""),
        source=route.get("prefsrc", ""),
        protocol=str(route.get("protocol", "boot")),
        exact=exact,
    )


def _plain(words: str) -> str:
    """A route as `ip route` takes it again: without its kind, and without blanks that mean nothing."""
    return " ".join(words.removeprefix("unicast ").split())
