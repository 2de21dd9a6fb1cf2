"""The network as its inventory says it: domains, devices, links, SLSs, and where a map draws them. Pure."""

from __future__ import annotations

from slotcar.admission.resource_id import SLS, ResourceId
from slotcar.admission.resources import parts_of
from slotcar.base.assured import class_key
from slotcar.network.model import Device, Domain, Interface, InterfaceId, Network, Sls
from slotcar.views.documents import window_document
from slotcar_client.wire import documents


def network_document(network: Network) -> documents.Topology:
    return {
        "domains": [_domain(domain) for _, domain in sorted(network.domains.items())],
        "devices": [_device(device) for _, device in sorted(network.devices.items())],
        "links": [_link(*ends, network) for ends in links_of(network)],
        "sls": [_sls(agreement) for _, agreement in sorted(network.sls.items())],
        "hosts": [
            {
                "name": host.name,
                "domain": host.domain,
                "address": str(host.address),
                "attached_to": str(host.attached_to),
            }
            for _, host in sorted(network.hosts.items())
        ],
    }


def _domain(domain: Domain) -> documents.Domain:
    document: documents.Domain = {
        "name": domain.name,
        "over_provisioned": domain.over_provisioned,
        "description": domain.description,
    }
    if domain.assured_classes:
        document["assured_classes"] = [
            {"name": name, "code_points": list(one.dscps)} for name, one in domain.assured_classes.items()
        ]
    return document


def links_of(network: Network) -> tuple[tuple[InterfaceId, InterfaceId], ...]:
    """Both ends of each link between two devices, each link once, by their names."""
    links: set[tuple[InterfaceId, InterfaceId]] = set()
    for device in network.devices.values():
        for interface in device.interfaces.values():
            other = interface.neighbour
            if other is not None and other.device in network.devices:
                first, second = sorted((interface.id, other), key=str)
                links.add((first, second))
    return tuple(sorted(links, key=lambda ends: (str(ends[0]), str(ends[1]))))


def description_of(resource: ResourceId, network: Network) -> str:
    """The operator's own words of the interface or the SLS; empty where there are none, or the network has it no more."""
    if resource.kind == SLS:
        return network.sls[resource.place].description if resource.place in network.sls else ""
    place = resource.interface
    interfaces = network.devices[place.device].interfaces if place and place.device in network.devices else {}
    return interfaces[place.name].description if place and place.name in interfaces else ""


def _device(device: Device) -> documents.Device:
    return {
        "name": device.name,
        "domain": device.domain,
        "platform": device.platform,
        "position": {"x": device.position[0], "y": device.position[1]} if device.position else None,
        "interfaces": [_interface(one) for _, one in sorted(device.interfaces.items())],
    }


def _interface(interface: Interface) -> documents.Interface:
    return {
        "name": interface.id.name,
        "role": interface.role.value,
        "capacity_bps": interface.capacity_bps,
        "address": str(interface.address) if interface.address else None,
        "neighbour": str(interface.neighbour) if interface.neighbour else None,
        "reserved_shares": {
            class_key(*part): interface.share_bps(*part)
            for part in sorted(parts_of(interface))
            if interface.share_bps(*part)
        },
        "description": interface.description,
    }


def _link(first: InterfaceId, second: InterfaceId, network: Network) -> documents.Link:
    return {
        "ends": [str(first), str(second)],
        "capacity_bps": min(network.interface(end).capacity_bps for end in (first, second)),
    }


def _sls(agreement: Sls) -> documents.Sls:
    document: documents.Sls = {
        "name": agreement.name,
        "upstream": agreement.upstream,
        "downstream": agreement.downstream,
        "service": agreement.service.value,
        "rate_bps": agreement.rate_bps,
        "peak_bps": agreement.peak_bps,
        "ingress": str(agreement.ingress),
        "egress": [str(one) for one in agreement.egresses],
        "validity": window_document(agreement.validity) if agreement.validity else None,
        "schedule": str(agreement.schedule) if agreement.schedule else None,
        "delay_us": agreement.delay_us,
        "variation_us": agreement.variation_us,
        "loss_ppm": agreement.loss_ppm,
        "quantile_ppm": agreement.quantile_ppm,
        "excess": agreement.excess,
        "description": agreement.description,
    }
    if agreement.assured_class:
        document["assured_class"] = agreement.assured_class
    if agreement.code_points:
        document["code_points"] = list(agreement.code_points)
    return document
