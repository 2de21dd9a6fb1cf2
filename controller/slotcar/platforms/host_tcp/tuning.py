"""Which settings a host's TCP is to have for its flows, and what bounds them. Pure.

A connection has at most its window under way in a round trip, so its buffers are at least round trip times bandwidth (D7.3
§4.2.2, §9.1.2): at 750 Mb/s and 14.5 ms 1.36 MB, where 64 kB gave 25 Mb/s. Linux counts in a buffer also its own
book-keeping, and takes half of it for the window (`net.ipv4.tcp_adv_win_scale` 1; for sending it takes twice a window
itself), hence twice that. A limit is raised and never lowered, for others use it too; one that is chosen is taken as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from slotcar.base.problems import SlotcarError
from slotcar.base.units import format_bytes, format_bytes_about, format_latency, format_rate, format_rate_about
from slotcar.platforms.host_tcp.flows import US_BITS, Flow
from slotcar.platforms.host_tcp.state import HANDLE, KERNELS_HANDLE, PROTOCOL, Card, HostState, Route

#: Of a buffer the half is the window.
BUFFER_OF_WINDOW = 2
#: What no buffer is above where nobody says otherwise: 64 MiB.
MOST_BYTES = 2**26
#: No MTU of IPv4 is shorter (RFC 791); none is longer.
LEAST_MTU_BYTES, LONGEST_MTU_BYTES = 68, 65_535
#: Who else makes routes, by the names of `ip route`: what they change, a route of ours would hide.
ROUTING_DAEMONS = (
    "zebra",
    "bird",
    "bgp",
    "ospf",
    "isis",
    "rip",
    "eigrp",
    "babel",
    "gated",
    "ra",
    "ntk",
    "xorp",
    "openr",
)
#: The limits by way: of the buffer that a program asks for, and the three of TCP's own (least, first, most).
LIMITS = {"receive": ("net/core/rmem_max", "net/ipv4/tcp_rmem"), "send": ("net/core/wmem_max", "net/ipv4/tcp_wmem")}


class NotTunable(SlotcarError):
    """A host cannot have what is asked for; `mistakes` has each as a sentence, and nothing is changed."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("; ".join(mistakes))
        self.mistakes = tuple(mistakes)


@dataclass(frozen=True, slots=True)
class Choices:
    """`slotcar_tuning` of a host: what is not chosen follows from the flows, or stays.

    Attributes:
        receive, send: TCP's least, first and greatest buffer in bytes, as D7.3's script has them; None: of the flows.
        most: no buffer that follows from flows is above it, bytes.
        pacing: packets go at their connection's pace (`fq`) out of the cards that lead to the peers.
        congestion_control: of connections to the peers; empty: the host's own.
        path_mtu: longest IP packet to the peers, bytes. mtu: of their cards. queue: their `txqueuelen`, packets.
    """

    receive: tuple[int, int, int] | None = None
    send: tuple[int, int, int] | None = None
    most: int = MOST_BYTES
    pacing: bool = True
    congestion_control: str = ""
    path_mtu: int | None = None
    mtu: int | None = None
    queue: int | None = None

    @classmethod
    def of_mapping(cls, document: Mapping[str, Any]) -> Choices:
        """
        Raises:
            NotTunable: of every mistake.
        """
        known = {name: _READERS[name] for name in cls.__dataclass_fields__}
        values, mistakes = {}, []
        for name, value in document.items():
            if name not in known:
                mistakes.append(f"slotcar_tuning.{name} is no key that is known; the keys are {', '.join(known)}")
                continue
            try:
                values[name] = known[name](value)
            except ValueError as error:
                mistakes.append(f"slotcar_tuning.{name} {error} (got {str(value)[:40]!r})")
        if mistakes:
            raise NotTunable(mistakes)
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Tuned:
    """Attributes:
    settings: value by setting, as `HostState.value` names them, in the order in which they are set.
    words: what bounds what the flows get here, and what was left alone.
    """

    settings: Mapping[str, str]
    words: tuple[str, ...] = field(default=())


