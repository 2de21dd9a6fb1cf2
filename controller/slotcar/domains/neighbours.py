"""The neighbours of a domain: where their controllers are asked, and by which keys they are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from slotcar.domains.errors import KeyUnusable, NotAuthentic
from slotcar.domains.keys import DomainCertificate, load_certificate
from slotcar.network import Network
from slotcar.network.elsewhere import neighbours_of


@dataclass(frozen=True, slots=True)
class Neighbour:
    """`controller`: its address of https."""

    name: str
    controller: str
    certificate: DomainCertificate


@dataclass(slots=True)
class Meetings:
    """What was heard of each neighbour since this controller began.

    Attributes:
        differences: by how much its clock is ahead. troubles: why it was not reached, or not believed, last.
    """

    differences: dict[str, timedelta] = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)


def load_neighbours(network: Network, own: str, folder: Path) -> dict[str, Neighbour]:
    """The neighbours that the inventory says a controller and a certificate of.

    Raises:
        KeyUnusable: a certificate is none, or two neighbours have the same.
    """
    neighbours: dict[str, Neighbour] = {}
    for name in neighbours_of(network, own):
        domain = network.domains[name]
        if domain.nsi is not None and domain.nsi.provider:
            continue  # it is asked by NSI
        if not domain.controller and not domain.certificate:
            continue
        if not (domain.controller and domain.certificate):
            raise KeyUnusable(f"the neighbour {name} needs both, `controller` and `certificate`, in slotcar_domain")
        certificate = load_certificate(name, folder / domain.certificate)
        for other in neighbours.values():
            if other.certificate.fingerprint == certificate.fingerprint:
                raise KeyUnusable(f"{other.name} and {name} have the same certificate")
        neighbours[name] = Neighbour(name, domain.controller, certificate)
    return neighbours


def known(neighbours: Mapping[str, Neighbour], name: str, own: str) -> Neighbour:
    """
    Raises:
        NotAuthentic: it is no neighbour that the inventory has.
    """
    try:
        return neighbours[name]
    except KeyError:
        listed = ", ".join(sorted(neighbours)) or "none"
        raise NotAuthentic(f"{own} knows no neighbour {name or 'without a name'}; it has {listed}") from None
