"""What a request works with: the verbs, who asks, and the present instant."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated

import structlog
from fastapi import Depends, Header, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from controller.api.figures import LogFigures
from controller.api.plan_workers import PlanWorkers
from controller.api.streaming import Streams
from controller.notify.dispatching import DeliveryCounts
from controller.problems import InvalidInput
from controller.rollout.status import LoopStatus
from controller.verbs import Broker
from controller.verbs.tokens import Caller, Role, TokenStore

log = structlog.get_logger("slotcar.api")
bearer = HTTPBearer(auto_error=False, description="A token of `slotcar token create`")
#: Without any token configured the API listens to this machine alone, and whoever can reach it is an operator.
LOCAL = Caller(name="local", role=Role.OPERATOR)


@dataclass(frozen=True, slots=True)
class Context:
    """One controller's."""

    broker: Broker
    tokens: TokenStore
    loop: LoopStatus | None = None
    streams: Streams = field(default_factory=Streams)
    figures: LogFigures = field(default_factory=LogFigures)
    deliveries: DeliveryCounts = field(default_factory=DeliveryCounts)
    plans: PlanWorkers = field(default_factory=PlanWorkers)
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))


def now() -> datetime:
    return datetime.now(UTC)


def context(request: Request) -> Context:
    found: Context = request.app.state.context
    return found


def caller(
    found: Annotated[Context, Depends(context)],
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Caller:
    """Whoever the bearer token stands for.

    Raises:
        HTTPException: 401, no token, or one that is not known or has expired; also where the last token was revoked
            and other machines can reach the API. 503, the token file cannot be used.
    """
    try:
        if not found.tokens.tokens() and found.broker.settings.loopback:
            return LOCAL
        who = found.tokens.caller(credentials.credentials, now()) if credentials else None
    except InvalidInput as error:
        # Whom to trust is not known: nobody, until the operator has mended the file.
        log.error("the token file is not in order", problem=str(error))
        raise HTTPException(503, "the controller's token file is not in order; its log says why") from error
    if who is None:
        raise HTTPException(
            401, "say `Authorization: Bearer TOKEN` with a token of this controller that has not expired"
        )
    return who


def if_match(
    value: Annotated[
        str | None, Header(alias="If-Match", description='the ETag of the version that you saw, such as `"3"`, or `*`')
    ] = None,
) -> int | None:
    """The version in an If-Match header; None for `*`.

    Raises:
        HTTPException: 428, there is none; 412, it is no version of ours.
    """
    if value is None:
        raise HTTPException(428, "say If-Match with the ETag of the version that you saw, or `*` for whichever it is")
    text = value.strip()
    if text == "*":
        return None
    digits = text.removeprefix("W/").strip('"')
    if not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        raise HTTPException(412, f"{text[:40]} is no ETag of a reservation")
    return int(digits)


def one_version(version: Annotated[int | None, Depends(if_match)]) -> int:
    """The version in an If-Match header that names one.

    Raises:
        HTTPException: 428, there is none, or `*`: what is to be approved is what somebody has seen; 412, see `if_match`.
    """
    if version is None:
        raise HTTPException(
            428, "say If-Match with the ETag of the version that you saw: `*` approves what nobody saw"
        )
    return version


TheBroker = Annotated[Context, Depends(context)]
TheCaller = Annotated[Caller, Depends(caller)]
IfMatch = Annotated[int | None, Depends(if_match)]
OneVersion = Annotated[int, Depends(one_version)]
