"""Who asks, and what it may ask for: endpoints, services, the operator's limits."""

from __future__ import annotations

from fastapi import APIRouter

from slotcar.api.context import Context
from slotcar.api.verbs import serves
from slotcar.base.timebase import iso
from slotcar.book.rules.roles import Caller
from slotcar.views.offers import services_document
from slotcar_client.wire import documents, verbs

router = APIRouter(prefix="/v1", tags=["offers"])


@serves(router, verbs.Whoami)
def whoami(_verb: verbs.Whoami, _context: Context, caller: Caller) -> documents.Caller:
    return {
        "name": caller.name,
        "role": caller.role.value,
        "owner": caller.owner,
        "expires_at": iso(caller.expires_at) if caller.expires_at else None,
    }


@serves(router, verbs.Endpoints)
def endpoints(_verb: verbs.Endpoints, context: Context, caller: Caller) -> documents.Endpoints:
    return context.broker.endpoints(caller)


@serves(router, verbs.Services)
def services(_verb: verbs.Services, _context: Context, _caller: Caller) -> documents.Services:
    return services_document()


@serves(router, verbs.Limits)
def limits(verb: verbs.Limits, context: Context, caller: Caller) -> documents.Limits:
    return context.broker.limits(verb.owner, caller, context.now())