def tuned(flows: Sequence[Flow], choices: Choices, host: HostState) -> Tuned:
    """
    Raises:
        NotTunable: the host cannot have what was chosen.
    """
    cards, words = {}, []
    for flow in flows:
        if flow.peer in host.routes and host.routes[flow.peer].card in host.cards:
            cards[host.routes[flow.peer].card] = host.cards[host.routes[flow.peer].card]
        else:
            words.append(f"{flow.reservation}: this host has no route to {flow.peer}")
    mistakes = [*_impossible(choices, host, list(cards.values()))]
    if mistakes:
        raise NotTunable(mistakes)
    settings: dict[str, str] = {}
    for part, sentences in (
        _buffers(flows, choices, host),
        _cards(list(cards.values()), choices),
        _routes(flows, choices, host),
    ):
        settings |= part
        words += sentences
    words += _too_slow(flows, host)
    return Tuned(settings, tuple(dict.fromkeys(words)))


def _impossible(choices: Choices, host: HostState, cards: Sequence[Card]) -> Iterator[str]:
    available = host.sysctls.get("net/ipv4/tcp_available_congestion_control", "").split()
    if choices.congestion_control and choices.congestion_control not in available:
        name = choices.congestion_control
        yield (
            f"slotcar_tuning.congestion_control: this kernel has {', '.join(available)}, and not {name}; where it is a"
            f" module, `modprobe tcp_{name}` loads it"
        )
    for card in cards:
        mtu_bytes = choices.mtu or card.mtu_bytes
        if choices.mtu and choices.mtu > card.most_mtu_bytes:
            yield (
                f"slotcar_tuning.mtu: {card.name} carries packets of at most {card.most_mtu_bytes} B (got {choices.mtu})"
            )
        if choices.path_mtu and choices.path_mtu > mtu_bytes:
            yield (
                f"slotcar_tuning.path_mtu: is above the {mtu_bytes} B of {card.name} (got {choices.path_mtu}); say"
                " slotcar_tuning.mtu too, where its switch carries so much"
            )


def _buffers(flows: Sequence[Flow], choices: Choices, host: HostState) -> tuple[dict[str, str], list[str]]:
    settings, words = {}, []
    bound, whose = _bound(choices, host)
    for way, (of_programs, of_tcp) in LIMITS.items():
        chosen = choices.receive if way == "receive" else choices.send
        needed = [(one, one.window_bytes(one.in_bps if way == "receive" else one.out_bps)) for one in flows]
        for one, window in needed if chosen is None else ():
            if BUFFER_OF_WINDOW * window > bound:
                words.append(_held_back(one, way, window, bound, whose))
        wanted = max((min(BUFFER_OF_WINDOW * window, bound) for _, window in needed), default=0)
        for key in (of_programs, of_tcp):
            if key not in host.sysctls:
                continue
            values = tuple(int(text) for text in host.sysctls[key].split())
            if chosen is not None:
                values = (chosen[2],) if key == of_programs else chosen
            else:
                values = (*values[:-1], max(values[-1], wanted))
            setting, value = f"sysctl {key}", " ".join(str(one) for one in values)
            if value != host.sysctls[key] and key not in host.writable:
                words.append(
                    f"{key.replace('/', '.')} stays {host.sysctls[key]}: it cannot be set from here (a network namespace"
                    " has the whole host's); TCP's own growth is not bounded by it, buffers that programs ask for are"
                )
            elif flows or chosen is not None:
                settings[setting] = value
    return settings, words


def _bound(choices: Choices, host: HostState) -> tuple[int, str]:
    """What no buffer is above, and whose limit that is; the host's is TCP's whole memory, from where on the kernel saves
    (`tcp_mem`'s second).
    """
    pages = host.sysctls.get("net/ipv4/tcp_mem", "").split()
    whole = int(pages[1]) * host.page_bytes if len(pages) == 3 else choices.most
    if whole < choices.most:
        return whole, "this host's own limit for all of TCP, net.ipv4.tcp_mem"
    return choices.most, "slotcar_tuning.most"


def _held_back(flow: Flow, way: str, window: int, bound: int, whose: str) -> str:
    rate_bps = bound // BUFFER_OF_WINDOW * US_BITS // max(1, flow.rtt_us)
    return (
        f"{flow.reservation}: its window to {way} is {format_bytes_about(window, up=True)}, and a buffer is at most"
        f" {format_bytes(bound)} ({whose}): one connection has at most {format_rate_about(rate_bps)} at a round trip of"
        f" {format_latency(flow.rtt_us)}; use several, or say the real rtt"
    )


