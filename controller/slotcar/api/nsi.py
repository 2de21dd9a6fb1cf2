"""NSI CS 2.1 over HTTP: the provider, the requester's callbacks, and the documents that say who this is (ADR 85)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from urllib.parse import urlsplit

from fastapi import APIRouter, BackgroundTasks, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool

from slotcar.api.context import Context, TheCaller, TheContext
from slotcar.book.rules.roles import Caller, Role, only_owner
from slotcar.desk.nsi import NsiParts
from slotcar.domains.nsi import soap
from slotcar.domains.nsi.documents import discovery_document, topology_document
from slotcar.domains.nsi.names import DISCOVERY_TYPE, TOPOLOGY_TYPE
from slotcar.domains.nsi.provider import NsiCaller
from slotcar.domains.nsi.requester import acknowledged
from slotcar.domains.way import Asker
from slotcar.network.elsewhere import neighbours_of
from slotcar.policy.asking import owner_of, require
from slotcar.policy.caller import neighbour
from slotcar.policy.recalling import kept_of

XML = "text/xml; charset=utf-8"
#: The documents change with the inventory alone, which a controller reads when it starts.
router = APIRouter(prefix="/nsi", tags=["nsi"], include_in_schema=False)


def _parts(context: Context) -> NsiParts:
    """
    Raises:
        HTTPException: 404, NSI is not spoken here.
    """
    if context.nsi is None:
        raise HTTPException(404, "NSI is not spoken here: SLOTCAR_NSI_URL is not set")
    return context.nsi


@router.post("/provider")
async def provider(request: Request, context: TheContext, caller: TheCaller, background: BackgroundTasks) -> Response:
    """One message; what it leads to is done once it is acknowledged."""
    parts = _parts(context)
    content = await request.body()
    reply = await run_in_threadpool(parts.provider.hear, content, nsi_caller(caller, context))
    background.add_task(reply.after)
    return Response(reply.content, reply.status, media_type=XML, background=background)


@router.post("/requester")
async def requester(request: Request, context: TheContext, background: BackgroundTasks) -> Response:
    """A neighbour's callback. Who knows the correlation of a request was asked it; nobody else is heard."""
    parts = _parts(context)
    try:
        message = soap.read(await request.body())
    except soap.NotNsi as error:
        raise HTTPException(400, str(error)) from error
    background.add_task(parts.hear, message)
    return Response(acknowledged(message), media_type=XML, background=background)


@router.get("/discovery")
def discovery(context: TheContext) -> Response:
    parts = _parts(context)
    content = discovery_document(
        parts.identity, parts.domain, _loaded_at(context), f"slotcar {version('slotcar')}", tuple(sorted(parts.peers))
    )
    return Response(content, media_type=DISCOVERY_TYPE)


@router.get("/topology")
def topology(context: TheContext, _caller: TheCaller) -> Response:
    """It names end systems: whoever may reserve may see it."""
    parts = _parts(context)
    content = topology_document(parts.identity, context.desk.network, parts.domain, _loaded_at(context))
    return Response(content, media_type=TOPOLOGY_TYPE)


def _loaded_at(context: Context) -> datetime:
    return (context.desk.network.loaded_at or context.desk.started_at).astimezone(UTC)


def nsi_caller(caller: Caller, context: Context) -> NsiCaller:
    """Who asks by NSI. A token of an owner that is called as a neighbouring domain is that neighbour's controller: to
    policies it is a domain, whatever protocol it speaks."""
    owner, own = owner_of(caller), _parts(context).domain
    if caller.role is Role.REQUESTER and owner in neighbours_of(context.desk.network, own):
        caller = replace(neighbour(owner, caller.policies), proof=caller.proof)
    asker = Asker(caller.name, {**(kept_of(caller, owner) or {}), "proof": caller.proof})
    sees_all = only_owner(caller) is None
    hosts = {host.lower() for host in context.desk.settings.nsi_callback_hosts}

    def may_be_called_back(url: str) -> bool:
        try:
            parts = urlsplit(url)
            named = parts.scheme in ("http", "https") and parts.username is None and bool(parts.hostname)
        except ValueError:
            return False
        return named and (sees_all or (parts.hostname or "").lower() in hosts)

    def require_right(right: str, owner: str) -> None:
        require(caller, right, f"{right} a connection of owner {owner}", owner)

    return NsiCaller(owner, sees_all, may_be_called_back, require_right, asker)
