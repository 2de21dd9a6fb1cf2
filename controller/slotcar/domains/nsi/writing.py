"""NSI's messages as elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from slotcar.base.timebase import iso
from slotcar.domains.nsi import names
from slotcar.domains.nsi.messages import (
    Acknowledgment,
    Body,
    Criteria,
    ErrorMessage,
    Failed,
    Header,
    Notification,
    Notifications,
    NsiResult,
    NsiSchedule,
    NsiSummaries,
    PointToPoint,
    Query,
    Range,
    Reserve,
    Results,
    ServiceException,
    Simple,
    SoapFault,
    States,
    Summary,
)
from slotcar.domains.nsi.reading import Element

_TYPES, _P2P = f"{{{names.TYPES}}}", f"{{{names.P2P}}}"


def header_element(header: Header) -> Element:
    return _built(
        f"{{{names.HEADERS}}}nsiHeader",
        ("protocolVersion", header.protocol_version),
        ("correlationId", header.correlation_id),
        ("requesterNSA", header.requester),
        ("providerNSA", header.provider),
        ("replyTo", header.reply_to),
    )


def body_element(body: Body) -> Element:
    return _WRITERS[type(body)](body)


def _simple(body: Simple) -> Element:
    return _built(_TYPES + body.kind, ("connectionId", body.connection))


def _failed(body: Failed) -> Element:
    return _built(
        _TYPES + body.kind,
        ("connectionId", body.connection),
        _states(body.states),
        _exception(body.exception, "serviceException"),
    )


def _query(body: Query) -> Element:
    return _built(
        _TYPES + body.kind,
        *(("connectionId", each) for each in body.connections),
        *(("globalReservationId", each) for each in body.global_ids),
        ("ifModifiedSince", _instant(body.modified_since)),
    )


def _summaries(body: NsiSummaries) -> Element:
    recursive = body.kind == "queryRecursiveConfirmed"
    last = () if recursive else (("lastModified", _instant(body.last_modified)),)
    return _built(_TYPES + body.kind, *(_summary(each, recursive) for each in body.reservations), *last)


def _range(body: Range) -> Element:
    what = "Notification" if "Notification" in body.kind else "Result"
    return _built(
        _TYPES + body.kind,
        ("connectionId", body.connection),
        (f"start{what}Id", _number(body.first)),
        (f"end{what}Id", _number(body.last)),
    )


def _reserve(body: Reserve) -> Element:
    return _built(
        f"{_TYPES}{'reserveConfirmed' if body.confirmed else 'reserve'}",
        ("connectionId", body.connection),
        ("globalReservationId", body.global_id),
        ("description", body.description),
        _criteria(body.criteria),
    )


def _criteria(criteria: Criteria, *, recursive: bool = False) -> Element:
    service = criteria.service
    children = [_child(number, criteria, recursive) for number in range(len(criteria.children))]
    return _built(
        "criteria",
        _schedule(criteria.schedule),
        ("serviceType", criteria.service_type),
        # A peer of today reads the list of an answer of `queryRecursive` also where it is empty.
        *([_built("children", *children)] if children or recursive else []),
        *([_point_to_point(service)] if service else []),
        *([(f"{_P2P}capacity", str(criteria.capacity_mbps))] if criteria.capacity_mbps is not None else []),
        version=_number(criteria.version),
    )


def _child(number: int, criteria: Criteria, recursive: bool) -> Element:
    child, service = criteria.children[number], criteria.service
    common = (("connectionId", child.connection), ("providerNSA", child.provider))
    if not recursive or child.states is None:
        listed = [_point_to_point(service)] if service else []
        return _built("child", *common, ("serviceType", criteria.service_type), *listed, order=str(number))
    inner = Criteria(criteria.version, criteria.schedule, service, criteria.service_type)
    return _built("child", *common, _states(child.states), _criteria(inner, recursive=True), order=str(number))


def _schedule(schedule: NsiSchedule) -> Element:
    return _built("schedule", ("startTime", _instant(schedule.start)), ("endTime", _instant(schedule.end)))


def _point_to_point(service: PointToPoint) -> Element:
    element = etree.Element(f"{_P2P}p2ps", nsmap={"p2p": names.P2P})
    return _filled(
        element,
        (
            ("capacity", str(service.capacity_mbps)),
            ("directionality", "Bidirectional" if service.bidirectional else "Unidirectional"),
            ("symmetricPath", _truth(service.symmetric)),
            ("sourceSTP", service.source),
            ("destSTP", service.destination),
            *(_parameter(kind, value) for kind, value in service.parameters),
        ),
    )


def _parameter(kind: str, value: str) -> Element:
    element = _built("parameter", type=kind)
    element.text = value
    return element


def _states(states: States) -> Element:
    return _built(
        "connectionStates",
        ("reservationState", states.reservation.value),
        ("provisionState", states.provision.value),
        ("lifecycleState", states.lifecycle.value),
        _data_plane(active=states.active, version=states.version, consistent=states.consistent),
    )


def _data_plane(*, active: bool, version: int, consistent: bool) -> Element:
    return _built(
        "dataPlaneStatus",
        ("active", _truth(active)), ("version", str(version)), ("versionConsistent", _truth(consistent)),
    )  # fmt: skip


def _summary(summary: Summary, recursive: bool) -> Element:
    return _built(
        "reservation",
        ("connectionId", summary.connection),
        ("globalReservationId", summary.global_id),
        ("description", summary.description),
        *(_criteria(each, recursive=recursive) for each in summary.criteria),
        ("requesterNSA", summary.requester),
        _states(summary.states),
        ("notificationId", _number(summary.notification_id)),
        ("resultId", _number(summary.result_id)),
    )


def _notification(body: Notification) -> Element:
    own: list[Any] = []
    by = (("originatingConnectionId", body.connection), ("originatingNSA", body.nsa))
    match body.kind:
        case "errorEvent":
            exception = ServiceException(body.nsa, names.Fault.CONNECTION.value, body.text, body.connection)
            own = [("event", body.event), *by, *([_exception(exception, "serviceException")] if body.text else [])]
        case "reserveTimeout":
            own = [("timeoutValue", str(body.timeout_s)), *by]
        case "dataPlaneStateChange":
            own = [_data_plane(active=body.active, version=body.version, consistent=body.consistent)]
        case "messageDeliveryTimeout":
            own = [("correlationId", body.correlation_id)]
    return _built(
        _TYPES + body.kind,
        ("connectionId", body.connection),
        ("notificationId", str(body.number)),
        ("timeStamp", _instant(body.at)),
        *own,
    )


def _result(result: NsiResult) -> Element:
    return _built(
        "result",
        ("resultId", str(result.number)),
        ("correlationId", result.correlation_id),
        ("timeStamp", _instant(result.at)),
        body_element(result.body),
    )


def _exception(exception: ServiceException, name: str) -> Element:
    return _built(
        name,
        ("nsaId", exception.nsa),
        ("connectionId", exception.connection),
        ("errorId", exception.error),
        ("text", exception.text or "no reason was given"),
        *(_exception(each, "childException") for each in exception.children),
    )


def _fault(fault: SoapFault) -> Element:
    detail = []
    if fault.exception is not None:
        detail = [_built("detail", _exception(fault.exception, f"{_TYPES}serviceException"))]
    element = etree.Element(f"{{{names.SOAP}}}Fault", nsmap={"soap": names.SOAP})
    return _filled(element, (("faultcode", "soap:Server"), ("faultstring", fault.text), *detail))


def _built(tag: str, /, *children: Any, **attributes: str) -> Element:
    """An element of elements, and of names with their texts; what is empty is left out."""
    element = etree.Element(tag, {name: value for name, value in attributes.items() if value})
    return _filled(element, children)


def _filled(element: Element, children: Iterable[Any]) -> Element:
    for child in children:
        if not isinstance(child, tuple):
            element.append(child)
        elif child[1]:
            etree.SubElement(element, child[0]).text = child[1]
    return element


def _instant(at: datetime | None) -> str:
    return "" if at is None else iso(at.astimezone(UTC))


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _truth(value: bool) -> str:
    return "true" if value else "false"


_WRITERS: Mapping[type[Any], Callable[[Any], Element]] = {
    Acknowledgment: lambda _body: _built(f"{_TYPES}acknowledgment"),
    Simple: _simple,
    Reserve: _reserve,
    Failed: _failed,
    ErrorMessage: lambda body: _built(f"{_TYPES}error", _exception(body.exception, "serviceException")),
    Query: _query,
    NsiSummaries: _summaries,
    Range: _range,
    Notification: _notification,
    Notifications: lambda body: _built(_TYPES + body.kind, *map(_notification, body.items)),
    Results: lambda body: _built(_TYPES + body.kind, *map(_result, body.items)),
    SoapFault: _fault,
}