def _cards(cards: Sequence[Card], choices: Choices) -> tuple[dict[str, str], list[str]]:
    settings, words = {}, []
    for card in cards:
        if choices.mtu:
            settings[f"mtu {card.name}"] = str(choices.mtu)
        if choices.queue is not None:
            settings[f"txqueuelen {card.name}"] = str(choices.queue)
        if not choices.pacing:
            continue
        if card.handle in (KERNELS_HANDLE, HANDLE) and card.name != "lo":
            settings[f"qdisc {card.name}"] = f"{'mq' if card.queues > 1 else 'fq'} {HANDLE}"
        else:
            words.append(
                f"{card.name} keeps its queue, {card.qdisc} {card.handle}, which somebody gave it; TCP paces by itself"
                " where a program asks for it"
            )
    return settings, words


def _routes(flows: Sequence[Flow], choices: Choices, host: HostState) -> tuple[dict[str, str], list[str]]:
    """A route to each peer alone, with what holds for connections to it and for no others."""
    settings: dict[str, str] = {}
    words: list[str] = []
    if not choices.congestion_control and not choices.path_mtu:
        return settings, words
    for peer in dict.fromkeys(flow.peer for flow in flows):
        route = host.routes.get(peer)
        if route is None:
            continue
        ours = f"proto {PROTOCOL} " in f"{route.exact} "
        if route.exact and not ours:
            words.append(f"the route to {peer} alone is somebody's and stays as it is: {route.exact}")
        elif route.protocol in ROUTING_DAEMONS:
            words.append(
                f"the way to {peer} follows {route.protocol}, and a route of its own would not: its congestion control and"
                " packets stay the host's"
            )
        else:
            settings[f"route {peer}"] = _route_words(peer, route, choices)
    return settings, words


def _route_words(peer: str, route: Route, choices: Choices) -> str:
    """In the order in which `ip route` shows them, so that what is read back is the same text."""
    words = [peer]
    words += ["via", route.gateway] if route.gateway else []
    words += ["dev", route.card, "proto", PROTOCOL]
    words += ["scope", "global" if route.gateway else "link"]
    words += ["src", route.source] if route.source else []
    words += ["mtu", "lock", str(choices.path_mtu)] if choices.path_mtu else []
    words += ["congctl", choices.congestion_control] if choices.congestion_control else []
    return " ".join(words)


def _too_slow(flows: Sequence[Flow], host: HostState) -> Iterator[str]:
    """Cards through which more is reserved than they carry."""
    rates: dict[str, int] = {}
    for flow in flows:
        if flow.peer in host.routes:
            card = host.routes[flow.peer].card
            rates[card] = rates.get(card, 0) + max(flow.out_bps, flow.in_bps)
    for card, rate_bps in rates.items():
        speed_bps = host.cards[card].speed_bps if card in host.cards else None
        if speed_bps is not None and rate_bps > speed_bps:
            carried, reserved = format_rate(speed_bps), format_rate(rate_bps)
            yield f"this host's own limit: {card} carries {carried}, and {reserved} is reserved over it"


def _three(value: object) -> tuple[int, int, int]:
    words = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    try:
        least, first, most = (int(word) for word in words)
    except (TypeError, ValueError):
        raise ValueError(
            "is the least, the first and the greatest buffer in bytes, such as `4096 87380 4194304`"
        ) from None
    if not 0 < least <= first <= most < 2**31:
        raise ValueError("goes from the least over the first to the greatest, all above 0 and below 2 GiB")
    return least, first, most


def _whole(least: int, most: int) -> Any:
    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"is a whole number from {least} to {most}")
        return value

    return read


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("is true or false")
    return value


def _name(value: object) -> str:
    if not isinstance(value, str) or not value.replace("_", "").replace("-", "").isalnum():
        raise ValueError("is the name of a congestion control, such as `bbr`")
    return value


_READERS: dict[str, Any] = {
    "receive": _three,
    "send": _three,
    "most": _whole(65_536, 2**31 - 1),
    "pacing": _flag,
    "congestion_control": _name,
    "path_mtu": _whole(LEAST_MTU_BYTES, LONGEST_MTU_BYTES),
    "mtu": _whole(LEAST_MTU_BYTES, LONGEST_MTU_BYTES),
    "queue": _whole(0, 1_000_000),
}
