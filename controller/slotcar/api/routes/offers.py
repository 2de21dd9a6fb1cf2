"""Who asks, and what it may ask for: endpoints, services, the operator's limits."""

from __future__ import annotations

from fastapi import APIRouter

from slotcar.api.answers import model_of
from slotcar.api.context import OwnerQuery, TheCaller, TheContext
from slotcar.base.timebase import iso
from slotcar.views.offers import services_document
from slotcar_client.wire import documents

router = APIRouter(prefix="/v1", tags=["offers"])


@router.get("/whoami", response_model=model_of(documents.Caller), summary="Who asks")
def whoami(caller: TheCaller) -> documents.Caller:
    """Whom the token stands for, and until when."""
    return {
        "name": caller.name,
        "role": caller.role.value,
        "owner": caller.owner,
        "expires_at": iso(caller.expires_at) if caller.expires_at else None,
    }


@router.get(
    "/endpoints", response_model=model_of(documents.Endpoints), summary="What may be a source or a destination"
)
def endpoints(context: TheContext, caller: TheCaller) -> documents.Endpoints:
    """End systems by name, and networks whose addresses may be said. A requester sees those that it may use."""
    return context.broker.endpoints(caller)


@router.get("/services", response_model=model_of(documents.Services), summary="What may be reserved")
def services(_caller: TheCaller) -> documents.Services:
    """Each service with its PHB and code points. Those that are not `reserved` promise no rate."""
    return services_document()


@router.get("/limits", response_model=model_of(documents.Limits), summary="The operator's limits")
def limits(context: TheContext, caller: TheCaller, owner: OwnerQuery = None) -> documents.Limits:
    """How far ahead, how long and how much may be reserved, from which rate on it is approved, and what the owner has of
    its quotas. The caller's own owner where none is named."""
    return context.broker.limits(owner, caller, context.now())
