"""Who asks, and what it may ask for: endpoints, services, the operator's limits."""

from __future__ import annotations

from datetime import datetime

from slotcar.base.timebase import iso
from slotcar.book.delegating import delegation_to
from slotcar.book.rules import roles
from slotcar.desk.desk import Desk, answers
from slotcar.policy.caller import Caller
from slotcar.views.documents import delegated_documents
from slotcar.views.offers import endpoints_document, limits_document, services_document
from slotcar_client.wire import documents, verbs


@answers(verbs.Whoami)
def whoami(_verb: verbs.Whoami, desk: Desk, caller: Caller, now: datetime) -> documents.Caller:
    delegated = desk.ledger.delegated(now, to=caller.name)
    return {
        "name": caller.name,
        "role": caller.role.value,
        "owner": caller.owner,
        "expires_at": iso(caller.expires_at) if caller.expires_at else None,
        "proof": caller.proof,
        "scopes": list(caller.scopes),
        "delegations": [
            one
            for entry in delegated
            if (delegation := delegation_to(caller, entry, now)) is not None
            for one in delegated_documents(entry, [delegation])
        ],
    }


@answers(verbs.Endpoints)
def endpoints(_verb: verbs.Endpoints, desk: Desk, caller: Caller, _now: datetime) -> documents.Endpoints:
    """A requester sees those that it may use."""
    return endpoints_document(desk.network, desk.ledger.terms.policy.endpoints, roles.only_owner(caller))


@answers(verbs.Services)
def services(_verb: verbs.Services, _desk: Desk, _caller: Caller, _now: datetime) -> documents.Services:
    return services_document()


@answers(verbs.Limits)
def limits(verb: verbs.Limits, desk: Desk, caller: Caller, now: datetime) -> documents.Limits:
    whose = verb.owner if verb.owner is not None else caller.owner or caller.name
    roles.require_own(caller, whose, "the limits", "limits")
    return limits_document(desk.settings, desk.ledger.terms.policy, whose, desk.ledger.usage(whose, now))
