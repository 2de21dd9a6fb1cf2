"""NSI's messages out of elements that the schemas have found in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, TypeAlias

from slotcar.domains.nsi import messages, names
from slotcar.domains.nsi.messages import (
    Acknowledgment,
    Body,
    Child,
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
from slotcar.domains.nsi.states import LifecycleState, ProvisionState, ReservationState

#: lxml has no types of its own.
Element: TypeAlias = Any
_NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"


def header_of(element: Element) -> Header:
    return Header(
        _text(element, "correlationId").lower(),
        _text(element, "requesterNSA"),
        _text(element, "providerNSA"),
        _text(element, "replyTo"),
        _text(element, "protocolVersion"),
    )


def body_of(element: Element) -> Body:
    """
    Raises:
        ValueError: it is none that is known.
    """
    kind = _name(element)
    read = _READERS.get(kind)
    if read is None:
        raise ValueError(f"{kind} is no message of NSI CS 2.1")
    return read(kind, element)


def _reserve(kind: str, element: Element) -> Reserve:
    return Reserve(
        _criteria(_child(element, "criteria")),
        _text(element, "connectionId"),
        _text(element, "globalReservationId"),
        _text(element, "description"),
        kind == "reserveConfirmed",
    )


def _failed(kind: str, element: Element) -> Failed:
    return Failed(
        kind,
        _text(element, "connectionId"),
        _states(_child(element, "connectionStates")),
        _exception(_child(element, "serviceException")),
    )


def _query(kind: str, element: Element) -> Query:
    return Query(
        kind,
        tuple(_texts(element, "connectionId")),
        tuple(_texts(element, "globalReservationId")),
        _instant(_text(element, "ifModifiedSince")),
    )


def _range(kind: str, element: Element) -> Range:
    what = "Notification" if "Notification" in kind else "Result"
    numbers = (_text(element, f"{side}{what}Id") for side in ("start", "end"))
    return Range(kind, _text(element, "connectionId"), *(int(text) if text else None for text in numbers))


def _summaries(kind: str, element: Element) -> NsiSummaries:
    listed = tuple(map(_summary, _children(element, "reservation")))
    return NsiSummaries(kind, listed, _instant(_text(element, "lastModified")))


def _summary(element: Element) -> Summary:
    numbers = [_text(element, name) for name in ("notificationId", "resultId")]
    return Summary(
        _text(element, "connectionId"),
        _text(element, "requesterNSA"),
        _states(_child(element, "connectionStates")),
        tuple(map(_criteria, _children(element, "criteria"))),
        _text(element, "globalReservationId"),
        _text(element, "description"),
        *(int(text) if text else None for text in numbers),
    )


def _notification(kind: str, element: Element) -> Notification:
    at = _instant(_text(element, "timeStamp"))
    assert at is not None
    exception = _child(element, "serviceException")
    plane = _child(element, "dataPlaneStatus")
    return Notification(
        kind,
        _text(element, "connectionId"),
        int(_text(element, "notificationId")),
        at,
        _text(element, "event"),
        "" if exception is None else _text(exception, "text"),
        int(_text(element, "timeoutValue") or 0),
        plane is not None and _truth(plane, "active"),
        0 if plane is None else int(_text(plane, "version")),
        plane is None or _truth(plane, "versionConsistent"),
        _text(element, "correlationId"),
        _text(element, "originatingNSA"),
    )


def _notifications(kind: str, element: Element) -> Notifications:
    return Notifications(kind, tuple(_notification(_name(each), each) for each in _all(element)))


def _results(kind: str, element: Element) -> Results:
    return Results(kind, tuple(map(_result, _children(element, "result"))))


def _result(element: Element) -> NsiResult:
    at, body = _instant(_text(element, "timeStamp")), body_of(list(_all(element))[-1])
    assert at is not None
    assert isinstance(body, Reserve | Simple | Failed | ErrorMessage)
    return NsiResult(int(_text(element, "resultId")), _text(element, "correlationId"), at, body)


def _fault(_kind: str, element: Element) -> SoapFault:
    detail = _child(element, "detail")
    listed = [] if detail is None else [each for each in _all(detail) if _name(each) == "serviceException"]
    exception = None
    if listed and _child(listed[0], "nsaId") is not None and _child(listed[0], "errorId") is not None:
        exception = _exception(listed[0])
    return SoapFault(_text(element, "faultstring"), exception)


_READERS: dict[str, Callable[[str, Element], Body]] = {
    **dict.fromkeys(messages.SIMPLE, lambda kind, element: Simple(kind, _text(element, "connectionId"))),
    **dict.fromkeys(("reserve", "reserveConfirmed"), _reserve),
    **dict.fromkeys(messages.FAILURES, _failed),
    **dict.fromkeys(messages.QUERIES, _query),
    **dict.fromkeys(messages.ANSWERS_OF_QUERIES, _summaries),
    **dict.fromkeys((*messages.NOTIFICATION_QUERIES, *messages.RESULT_QUERIES), _range),
    **dict.fromkeys(messages.NOTIFICATIONS, _notification),
    **dict.fromkeys((f"{name}Confirmed" for name in messages.NOTIFICATION_QUERIES), _notifications),
    **dict.fromkeys((f"{name}Confirmed" for name in messages.RESULT_QUERIES), _results),
    "error": lambda _kind, element: ErrorMessage(_exception(_child(element, "serviceException"))),
    "acknowledgment": lambda _kind, _element: Acknowledgment(),
    "Fault": _fault,
}


# -- parts ---------------------------------------------------------------------------------------------------------


def _criteria(element: Element) -> Criteria:
    schedule, version = _child(element, "schedule"), element.get("version")
    service = element.find(f"{{{names.P2P}}}p2ps")
    capacity = element.find(f"{{{names.P2P}}}capacity")
    listed = _child(element, "children")
    return Criteria(
        int(version) if version is not None else None,
        NsiSchedule() if schedule is None else NsiSchedule(_time(schedule, "startTime"), _time(schedule, "endTime")),
        None if service is None else _point_to_point(service),
        _text(element, "serviceType"),
        None if capacity is None else int(capacity.text),
        () if listed is None else tuple(map(_child_of, _children(listed, "child"))),
    )


def _child_of(element: Element) -> Child:
    states = _child(element, "connectionStates")
    return Child(
        _text(element, "connectionId"), _text(element, "providerNSA"), None if states is None else _states(states)
    )


def _point_to_point(element: Element) -> PointToPoint:
    return PointToPoint(
        int(_text(element, "capacity")),
        _text(element, "sourceSTP"),
        _text(element, "destSTP"),
        _text(element, "directionality") != "Unidirectional",
        _truth(element, "symmetricPath"),
        tuple((each.get("type"), (each.text or "").strip()) for each in _children(element, "parameter")),
    )


def _states(element: Element) -> States:
    plane = _child(element, "dataPlaneStatus")
    return States(
        ReservationState(_text(element, "reservationState")),
        ProvisionState(_text(element, "provisionState")),
        LifecycleState(_text(element, "lifecycleState")),
        _truth(plane, "active"),
        int(_text(plane, "version")),
        _truth(plane, "versionConsistent"),
    )


def _exception(element: Element) -> ServiceException:
    return ServiceException(
        _text(element, "nsaId"),
        _text(element, "errorId"),
        _text(element, "text"),
        _text(element, "connectionId"),
        tuple(map(_exception, _children(element, "childException"))),
    )


def _time(element: Element, name: str) -> datetime | None:
    listed = _child(element, name)
    if listed is None or listed.get(_NIL, "").strip() in ("true", "1"):
        return None
    return _instant((listed.text or "").strip())


def _instant(text: str) -> datetime | None:
    if not text:
        return None
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)


def _truth(element: Element, name: str) -> bool:
    return _text(element, name) in ("true", "1")


def _name(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _all(element: Element) -> Iterator[Element]:
    return (each for each in element if isinstance(each.tag, str))


def _children(element: Element, name: str) -> Iterator[Element]:
    """Those of NSI's own, which are unqualified."""
    return (each for each in _all(element) if each.tag == name)


def _child(element: Element, name: str) -> Element:
    """None where there is none. A service exception within a fault may be qualified, or not."""
    return next(_children(element, name), None)


def _texts(element: Element, name: str) -> Iterator[str]:
    return ((each.text or "").strip() for each in _children(element, name))


def _text(element: Element, name: str) -> str:
    return next(_texts(element, name), "")
