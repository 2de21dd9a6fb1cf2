"""`intents_at`: the device-by-device meaning of a set of active reservations (docs/design.md rule 13)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from slotcar.base.assured import UNNAMED, AssuredClass
from slotcar.base.vocabulary import InterfaceRole, Service
from slotcar.network.code_points import remarked
from slotcar.network.model import Device, Domain, Interface, InterfaceId, Network, Sls
from slotcar.platforms.intent.allocations import allocations_of
from slotcar.platforms.intent.egress import Load, egress_of, load_of
from slotcar.platforms.intent.flows import flows_of, without_twins
from slotcar.platforms.intent.model import ActiveReservation, AggregatePolicer, EdgeFlow, QosIntent


def intents_at(
    active: Iterable[ActiveReservation],
    network: Network,
    at: datetime | None = None,
    devices: Collection[str] | None = None,
    beside: Load | None = None,
) -> dict[str, QosIntent]:
    """What every managed device must do while exactly `active` is active, keyed by device name.

    A device with nothing active still has its baseline: standing scheduling classes, SLS policers and the rule for
    unentitled code points. Devices of over-provisioned domains get no intent (D7.3 §3.2.1). `at` is the instant, for
    the validity of SLSs; without it every SLS is taken as valid. With `devices` only these are asked for.
    `beside` is what others ask of the egresses, none of which enters at these devices.
    """
    everything = [one for _, one in sorted({one.entry.number: one for one in active}.items())]
    ordered = [one for one in everything if one.entry.reservation.claim is None]
    allocations = allocations_of(one for one in everything if one.entry.reservation.claim is not None)
    flows: dict[str, list[EdgeFlow]] = {}
    for one in ordered:
        for flow in flows_of(one.entry, one.slot, network, devices):
            flows.setdefault(flow.interface.device, []).append(flow)
    load = load_of(ordered, network, devices, beside, at)
    names = network.devices.keys() if devices is None else network.devices.keys() & set(devices)
    return {
        device.name: QosIntent(
            device=device.name,
            platform=device.platform,
            flows=without_twins(flows.get(device.name, ())),
            aggregates=_aggregates(device, network, at),
            egress=tuple(egress_of(interface, load) for _, interface in sorted(device.interfaces.items())),
            untrusted=tuple(sorted(_untrusted(device, network), key=str)),
            assured=_classes_of(network.domains[device.domain]),
            allocations=tuple(sorted(allocations.get(device.name, ()))),
        )
        for device in map(network.devices.__getitem__, sorted(names))
        if network.is_configured(device)
    }


def _aggregates(device: Device, network: Network, at: datetime | None) -> tuple[AggregatePolicer, ...]:
    """SLSs whose ingress is on this device, at their agreed rate: static SLAs (GARA §4.1, §4.2)."""
    policers = [
        AggregatePolicer(
            interface=sls.ingress,
            sls=sls.name,
            service=sls.service,
            rate_bps=sls.rate_bps,
            burst_bytes=sls.burst_bytes,
            excess=sls.excess,
            assured=_class_of(sls, device),
            arriving=remarked(sls, network.domains, device),
        )
        for sls in network.sls.values()
        if sls.ingress.device == device.name and (at is None or sls.validity is None or sls.validity.contains(at))
    ]
    return tuple(sorted(policers, key=lambda one: (one.interface.name, one.sls)))


def _classes_of(domain: Domain) -> tuple[AssuredClass, ...]:
    return tuple(domain.assured_classes.values()) or (UNNAMED,)


def _class_of(sls: Sls, device: Device) -> AssuredClass:
    classes = device.interfaces[sls.ingress.name].assured_classes if sls.service is Service.ASSURED_RATE else ()
    return next((one for one in classes if one.name == sls.assured_class), UNNAMED)


def _untrusted(device: Device, network: Network) -> Iterable[InterfaceId]:
    """Interfaces where a code point entitles to nothing unless a flow or an SLS of that interface says so."""
    for interface in device.interfaces.values():
        if interface.role is InterfaceRole.EDGE or (
            interface.role is InterfaceRole.INTER_DOMAIN and not _faces_transit(interface, network)
        ):
            yield interface.id


def _faces_transit(interface: Interface, network: Network) -> bool:
    """Whether the peer is over-provisioned: it passes code points of a domain beyond and has no SLS of its own."""
    return interface.neighbour is not None and network.domain_of(interface.neighbour).over_provisioned
