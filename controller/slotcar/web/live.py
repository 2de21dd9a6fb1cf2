"""The stream that tells open pages that something has happened: numbers and kinds, from which a page asks anew."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial

from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slotcar.api import problems
from slotcar.api.context import Context
from slotcar.api.streaming import Framing
from slotcar.auth.sessions import Sessions, SignedIn
from slotcar.base.problems import InvalidInput, SlotcarError
from slotcar.book.model import Event
from slotcar.desk.logs import Logs
from slotcar.store.queries import EventFilter
from slotcar.web.serving import sessions_of, signed_in

#: What `message` events say that are no event of the log: a browser's program is told of no comment.
BEAT, AWAY = 'data: {"beat": true}\n\n', 'data: {"away": true}\n\n'
_NUMBER_LENGTH = 18


def event_text(event: Event) -> str:
    """An event without a name, so that one listener gets all kinds."""
    document = {"kind": event.kind, "handle": event.handle, "device": event.device}
    return f"id: {event.sequence}\ndata: {json.dumps(document)}\n\n"


FRAMING = Framing(event_text, BEAT, AWAY)


def endpoint_of(context: Context) -> Callable[[Request], Awaitable[Response]]:
    async def stream(request: Request) -> Response:
        """`after`: the event that the page was made at; a browser that comes back says `Last-Event-ID` instead."""
        try:
            sessions = sessions_of(context)
            signed = await to_thread.run_sync(signed_in, request, sessions, context.now())
            caller = signed.caller if signed else sessions.anyone
            if caller is None:
                return Response(status_code=401)
            ledger = context.desk.ledger
            text = request.headers.get("last-event-id") or request.query_params.get("after", "0")
            after = int(text) if text.isascii() and text.isdigit() and len(text) <= _NUMBER_LENGTH else 0
            # Of another ledger, or one from a backup: what comes now is what there is to tell.
            after = min(after, await context.streams.ask(ledger.last_event))
            wanted = Logs(context.desk).events_filter(EventFilter(), caller)
            still = partial(_still, context, sessions, signed)
            return context.streams.respond(request, ledger, after, wanted, f"page {caller.name}", still, FRAMING)
        except SlotcarError as error:
            return problems.answer(request, 503, str(error))
        except HTTPException as error:
            return problems.answer(request, error.status_code, str(error.detail))

    return stream


def _still(context: Context, sessions: Sessions, signed: SignedIn | None) -> bool:
    """Whether the stream may go on: the token that signed in is neither revoked nor over. Asks no database."""
    try:
        return signed is None or sessions.still(signed, context.now())
    except InvalidInput:  # whom to trust is not known: nobody
        return False
