"""What goes wrong, as exceptions: the API's problem details (RFC 9457) with their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slotcar_client.wire.documents import Mistake, QuotaOfOwner, Refusal

PREFIX = "urn:slotcar:problem:"
#: Kinds of problems by which admission or a rule refuses, here or in another domain, whatever their status.
REFUSALS = frozenset(
    ("refused", "plan-refused", "quota-exceeded", "flow-taken", "hold-too-long", "beyond-horizon", "endpoint-not-allowed",
     "host-not-given", "bind-not-allowed", "not-permitted", "share-exceeded", "unrenderable", "refused-by-domain")
)  # fmt: skip


class SlotcarError(Exception):
    """Everything that this library raises by itself; the message is a sentence for people."""


class NoAnswer(SlotcarError):
    """The controller cannot be reached, or did not answer in time; it may later.

    Attributes:
        maybe_done: whether the request may have arrived, and be done.
    """

    def __init__(self, words: str, maybe_done: bool = False) -> None:
        super().__init__(words)
        self.maybe_done = maybe_done


class Problem(SlotcarError):
    """The controller answered, and did not do it.

    Attributes:
        status: of HTTP. kind: the problem's type without its prefix, such as `refused` or `stale-version`.
        title, detail: the kind in words, and what is the matter this time; the latter is the exception's message.
        mistakes: every wrong value of a request, with its key.
        maybe_done: an earlier attempt may have arrived and been done: what is wrong may be that it was.
    """

    def __init__(self, status: int, document: Mapping[str, Any], maybe_done: bool = False) -> None:
        self.status = status
        self.kind = str(document.get("type") or "").removeprefix(PREFIX)
        self.title = str(document.get("title") or "")
        self.detail = str(document.get("detail") or f"it answers {status}, and not as Slotcar does")
        mistakes = document.get("errors")
        self.mistakes: list[Mistake] = mistakes if isinstance(mistakes, list) else []
        self.document = document
        self.maybe_done = maybe_done
        super().__init__(self.detail)


class Wrong(Problem):
    """The request is wrong (400, 413, 415, 421, 422), `mistakes` says where; or it is no controller that answers."""


class NotAllowed(Problem):
    """No valid token, or one whose role or owner does not suffice (401, 403)."""


class NotFound(Problem):
    """There is nothing, or nothing that the caller may know of (404)."""


class Conflict(Problem):
    """Not possible in this state, or against a rule of the operator's (409); `kind` says which."""


class Refused(Conflict):
    """Admission has no room for it. Nothing was reserved; of a change the old reservation stays.

    Attributes:
        refusal: what is short, where, when and by how much; the nearest window and the highest rate that would fit.
    """

    @property
    def refusal(self) -> Refusal:
        refusal: Refusal = self.document["refusal"]
        return refusal


class QuotaExceeded(Conflict):
    """The owner would have more than its quota.

    Attributes:
        quota: what, its limit, what is in use, and what was asked for beside it; volumes are in bits.
    """

    @property
    def quota(self) -> QuotaOfOwner:
        quota: QuotaOfOwner = self.document["quota"]
        return quota


class StaleVersion(Problem):
    """The reservation is not at the version that was said (412).

    Attributes:
        current_version: the one that it is at, where the controller said it.
    """

    @property
    def current_version(self) -> int | None:
        version: int | None = self.document.get("current_version")
        return version


class Unavailable(Problem):
    """The controller cannot do it now (429, 5xx); nothing was done by this attempt where the status is 429 or 503."""


_BY_KIND: dict[str, type[Problem]] = {"refused": Refused, "quota-exceeded": QuotaExceeded}
#: Where the numbers of a kind stand.
_WITH_NUMBERS = {"refused": "refusal", "quota-exceeded": "quota"}
_BY_STATUS: dict[int, type[Problem]] = {
    401: NotAllowed, 403: NotAllowed, 404: NotFound, 409: Conflict, 412: StaleVersion, 429: Unavailable,
}  # fmt: skip


def problem_of(status: int, body: object, maybe_done: bool = False) -> Problem:
    """The exception for an answer that is not good, whatever its body is."""
    document = body if isinstance(body, Mapping) else {}
    kind = str(document.get("type") or "").removeprefix(PREFIX)
    if kind in _WITH_NUMBERS and not isinstance(document.get(_WITH_NUMBERS[kind]), Mapping):
        kind = ""  # it says so and has no numbers: it is not Slotcar's
    problem_class = _BY_KIND.get(kind) or _BY_STATUS.get(status) or (Unavailable if status >= 500 else Wrong)
    return problem_class(status, document, maybe_done)
