"""One problem document of each status that the API answers with. A test holds every example against its schema."""

from __future__ import annotations

from typing import Any

from slotcar.api.examples import AT, HANDLE, REFUSAL, Json


def _problem(status: int, kind: str, title: str, detail: str, instance: str = AT, **more: Any) -> Json:
    return {
        "type": f"urn:slotcar:problem:{kind}",
        "title": title,
        "status": status,
        "detail": detail,
        "instance": instance,
        "errors": None,
        "refusal": None,
        "current_version": None,
        **more,
    }


_NO_UNIT = {"key": "rate", "message": "has no unit", "value": "36", "hint": "did you mean `36 Mbit/s`?"}
PROBLEMS: dict[int, Json] = {
    400: _problem(400, "malformed", "The request cannot be read", "the body is not JSON"),
    401: _problem(
        401, "unauthenticated", "Who asks is not known",
        "say `Authorization: Bearer TOKEN`; an operator makes one on the controller's machine with `slotcar token create"
        " NAME --role ROLE`",
    ),
    403: _problem(
        403, "not-allowed", "Not allowed", "night-shift has the role auditor, which only reads; ask an operator"
    ),
    404: _problem(
        404, "unknown-reservation", "There is no such reservation", f"no reservation has the handle {HANDLE}"
    ),
    409: _problem(
        409, "refused", "Refused by admission",
        "hep/tonight-cms: refused, 36 Mbit/s of ip-premium does not fit", "/v1/reservations", refusal=REFUSAL,
    ),
    412: _problem(
        412, "stale-version", "The reservation has changed",
        f"reservation {HANDLE} is at version 2, not 1: read it again", current_version=2,
    ),
    413: _problem(413, "too-large", "The request is too large", "at most 1000000 bytes"),
    415: _problem(
        415, "media-type", "The request's media type is not understood",
        "say `Content-Type: application/json`, not text/plain",
    ),
    421: _problem(
        421, "wrong-host", "The request is for another host",
        "this is not elsewhere.example.net: ask by a name of this controller; SLOTCAR_HOSTS lists those beside its own",
    ),
    422: _problem(
        422, "invalid-input", "The request is wrong",
        "request: rate: has no unit (got 36); did you mean `36 Mbit/s`?", "/v1/reservations", errors=[_NO_UNIT],
    ),
    429: _problem(
        429, "too-many-streams", "Too many event streams",
        "you have 20 event streams open, and may have no more: end one first", "/v1/events/stream",
    ),
    428: _problem(
        428, "precondition-required", "The version must be said",
        "send If-Match with the ETag of the version, or `*` for any version",
    ),
    503: _problem(
        503, "ledger-unavailable", "The ledger's database does not answer",
        "the ledger's database does not answer: connection refused",
    ),
}  # fmt: skip
