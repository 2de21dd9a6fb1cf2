"""Checks of a domain's classes of the assured rate: code points, platforms, and the SLSs that lead into them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slotcar.base.model_errors import listed, nearest
from slotcar.base.registry import facts_of
from slotcar.base.vocabulary import CODE_POINTS, DSCP, Marking, Service
from slotcar.network.building import InventoryDraft
from slotcar.network.code_points import arriving_at, marking_at, own_code_points, remarked
from slotcar.network.findings import Findings
from slotcar.network.model import Device, Domain, Sls
from slotcar.network.reading import Key

#: Code points that no class may have: of other services, and of network control (RFC 4594).
_TAKEN = {
    DSCP[Service.IP_PREMIUM]: "is that of ip-premium",
    DSCP[Service.BEST_EFFORT]: "is that of best-effort",
    48: "is that of routing protocols",
    56: "is that of routing protocols",
}


def check_assured_classes(draft: InventoryDraft, findings: Findings) -> None:
    """Notes code points that two have, classes that a platform cannot serve, and SLSs that name the wrong class."""
    for name, domain in draft.domains.items():
        if domain.assured_classes:
            _code_points(draft, domain, findings)
            _scavenger(draft, domain, findings)
            for device in _configured(draft, name):
                _platform(draft, device, domain, findings)
    for sls in draft.sls.values():
        _sls(draft, sls, findings)
        _remarking(draft, sls, findings)
    _arriving(draft, findings)


def classes_key(*last: str) -> Key:
    return ("slotcar_domain", "assured_classes", *last)


def _points(dscps: Iterable[int]) -> str:
    return ", ".join(map(str, dscps))


def _configured(draft: InventoryDraft, domain: str) -> Iterator[Device]:
    for device in draft.devices.values():
        if draft.domain_of[device.name] == domain and not device.resources and device.interfaces:
            yield device


def _code_points(draft: InventoryDraft, domain: Domain, findings: Findings) -> None:
    owners: dict[int, str] = {}
    for name, one in domain.assured_classes.items():
        for dscp in one.dscps:
            key = classes_key(name, "code_points")
            hint = "every code point is of one class"
            if dscp in _TAKEN:
                findings.add(draft.groups[domain.name], key, _TAKEN[dscp], dscp, "say another one")
            elif dscp in owners:
                findings.add(draft.groups[domain.name], key, f"is that of the class {owners[dscp]} too", dscp, hint)
            owners.setdefault(dscp, name)


def _scavenger(draft: InventoryDraft, domain: Domain, findings: Findings) -> None:
    """QBSS goes by a code point that a class may have: then it is not offered in the domain."""
    taking = [name for name, one in domain.assured_classes.items() if DSCP[Service.QBSS] in one.dscps]
    for device in _configured(draft, domain.name) if taking else ():
        for interface in device.interfaces.values():
            if interface.shares_ppm.get(Service.QBSS, 0):
                dscp = DSCP[Service.QBSS]
                message = f"has a share on {interface.id}, and its code point {dscp} is the class {taking[0]}'s"
                hint = f"leave qbss out of the shares in {domain.name}, or give {taking[0]} another code point"
                own = ("slotcar_interfaces", interface.id.name, "shares")
                key = own if own in draft.nodes[device.name].places else ("slotcar_shares",)
                findings.add(draft.nodes[device.name], (*key, "qbss"), message, "", hint)
                return


def _platform(draft: InventoryDraft, device: Device, domain: Domain, findings: Findings) -> None:
    facts, classes = facts_of(device.platform), domain.assured_classes
    node, wanted = draft.nodes[device.name], len(classes)
    if wanted > facts.most_assured_classes:
        most = facts.most_assured_classes
        many = f"{most} classes of the assured rate at most" if most else "one assured rate alone, without classes"
        message = f"has {many}, and {domain.name} has {wanted}: {', '.join(classes)}"
        hint = facts.classes_words or f"leave {device.name} in a domain with fewer classes"
        findings.add(node, ("slotcar_platform",), message, device.platform, hint)
        return
    if marking_at(device) is Marking.PRECEDENCE:
        premium = CODE_POINTS[Marking.PRECEDENCE][Service.IP_PREMIUM]
        for name, one in classes.items():
            if wrong := [dscp for dscp in one.dscps if dscp % 8 or dscp in premium]:
                message = f"cannot be told apart on {device.name}, which goes by IP precedence"
                hint = "say 8 times a precedence that no other service has, such as `[24, 16]`"
                findings.add(
                    draft.groups[domain.name], classes_key(name, "code_points"), message, _points(wrong), hint
                )


def _sls(draft: InventoryDraft, sls: Sls, findings: Findings) -> None:
    """Whether the SLS names a class where it must, and only there."""
    node, key = draft.groups[sls.downstream], ("slotcar_sls", sls.name, "assured_class")
    classes = draft.domains[sls.downstream].assured_classes
    if sls.service is not Service.ASSURED_RATE:
        if sls.assured_class:
            findings.add(node, key, f"cannot be of {sls.service}", sls.assured_class, "only assured-rate has classes")
        return
    if not classes:
        upstream = draft.domains.get(sls.upstream)
        if sls.assured_class:
            hint = f"name its classes in slotcar_domain of {sls.downstream}, or leave it out"
            findings.add(node, key, f"is no class: {sls.downstream} names none", sls.assured_class, hint)
        elif upstream is not None and upstream.assured_classes and not upstream.over_provisioned:
            message = f"is for one class, and {sls.upstream} has {listed(list(upstream.assured_classes))}"
            hint = f"name classes in slotcar_domain of {sls.downstream} too: each has its own SLS"
            findings.add(node, key[:-1], message, "", hint)
    elif not sls.assured_class:
        hint = f"say `assured_class: {next(iter(classes))}`; each class has its own SLS"
        findings.add(node, key, f"is missing: {sls.downstream} has the classes {listed(list(classes))}", "", hint)
    elif sls.assured_class not in classes:
        hint = nearest(sls.assured_class, list(classes))
        findings.add(node, key, f"is no assured class of {sls.downstream}", sls.assured_class, hint)


def _remarking(draft: InventoryDraft, sls: Sls, findings: Findings) -> None:
    """Whether the router at the border can give what comes in another code point."""
    device = draft.devices.get(sls.ingress.device)
    if device is None or not (arriving := remarked(sls, draft.domains, device)):
        return
    node, key = draft.groups[sls.downstream], ("slotcar_sls", sls.name, "code_points")
    if len(arriving) > 1 and sls.service is not Service.ASSURED_RATE:
        findings.add(node, key, f"are more than {sls.service} has", _points(arriving), "say one")
    if not facts_of(device.platform).remarks:
        message = f"have to become others at {sls.ingress}, and {device.platform} cannot change them there"
        hint = f"agree on those of {sls.downstream}: {_points(own_code_points(sls, draft.domains, device))}"
        findings.add(node, key, message, _points(arriving), hint)
    elif marking_at(device) is Marking.PRECEDENCE and (wrong := [dscp for dscp in arriving if dscp % 8]):
        message = f"cannot be told apart on {device.name}, which goes by IP precedence"
        findings.add(node, key, message, _points(wrong), "say class selectors: 8 times the precedence")


def _arriving(draft: InventoryDraft, findings: Findings) -> None:
    """Nobody can tell apart what comes in with the same code points for two SLSs; of those that follow each other in time
    one holds at once."""
    known: dict[tuple[str, str, int], Sls] = {}
    for sls in draft.sls.values():
        device = draft.devices.get(sls.ingress.device)
        if device is None or not (sls.code_points or sls.assured_class):
            continue
        for dscp in arriving_at(sls, draft.domains, device):
            other = known.setdefault((str(sls.ingress), sls.upstream, dscp), sls)
            if (other.service, other.assured_class) != (sls.service, sls.assured_class):
                node, key = draft.groups[sls.downstream], ("slotcar_sls", sls.name, "code_points")
                message = f"are those of {other.name} too: DSCP {dscp} at {sls.ingress}"
                findings.add(node, key, message, "", "say what was agreed with the neighbour for each")
                break
