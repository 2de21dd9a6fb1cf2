"""What a domain asks its neighbour about an SLS between them: to open, change or end it (ADR 93).

Two domains need not call an interface alike: they agree on the link by the addresses of its two ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any

from pydantic import ValidationError

from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.timebase import iso
from slotcar.base.units import format_rate
from slotcar.base.vocabulary import RESERVED_SERVICES, Service
from slotcar.book.agreed_slss import AgreedSls, SlsAttempt, SlsForm
from slotcar.domains.errors import NotThatWay
from slotcar.domains.tickets import digest_of
from slotcar.network import Network
from slotcar.network.model import Interface, InterfaceId, Sls
from slotcar.network.sls_terms import sls_of, sources_wrong
from slotcar.network.variables import SLS_NAME

#: By this an attempt about an SLS is told from a connection that carries something.
PREFIX = "sls:"
LONGEST_TEXT, LONGEST_REASON, LONGEST_NAME = 20_000, 500, 128
#: Of an inventory's words for an SLS, those that may change, and what each is of an SLS.
_CHANGEABLE = {
    "rate": "rate_bps", "burst": "burst_bytes", "peak": "peak_bps", "validity": "validity", "schedule": "schedule",
    "delay": "delay_us", "variation": "variation_us", "loss": "loss_ppm", "quantile": "quantile_ppm", "excess": "excess",
    "description": "description", "pscheduler": "pscheduler",
}  # fmt: skip
#: Of an SLS, what each domain calls or has by itself, and no other domain gets.
_OWN = frozenset({"ingress", "egresses", "pscheduler", "agreed"})
#: So many interfaces a scope may name.
MOST_EGRESSES = 64


def is_about_sls(connection_id: str) -> bool:
    return connection_id.startswith(PREFIX)


@dataclass(frozen=True, slots=True)
class SlsRequest:
    """Attributes:
    form: what is asked for; its ingress is this domain's name of it, and travels by address.
    of: the attempt that opened it; empty of an opening, which is its own.
    until: the later end of this form and of the one in force: so long a domain may be in doubt which of them holds.
    reason: one line, for the logs of both domains; may be empty.
    origin: the domain that asks. actor, requester: there, who asked for it; nobody else gets that.
    ingress, egress: the addresses of the link's ends, where traffic comes in and where it leaves.
    """

    form: SlsForm
    until: datetime
    of: str
    origin: str
    ingress: str
    egress: str
    reason: str = ""
    actor: str = ""
    requester: Mapping[str, Any] | None = None

    @property
    def sls(self) -> Sls:
        return self.form.sls

    @property
    def other(self) -> str:
        """The domain that is asked."""
        return self.sls.downstream if self.origin == self.sls.upstream else self.sls.upstream

    def attempt(self, connection_id: str, actor: str, own: str) -> SlsAttempt:
        """`own`: the domain whose ledger does it. What measures an SLS there stays where the other one asks."""
        of = self.of or connection_id
        return SlsAttempt(connection_id, of, self.form, actor, self.reason, keeps_sources=self.origin != own)

    @property
    def digest(self) -> str:
        return digest_of(self._agreed)

    @property
    def _agreed(self) -> dict[str, Any]:
        """What both domains have in the same words."""
        return {
            "sls": self.sls.model_dump(mode="json", exclude=set(_OWN)),
            "ended_at": iso(self.form.ended_at) if self.form.ended_at else None,
            "until": iso(self.until), "of": self.of, "origin": self.origin, "ingress": self.ingress, "egress": self.egress,
            "reason": self.reason,
        }  # fmt: skip

    def to_text(self, *, own: bool) -> str:
        """`own`: with what no other domain gets."""
        asker: dict[str, Any] = {"actor": self.actor, "requester": self.requester} if own and self.actor else {}
        if own and self.sls.pscheduler:
            asker["pscheduler"] = [one.model_dump(mode="json") for one in self.sls.pscheduler]
        return json.dumps(self._agreed | asker, sort_keys=True)

    @classmethod
    def from_text(cls, text: str, network: Network) -> SlsRequest:
        """
        Raises:
            NotThatWay: it is none, or about a link that this domain does not have so.
        """
        try:
            if len(text) > LONGEST_TEXT:
                raise ValueError
            document: dict[str, Any] = json.loads(text)
            of, origin, reason, *link = [document[name] for name in ("of", "origin", "reason", "ingress", "egress")]
            if not all(
                isinstance(each, str) and each.isprintable() and len(each) <= 200 for each in (of, origin, *link)
            ):
                raise ValueError
            ended_at = datetime.fromisoformat(document["ended_at"]) if document["ended_at"] else None
            if not isinstance(reason, str) or not reason.isprintable() or len(reason) > LONGEST_REASON:
                raise ValueError
            until = datetime.fromisoformat(document["until"])
            if until.tzinfo is None or (ended_at is not None and ended_at.tzinfo is None):
                raise ValueError
            until, ended_at = until.astimezone(UTC), ended_at.astimezone(UTC) if ended_at else None
            sls = _sls_of(document["sls"], document.get("pscheduler", ()), link, network)
            if (
                sls.validity is None
                or until < sls.validity.end
                or not SLS_NAME.fullmatch(sls.name)
                or len(sls.name) > LONGEST_NAME
            ):
                raise ValueError
        except (
            ValueError, OverflowError, KeyError, TypeError, AttributeError, RecursionError, ValidationError
        ) as error:  # fmt: skip
            raise NotThatWay("what was asked is no request for an SLS") from error
        actor, requester = str(document.get("actor", "")), document.get("requester")
        return cls(SlsForm(sls, ended_at), until, of, origin, link[0], link[1], reason, actor, requester)


def _sls_of(written: Mapping[str, Any], sources: object, link: Sequence[str], network: Network) -> Sls:
    """
    Args:
        sources: what measures it, of a request of this domain's own.

    Raises:
        NotThatWay: see `interface_at`, `interfaces_at`. ValueError, KeyError, TypeError: it is none.
    """
    if _OWN & written.keys():
        raise ValueError
    downstream, scope = str(written["downstream"]), list(map(str, written.get("scope", ())))
    place = interface_at(network, downstream, str(written["upstream"]), *link)
    named = interfaces_at(network, downstream, scope)
    own = {
        "ingress": place.model_dump(mode="json"), "egresses": [one.model_dump(mode="json") for one in named],
        "pscheduler": sources,
    }  # fmt: skip
    return Sls.model_validate({**written, **own})


def interfaces_at(network: Network, domain: str, addresses: Sequence[str]) -> tuple[InterfaceId, ...]:
    """The domain's interfaces with these addresses. Of another controller's domain those that are drawn.

    Raises:
        NotThatWay: the domain is this controller's, and has none at one of them. ValueError: they are too many, or none.
    """
    if len(addresses) > MOST_EGRESSES or [str(ip_address(one)) for one in addresses] != list(addresses):
        raise ValueError
    devices = [device for device in network.devices.values() if device.domain == domain]
    known = {each.own_address: each.id for device in devices for each in device.interfaces.values()}
    unknown = [one for one in addresses if one not in known]
    if unknown and not network.domains[domain].elsewhere:
        raise NotThatWay(f"{domain} has no interface with the address {unknown[0]}, which the scope of the SLS names")
    return tuple(known[one] for one in addresses if one in known)


def interface_at(network: Network, downstream: str, upstream: str, ingress: str, egress: str) -> InterfaceId:
    """The interface of `downstream` with an address, whose neighbour of `upstream` has the other one.

    Raises:
        NotThatWay: there is none.
    """
    links = {_ends(each, network): each.id for each in _borders(network, downstream, upstream)}
    if (ingress, egress) not in links:
        listed = ", ".join(" – ".join(ends) for ends in sorted(links)) or "there is none"
        raise NotThatWay(
            f"there is no link from {upstream} at {egress} into {downstream} at {ingress}; links of the two: {listed}:"
            " have the two inventories name the same link"
        )
    return links[ingress, egress]


def _borders(network: Network, downstream: str, upstream: str) -> list[Interface]:
    return [
        interface
        for device in network.devices.values()
        if device.domain == downstream
        for interface in device.interfaces.values()
        if interface.neighbour is not None
        and network.has([interface.neighbour])
        and network.domain_of(interface.neighbour).name == upstream
    ]


def _ends(interface: Interface, network: Network) -> tuple[str, str]:
    assert interface.neighbour is not None
    other = network.interface(interface.neighbour)
    return interface.own_address, other.own_address


def opening(body: Mapping[str, Any], network: Network, own: str, place: str = "request") -> SlsRequest:
    """The request for an SLS in an inventory's words, with its name.

    Raises:
        InvalidInput: it is none that two domains can agree on.
    """
    name = str(body.get("name", ""))
    if not SLS_NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        hint = "use letters, digits, `.`, `_` and `-`"
        raise InvalidInput([Problem(place, 0, "name", "is no name for an SLS", name, hint)])
    sls = sls_of(name, {key: value for key, value in body.items() if key != "name"}, network, place)
    _require_between(sls, network, own, place)
    scope = tuple(network.interface(one).own_address for one in sls.egresses)
    sls = sls.model_copy(update={"scope": scope})
    assert sls.validity is not None
    return _request(SlsForm(sls), sls.validity.end, "", network, own)


def changed_terms(before: Sls, change: Mapping[str, Any], network: Network, place: str = "request") -> Sls:
    """An SLS with what an inventory's words say of it; what they leave out stays.

    Raises:
        InvalidInput: they are none, or about what cannot change.
    """
    wrong = sorted(change.keys() - _CHANGEABLE.keys())
    if wrong or not change:
        hint = f"say some of {', '.join(_CHANGEABLE)}"
        what = "cannot change" if wrong else "is missing"
        raise InvalidInput([Problem(place, 0, key, what, "", hint) for key in wrong or ["change"]])
    if isinstance(change.get("validity"), Mapping) and before.validity is not None:
        whole = {"start": before.validity.start, "end": before.validity.end}
        change = {**change, "validity": {**whole, **change["validity"]}}
    needed = {"upstream": before.upstream, "service": before.service.value, "ingress": str(before.ingress)}
    words = {**needed, "rate": "1 Mbit/s", "burst": "1500 B", **change}
    written = sls_of(before.name, words, network, place)
    after = before.model_copy(update={_CHANGEABLE[key]: getattr(written, _CHANGEABLE[key]) for key in change})
    problems = figures_wrong(after, network.interface(after.ingress))
    if problems:
        raise InvalidInput([Problem(place, 0, *each) for each in problems])
    return after


def change_of(agreed: AgreedSls, form: SlsForm, network: Network, own: str, reason: str = "") -> SlsRequest:
    """The request for another form of an SLS that is in force."""
    assert agreed.in_force is not None
    assert form.sls.validity is not None
    return _request(form, max(form.sls.validity.end, agreed.in_force.end), agreed.id, network, own, reason)


def _request(form: SlsForm, until: datetime, of: str, network: Network, own: str, reason: str = "") -> SlsRequest:
    ingress, egress = _ends(network.interface(form.sls.ingress), network)
    return SlsRequest(form, until, of, own, ingress, egress, reason)


def _require_between(sls: Sls, network: Network, own: str, place: str) -> None:
    problems = [Problem(place, 0, key, what, shown, hint) for key, what, shown, hint in _wrong(sls, network, own)]
    if problems:
        raise InvalidInput(problems)


def _wrong(sls: Sls, network: Network, own: str) -> list[tuple[str, str, str, str]]:
    problems: list[tuple[str, str, str, str]] = []
    interface = network.interface(sls.ingress)
    sides = network.domain_of(interface.neighbour).name if interface.neighbour else "", sls.downstream
    if own not in (sls.upstream, sls.downstream):
        problems.append(
            ("upstream", "is not between this domain and a neighbour", sls.upstream, f"say where {own} is")
        )
    elif sides != (sls.upstream, sls.downstream):
        hint = f"say an interface where traffic of {sls.upstream} comes in"
        problems.append(("ingress", f"does not face {sls.upstream}", str(sls.ingress), hint))
    elif not all(_ends(interface, network)):
        problems.append(
            ("ingress", "has no addresses at both ends, by which two domains name a link", str(sls.ingress), "")
        )
    if sls.validity is None:
        problems.append(("validity", "is missing", "", "say from when until when: `{start: …, end: …}`"))
    if sls.service is Service.ASSURED_RATE and interface.assured_classes and not sls.assured_class:
        hint = "write an SLS for one of them in the inventories of both"
        problems.append(("service", f"has several classes in {sls.downstream}", sls.service.value, hint))
    of_inventory = {"assured_class": sls.assured_class, "code_points": sls.code_points}
    for key, value in of_inventory.items():
        if value:
            problems.append((key, "cannot be agreed on between controllers", "", "leave it out"))
    problems += _scope_wrong(sls, network)
    problems += figures_wrong(sls, interface)
    return problems


def _scope_wrong(sls: Sls, network: Network) -> Iterator[tuple[str, str, str, str]]:
    if len(sls.egresses) > MOST_EGRESSES:
        yield "egress", "names too many interfaces", str(len(sls.egresses)), f"at most {MOST_EGRESSES}"
    for one in sls.egresses:
        if not network.has([one]):
            yield "egress", "is no interface of the inventory", str(one), ""
        elif network.domain_of(one).name != sls.downstream:
            hint = f"say an interface of {sls.downstream}: what it promises ends there"
            yield "egress", "is an interface of another domain", str(one), hint
        elif one == sls.ingress:
            yield "egress", "is where the traffic comes in", str(one), "say where it may leave"
        elif not network.interface(one).own_address:
            yield "egress", "has no address, by which two domains name an interface", str(one), ""


def figures_wrong(sls: Sls, interface: Interface) -> list[tuple[str, str, str, str]]:
    """What cannot be meant of an SLS at its ingress: keys, sentences, what was written, and what to say instead."""
    problems: list[tuple[str, str, str, str]] = []
    if sls.service not in RESERVED_SERVICES:
        problems.append(("service", "is no service that an SLS can promise", sls.service.value, ""))
    if sls.rate_bps > interface.capacity_bps:
        carries = format_rate(interface.capacity_bps)
        message = f"is more than the link carries, {carries} at {interface.id}"
        problems.append(("rate", message, format_rate(sls.rate_bps), ""))
    if sls.peak_bps is not None and sls.peak_bps < sls.rate_bps:
        hint = f"say at least the rate, {format_rate(sls.rate_bps)}"
        problems.append(("peak", "is less than the rate", format_rate(sls.peak_bps), hint))
    problems += [("pscheduler", message, written, hint) for _, message, written, hint in sources_wrong(sls)]
    return problems
