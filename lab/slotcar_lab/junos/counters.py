"""What a router has counted, set by a test: terms' counters and policers of filters, and queues. A filter that is committed
otherwise counts from zero again; queues go on.

Elements: `show firewall` and `show interfaces queue` of Juniper's operational reference, as `display xml` prints them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from lxml import etree  # type: ignore[import-untyped]

from slotcar_lab.junos.tree import Element


@dataclass(frozen=True, slots=True)
class Packets:
    """As many packets, and their bytes: of IP in a filter, of frames in a queue."""

    packets: int = 0
    octets: int = 0


NONE = Packets()


@dataclass(slots=True)
class Counted:
    """Counters by what counts: the filter's name and the term's of a filter, the port's and the class's of a queue."""

    _filters: dict[str, str] = field(default_factory=dict)
    _terms: dict[tuple[str, str], tuple[Packets, Packets]] = field(default_factory=dict)
    _queues: dict[tuple[str, str], tuple[Packets, int]] = field(default_factory=dict)

    def set_term(self, filter_name: str, term: str, came: Packets, exceeded: Packets, in_force: Element) -> None:
        """
        Raises:
            KeyError: the router has no such term, or it counts nothing.
        """
        self.follow(in_force)
        filters = dict(_filters(in_force))
        terms = filters[filter_name].iterfind("term") if filter_name in filters else ()
        if not any(one.findtext("name") == term and one.findtext("then/count") for one in terms):
            raise KeyError(f"{filter_name} {term}")
        self._terms[filter_name, term] = came, exceeded

    def set_queue(self, port: str, forwarding_class: str, sent: Packets, dropped_packets: int) -> None:
        self._queues[port, forwarding_class] = sent, dropped_packets

    def clear(self) -> None:
        """`clear firewall all` and `clear interfaces statistics all`; or the router began anew."""
        self._terms.clear()
        self._queues.clear()

    def follow(self, in_force: Element) -> None:
        """Filters that are otherwise than they were, or gone, count from zero."""
        texts = {name: str(etree.tostring(root, encoding="unicode")) for name, root in _filters(in_force)}
        kept = {name for name, text in texts.items() if self._filters.get(name) == text}
        self._terms = {key: one for key, one in self._terms.items() if key[0] in kept}
        self._filters = texts

    def firewall(self, in_force: Element) -> str:
        """`firewall-information`."""
        self.follow(in_force)
        filters = "".join(self._filter(name, root) for name, root in _filters(in_force))
        return f"<firewall-information>{filters}</firewall-information>"

    def _filter(self, name: str, root: Element) -> str:
        counted = ""
        for term in root.iterfind("term"):
            term_name = term.findtext("name") or ""
            came, exceeded = self._terms.get((name, term_name), (NONE, NONE))
            if counter := term.findtext("then/count"):
                counted += _counter("counter", counter, came)
            if policer := _policer(term):
                counted += _counter("policer", f"{policer}-{term_name}", exceeded)
        return f"<filter-information><filter-name>{escape(name)}</filter-name>{counted}</filter-information>"

    def queues(self, in_force: Element) -> str:
        """`interface-information` of ports with queues that were counted."""
        ports: dict[str, str] = {}
        for number, ((port, name), (sent, dropped)) in enumerate(sorted(self._queues.items())):
            ports[port] = ports.get(port, "") + _queue(number, name, sent, dropped)
        inner = "".join(
            f"<{_kind(port)}><name>{escape(port)}</name><queue-counters>{queues}</queue-counters></{_kind(port)}>"
            for port, queues in ports.items()
        )
        return f"<interface-information>{inner}</interface-information>"


def _filters(in_force: Element) -> Iterator[tuple[str, Element]]:
    for one in in_force.iterfind("firewall/family/inet/filter"):
        yield one.findtext("name") or "", one


def _policer(term: Element) -> str:
    then = term.find("then")
    if then is None:
        return ""
    kinds = ("policer", "three-color-policer/two-rate", "three-color-policer/single-rate")
    return next((text for kind in kinds if (text := then.findtext(kind))), "")


def _counter(kind: str, name: str, count: Packets) -> str:
    numbers = f"<packet-count>{count.packets}</packet-count><byte-count>{count.octets}</byte-count>"
    return f"<{kind}><{kind}-name>{escape(name)}</{kind}-name>{numbers}</{kind}>"


def _kind(port: str) -> str:
    return "logical-interface" if "." in port else "physical-interface"


def _queue(number: int, name: str, sent: Packets, dropped: int) -> str:
    parts = {
        "queued-packets": sent.packets + dropped, "trans-packets": sent.packets, "trans-bytes": sent.octets,
        "tail-drop-packets": dropped, "total-drop-packets": dropped,
    }  # fmt: skip
    inner = "".join(f"<queue-counters-{key}>{value}</queue-counters-{key}>" for key, value in parts.items())
    head = f"<queue-number>{number}</queue-number><forwarding-class-name>{escape(name)}</forwarding-class-name>"
    return f"<queue>{head}{inner}</queue>"
