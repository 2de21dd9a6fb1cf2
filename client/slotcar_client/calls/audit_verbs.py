"""Conversations about audits of SLSs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from slotcar_client.calls.requests import Time, send, time_text
from slotcar_client.transport import Conversation
from slotcar_client.wire import documents, verbs


def audits(
    sls: str | None = None, *, service: str | None = None, since: Time | None = None, until: Time | None = None,
    step: Literal["hour", "day"] | None = None,
) -> Conversation[documents.Audits]:  # fmt: skip
    """Whether SLSs were kept, each hour or day; for operators and auditors."""
    return (yield from send(verbs.Audits(sls, service, time_text(since), time_text(until), step)))


def record_stream(
    sls: str, source: str, destination: str, start: Time, interval_us: int,
    packets: Sequence[Sequence[int | None]], *, clock_error_us: int | None = None, variation_error_us: int = 0,
    unstamped: int = 0, unanswered: int = 0, remarked: int = 0, untold: int = 0,
) -> Conversation[documents.AuditedStream]:  # fmt: skip
    """Hands in what a probe of an SLS measured."""
    verb = verbs.RecordStream(
        sls, source, destination, time_text(start), interval_us, packets, clock_error_us, variation_error_us,
        unstamped, unanswered, remarked, untold,
    )  # fmt: skip
    return (yield from send(verb))
