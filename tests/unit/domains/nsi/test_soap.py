"""NSI's messages: what is written is valid and is read back, and what others send is bounded and looked at first."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from slotcar.domains.nsi import messages, soap
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
    NsiMessage,
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
from slotcar.domains.nsi.names import Fault
from slotcar.domains.nsi.states import LifecycleState, ProvisionState, ReservationState

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
HEADER = Header("urn:uuid:" + "1" * 8 + "-2222-3333-4444-" + "5" * 12, "urn:r:nsa", "urn:p:nsa", "http://r/nsi")
SERVICE = PointToPoint(10, "urn:p:topology:a", "urn:p:topology:b", True, True, (("service", "ip-premium"),))
CRITERIA = Criteria(1, NsiSchedule(NOW, NOW.replace(hour=13)), SERVICE, "any")
STATES = States(ReservationState.HELD, ProvisionState.RELEASED, LifecycleState.CREATED, False, 0)
EXCEPTION = ServiceException("urn:p:nsa", "00705", "no room", "c", (ServiceException("urn:q:nsa", "00600", "full"),))
CHANGE = Notification("dataPlaneStateChange", "c", 3, NOW, active=True, version=1)
TIMEOUT = Notification("reserveTimeout", "c", 4, NOW, timeout_s=120, nsa="urn:p:nsa")
EVENT = Notification("errorEvent", "c", 5, NOW, event="forcedEnd", text="ended", nsa="urn:p:nsa")
SUMMARY = Summary(
    "c", "urn:r:nsa", STATES, (replace(CRITERIA, children=(Child("d", "urn:q:nsa"),)),), "urn:g", "x", 5, 2
)
RECURSIVE = replace(SUMMARY, criteria=(replace(CRITERIA, children=(Child("d", "urn:q:nsa", STATES),)),))
BODIES: tuple[Body, ...] = (
    Acknowledgment(),
    *(Simple(kind, "c") for kind in sorted(messages.SIMPLE)),
    Reserve(CRITERIA, "", "urn:g", "a test"),
    Reserve(replace(CRITERIA, service=None, capacity_mbps=20, service_type=""), "c"),
    Reserve(CRITERIA, "c", confirmed=True),
    *(Failed(kind, "c", STATES, EXCEPTION) for kind in sorted(messages.FAILURES)),
    ErrorMessage(EXCEPTION),
    *(Query(kind, ("c", "d"), (), NOW) for kind in sorted(messages.QUERIES)),
    Query("querySummary", (), ("urn:g",)),
    NsiSummaries("querySummarySyncConfirmed", (SUMMARY,), NOW),
    NsiSummaries("querySummaryConfirmed", ()),
    NsiSummaries("queryRecursiveConfirmed", (RECURSIVE,)),
    *(Range(kind, "c", 1, 2) for kind in sorted(messages.NOTIFICATION_QUERIES | messages.RESULT_QUERIES)),
    CHANGE,
    TIMEOUT,
    EVENT,
    Notification("messageDeliveryTimeout", "c", 6, NOW, correlation_id=HEADER.correlation_id),
    Notifications("queryNotificationSyncConfirmed", (CHANGE, TIMEOUT, EVENT)),
    Results(
        "queryResultConfirmed",
        (
            NsiResult(1, HEADER.correlation_id, NOW, Reserve(CRITERIA, "c", confirmed=True)),
            NsiResult(2, HEADER.correlation_id, NOW, Failed("reserveCommitFailed", "c", STATES, EXCEPTION)),
            NsiResult(3, HEADER.correlation_id, NOW, ErrorMessage(EXCEPTION)),
        ),
    ),
    SoapFault("no room", EXCEPTION),
    SoapFault("no words"),
)


@pytest.mark.parametrize("body", BODIES, ids=lambda body: f"{type(body).__name__}-{getattr(body, 'kind', '')}")
def test_each_message_is_valid_and_is_read_back(body: Body) -> None:
    assert soap.read(soap.written(NsiMessage(HEADER, body))) == NsiMessage(HEADER, body)


def test_each_kind_of_message_is_tried() -> None:
    tried = {getattr(body, "kind", type(body).__name__) for body in BODIES}
    kinds = {*messages.SIMPLE, *messages.FAILURES, *messages.QUERIES, *messages.NOTIFICATIONS}
    assert kinds | messages.NOTIFICATION_QUERIES | messages.RESULT_QUERIES <= tried


TEXT = soap.written(NsiMessage(HEADER, Simple("provision", "c"))).decode()
RESERVE = soap.written(NsiMessage(HEADER, Reserve(CRITERIA))).decode()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no XML"),
        (b"<a>", "no XML"),
        (b"\xff\xfe", "no XML"),
        (b"<a/>", "no SOAP 1.1 envelope"),
        (TEXT.replace("connectionId", "connection").encode(), "not as the schemas say"),
        (TEXT.replace("urn:uuid:", "").encode(), "not as the schemas say"),
        (RESERVE.replace("<capacity>10<", "<capacity>ten<").encode(), "not as the schemas say"),
        (RESERVE.replace("2027-03-01T12:00:00Z", "2027-03-01T12:00:00").encode(), "not as the schemas say"),
        (TEXT.replace("provision>", "provisions>").encode(), "not as the schemas say"),
        (TEXT.replace("2013/12/connection", "2013/04/connection").encode(), "another version of NSI"),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]>" + TEXT.partition("?>")[2].replace(">c<", ">&b;<").encode(), "doctype"),
        (b"<!DOCTYPE a SYSTEM 'http://127.0.0.1:1/a.dtd'>" + TEXT.partition("?>")[2].encode(), "doctype"),
        (b"<a>" * 100 + b"</a>" * 100, "no SOAP 1.1 envelope"),
        (TEXT.replace("</soap:Header>", "<a>" * 100 + "</a>" * 100 + "</soap:Header>").encode(), "levels"),
        (b" " * (soap.LARGEST_BYTES + 1), "longer than"),
    ],
)
def test_what_is_no_message_is_refused_in_words(content: bytes, words: str) -> None:
    with pytest.raises(soap.NotNsi, match=words):
        soap.read(content)


def test_a_file_of_this_machine_is_not_read(tmp_path: object) -> None:
    entity = b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/hostname'>]>"
    with pytest.raises(soap.NotNsi) as refused:
        soap.read(entity + TEXT.partition("?>")[2].replace(">c<", ">&b;<").encode())
    assert refused.value.fault is Fault.PAYLOAD


def test_small_differences_between_peers_mean_the_same() -> None:
    """Prefixes, a default namespace, great letters in a correlation, nil for a time that is left out, comments."""
    written = RESERVE.replace("type:", "t:").replace("xmlns:type=", "xmlns:t=").replace("soap:", "S:")
    written = written.replace("xmlns:soap=", "xmlns:S=")
    written = written.replace(
        HEADER.correlation_id, HEADER.correlation_id.replace("1", "a").upper().replace("URN:UUID", "urn:uuid")
    )
    written = written.replace(
        "<startTime>2027-03-01T12:00:00Z</startTime>",
        '<startTime xmlns:x="http://www.w3.org/2001/XMLSchema-instance" x:nil="true"/><!-- now -->',
    ).replace("13:00:00Z", "14:00:00.000+01:00")
    message = soap.read(written.encode())
    assert message.header is not None
    assert message.header.correlation_id == HEADER.correlation_id.replace("1", "a")
    assert isinstance(message.body, Reserve)
    assert message.body.criteria.schedule == NsiSchedule(None, NOW.replace(hour=13))


def test_a_recursive_answer_has_its_list_of_segments_also_where_it_is_empty() -> None:
    """OpenNSA's requester reads it without looking whether it is there."""
    summary = replace(SUMMARY, criteria=(CRITERIA,))
    assert b"<children/>" in soap.written(NsiMessage(HEADER, NsiSummaries("queryRecursiveConfirmed", (summary,))))
    assert b"<children" not in soap.written(NsiMessage(HEADER, NsiSummaries("querySummaryConfirmed", (summary,))))
