"""Code points at a border: what a domain has agreed with its neighbour that comes in, and what it has itself."""

from __future__ import annotations

from collections.abc import Mapping

from slotcar.base.registry import facts_of
from slotcar.base.vocabulary import CODE_POINTS, Marking, Service
from slotcar.network.model import Device, Domain, Sls

OPTION = "marking"


def marking_at(device: Device) -> Marking:
    """What the device tells services by. An option that is none of its platform's is noted elsewhere."""
    markings = facts_of(device.platform).markings
    option = device.options.get(OPTION)
    return Marking(option) if option in markings else markings[0]


def arriving_at(sls: Sls, domains: Mapping[str, Domain], device: Device) -> tuple[int, ...]:
    """The code points of what an SLS is for, as it comes in at `device`, by drop precedence: those that were agreed on;
    else those of the upstream domain."""
    if sls.code_points:
        return sls.code_points
    upstream = domains.get(sls.upstream)
    if sls.service is not Service.ASSURED_RATE or upstream is None:
        return own_code_points(sls, domains, device)
    if sls.assured_class in upstream.assured_classes:
        return upstream.assured_classes[sls.assured_class].dscps
    return own_code_points(sls, domains, device) if upstream.is_unreserved else _of_service(sls.service, device)


def own_code_points(sls: Sls, domains: Mapping[str, Domain], device: Device) -> tuple[int, ...]:
    """The code points that the downstream domain has for it."""
    classes = domains[sls.downstream].assured_classes if sls.downstream in domains else {}
    if sls.service is Service.ASSURED_RATE and sls.assured_class in classes:
        return classes[sls.assured_class].dscps
    return _of_service(sls.service, device)


def remarked(sls: Sls, domains: Mapping[str, Domain], device: Device) -> tuple[int, ...]:
    """What comes in with other code points than the downstream domain's own; nothing where they are the same."""
    arriving = arriving_at(sls, domains, device)
    return () if arriving == own_code_points(sls, domains, device) else arriving


def _of_service(service: Service, device: Device) -> tuple[int, ...]:
    """Each once: by IP precedence an assured rate has two."""
    return tuple(dict.fromkeys(CODE_POINTS[marking_at(device)][service]))
