"""What goes wrong with a verb as the wire has it: the same type at the desk as in a program that asks over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slotcar.admission.resource_id import NoSuchResource
from slotcar.auth.errors import ProviderUnreachable
from slotcar.base.problems import InvalidInput, Problem, SlotcarError, with_short_words
from slotcar.base.units import UnitError
from slotcar.book import errors as ledger_errors
from slotcar.book.rules import errors as policy_errors
from slotcar.book.rules.request_limits import PlanTooLarge
from slotcar.book.rules.roles import NotAllowed
from slotcar.book.rules.webhooks import WrongWebhook
from slotcar.domains import errors as domain_errors
from slotcar.network.path import NoPath
from slotcar.notify.errors import SecretUnusable, UnknownWebhook, WrongKind, WrongUrl
from slotcar.planning import errors
from slotcar.platforms.model import Unrenderable
from slotcar.views.devices import NoSuchDevice
from slotcar.views.documents import refusal_document
from slotcar_client.wire import errors as wire

#: Error -> status, type, title; the first that fits.
_KINDS: tuple[tuple[type[Exception], int, str, str], ...] = (
    (InvalidInput, 422, "invalid-input", "The request is wrong"),
    (UnitError, 422, "invalid-input", "The request is wrong"),
    (NoPath, 422, "no-path", "There is no path"),
    (policy_errors.EndpointNotAllowed, 403, "endpoint-not-allowed", "The owner may not use this endpoint"),
    (policy_errors.HostNotGiven, 403, "host-not-given", "An operator gives what this host has"),
    (policy_errors.BindNotAllowed, 403, "bind-not-allowed", "The owner may not bind these processes"),
    (policy_errors.BeyondHorizon, 422, "beyond-horizon", "It ends later than reservations may"),
    (policy_errors.ShareExceeded, 409, "share-exceeded", "The share of the community is exceeded"),
    (policy_errors.NotPermitted, 403, "not-permitted", "The site's policies do not permit it"),
    (policy_errors.FlowTaken, 409, "flow-taken", "Another owner has these packets"),
    (policy_errors.HoldTooLong, 409, "hold-too-long", "A hold may not last so long"),
    (policy_errors.QuotaExceeded, 409, "quota-exceeded", "The owner's quota is exceeded"),
    (errors.LeavesTheDomain, 409, "leaves-the-domain", "Its way leaves the domain"),
    (errors.RefusedByAdmission, 409, "refused", "Refused by admission"),
    (errors.PlanRefused, 409, "plan-refused", "The plan holds refusals"),
    (ledger_errors.PlanNotAdmitted, 409, "plan-refused", "The plan does not fit"),
    (errors.StalePlan, 409, "stale-plan", "The plan is out of date"),
    (ledger_errors.StaleLedger, 409, "stale-plan", "The plan is out of date"),
    (ledger_errors.StaleVersion, 412, "stale-version", "The reservation has changed"),
    (ledger_errors.UnknownHandle, 404, "unknown-reservation", "There is no such reservation"),
    (ledger_errors.ForbiddenTransition, 409, "forbidden-transition", "The reservation's state does not allow it"),
    (ledger_errors.NameTaken, 409, "name-taken", "The name is taken"),
    (ledger_errors.UnknownCommunity, 404, "unknown-community", "There is no such community"),
    (ledger_errors.ShareRefused, 409, "share-refused", "It cannot be shared out or withdrawn so"),
    (ledger_errors.SlsRefused, 409, "sls-refused", "The SLS cannot be so"),
    (ledger_errors.DelegationRefused, 409, "delegation-refused", "It cannot be delegated or withdrawn so"),
    (ledger_errors.IdempotencyConflict, 409, "idempotency-conflict", "The idempotency key was used otherwise"),
    (ledger_errors.LedgerUnavailable, 503, "ledger-unavailable", "The ledger's database does not answer"),
    (NotAllowed, 403, "not-allowed", "Not allowed"),
    (NoSuchDevice, 404, "unknown-device", "There is no such device"),
    (NoSuchResource, 404, "unknown-resource", "There is no such resource"),
    (UnknownWebhook, 404, "unknown-webhook", "There is no such webhook"),
    (WrongUrl, 422, "invalid-input", "The request is wrong"),
    (SecretUnusable, 422, "invalid-input", "The request is wrong"),
    (WrongKind, 422, "invalid-input", "The request is wrong"),
    (WrongWebhook, 409, "wrong-webhook", "This makes no sense for the webhook"),
    (PlanTooLarge, 422, "plan-too-large", "The plan is too large for one request"),
    (domain_errors.UnknownConnection, 404, "unknown-connection", "There is no such connection"),
    (domain_errors.ConnectionUndecided, 409, "undecided", "The domains have not decided yet"),
    (domain_errors.ConnectionRefused, 409, "refused-by-domain", "A domain refuses"),
    (domain_errors.TicketRefused, 409, "ticket-refused", "The ticket is not taken"),
    (domain_errors.NotAuthentic, 403, "not-a-neighbour", "It is not from whom it says"),
    (domain_errors.NotThatWay, 422, "no-path", "There is no path"),
    (Unrenderable, 409, "unrenderable", "A platform cannot express it"),
    (ProviderUnreachable, 503, "unavailable", "The controller cannot do it now"),
    (SlotcarError, 409, "not-possible", "Not possible"),
)
#: Problems that one answer tells; of more it says how many there are.
MOST_PROBLEMS = 100


def kind_of(error: SlotcarError | UnitError) -> tuple[int, str, str]:
    """The status, the type without its prefix, and the title of an error of ours."""
    return next((s, k, t) for one, s, k, t in _KINDS if isinstance(error, one))


def wire_problem(error: SlotcarError | UnitError) -> wire.Problem:
    """The error as whoever sent the verb gets it, here or over HTTP."""
    status, kind, title = kind_of(error)
    document: dict[str, Any] = {
        "type": f"{wire.PREFIX}{kind}", "title": title, "status": status, "detail": with_short_words(str(error)),
        "errors": None,
        "refusal": None, "current_version": None, "quota": None,
    }  # fmt: skip
    if isinstance(error, InvalidInput):
        first = error.problems[:MOST_PROBLEMS]
        document["errors"] = [_mistake(one) for one in first]
        document["detail"] = with_short_words(first_of(list(map(str, first)), len(error.problems), "\n"))
    elif isinstance(error, errors.RefusedByAdmission):
        document["refusal"] = refusal_document(error.refused)
    elif isinstance(error, ledger_errors.StaleVersion):
        document["current_version"] = error.actual
    elif isinstance(error, policy_errors.QuotaExceeded):
        document["quota"] = {
            "owner": error.owner,
            "what": error.what,
            "limit": error.limit,
            "in_use": error.in_use,
            "asked": error.requested,
        }
    return wire.problem_of(status, document)


def first_of(words: Sequence[str], count: int, between: str) -> str:
    """The first of `count` problems, and how many more there are."""
    rest = count - len(words)
    return between.join([*words, *([f"and {rest} more problems"] if rest else [])])


def _mistake(one: Problem) -> dict[str, str]:
    return {"key": one.key, "message": one.message, "value": one.value, "hint": one.hint}
