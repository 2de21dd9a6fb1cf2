"""What a request works with: the verbs, who asks, and the present instant."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

import anyio
import structlog
from fastapi import Depends, Header, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import AfterValidator, AwareDatetime, BeforeValidator, StringConstraints, WithJsonSchema

from slotcar.api import local_socket, tls
from slotcar.api.figures import LogFigures
from slotcar.api.plan_workers import PlanWorkers
from slotcar.api.proxies import ProxyTroubles
from slotcar.api.streaming import Streams
from slotcar.auth.bearers import Bearers, bearers_of
from slotcar.auth.errors import ProviderUnreachable
from slotcar.auth.jwt import TokenRefused
from slotcar.auth.tokens import TokenStore
from slotcar.base import lengths
from slotcar.base.accounts import account_of, stands_for_many
from slotcar.base.problems import LINE_PATTERN, InvalidInput, shortened
from slotcar.base.timebase import RFC_3339
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.desk import Desk
from slotcar.desk.nsi import NsiParts
from slotcar.notify.dispatching import DeliveryCounts
from slotcar.policy.asking import require_sending
from slotcar.policy.certificates import CertificateNames
from slotcar.policy.scopes import lets_pass
from slotcar.policy.verdict import NotAllowed

#: A version; proxies that compress an answer make its ETag a weak one.
IF_MATCH = r'^(\*|(W/)?"[0-9]{1,9}")$'
_ETAG = re.compile(r'(?:W/)?"([0-9]{1,9})"')
FIRST_YEAR, LAST_YEAR = 1970, 9000
log = structlog.get_logger("slotcar.api")
bearer = HTTPBearer(
    auto_error=False,
    description="A token of `slotcar token create`, or an access token of an issuer that the site takes",
)
#: How often it is looked whether an issuer's keys have come.
KEYS_COME_S = 0.02
#: Whoever asks without a token where the operator said SLOTCAR_OPEN=true.
HOW_TO_GET_ONE = "an operator makes one on the controller's machine with `slotcar token create NAME --role ROLE`"
OPEN = "none: the controller is open to its machine"
LOCAL = Caller(name="local", role=Role.OPERATOR)


@dataclass(frozen=True, slots=True)
class Context:
    """What all requests to one controller share."""

    desk: Desk
    tokens: TokenStore
    streams: Streams = field(default_factory=Streams)
    figures: LogFigures = field(default_factory=LogFigures)
    deliveries: DeliveryCounts = field(default_factory=DeliveryCounts)
    plans: PlanWorkers = field(default_factory=PlanWorkers)
    proxies: ProxyTroubles = field(default_factory=ProxyTroubles)
    nsi: NsiParts | None = None
    bearers: Bearers = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bearers", bearers_of(self.tokens))

    def now(self) -> datetime:
        """The present instant."""
        return self.desk.clocks.now()

    @property
    def local(self) -> Caller:
        """Whoever asks without a token where the controller is open."""
        return self.tokens.site.caller(LOCAL.name, LOCAL.role, proof=OPEN)


# These are no functions for a thread: they look at what is in memory, and each thread would be one more hop.
async def context_of(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


@dataclass(frozen=True, slots=True)
class ConnectedBy:
    """Who made a request's connection, as far as the connection itself shows it; nothing that a request says.

    Attributes:
        certificate: that it showed; None where it showed none.
        uid: of the account of this machine, by its socket; None by TCP.
    """

    certificate: CertificateNames | None
    uid: int | None


async def connected_by(request: Request) -> ConnectedBy:
    state = request.state
    return ConnectedBy(getattr(state, tls.STATE, None), getattr(state, local_socket.STATE, None))


Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
TheContext = Annotated[Context, Depends(context_of)]
Connection = Annotated[ConnectedBy, Depends(connected_by)]


async def caller(request: Request, context: TheContext, credentials: Credentials, connection: Connection) -> Caller:
    """As `_caller`, where the scopes of its token let the operation pass: each request to a verb comes by here.

    Raises:
        HTTPException. NotAllowed: they do not.
    """
    who = await _caller(context, credentials, connection)
    operation = request.scope["route"].name
    if who.scopes:
        check_scopes(who, operation)
    require_sending(who, operation)
    return who


def check_scopes(who: Caller, operation: str) -> None:
    """
    Raises:
        NotAllowed.
    """
    if not lets_pass(who.scopes, operation):
        words = f"the token {who.name} is not for {operation}: its scopes are {', '.join(who.scopes)}"
        raise NotAllowed(words)


async def _caller(
    context: Context, credentials: HTTPAuthorizationCredentials | None, connection: ConnectedBy
) -> Caller:
    """Whoever the bearer token stands for, or else the certificate or the account of the connection; the operator of an
    open API where there is none of them.

    Raises:
        HTTPException: 401, no token, or one that is not known or has expired. 503, the token file cannot be used, or the
            keys of the token's issuer cannot be had.
    """
    if credentials is None:
        return await _caller_by_connection(context, connection)
    try:
        who = await _caller_of(credentials.credentials, context)
    except TokenRefused as error:
        raise HTTPException(401, f"this token is not taken: {error}") from error
    except ProviderUnreachable as error:
        raise HTTPException(503, str(error)) from error
    except InvalidInput as error:
        # Whom to trust is not known: nobody, until the operator has mended the file.
        log.error("the token file is not in order", problem=str(error))
        raise HTTPException(503, "the controller's token file is not in order; its log says why") from error
    if who is None:
        raise HTTPException(401, f"this is not a token of this controller, or it has expired; {HOW_TO_GET_ONE}")
    return who


async def _caller_by_connection(context: Context, connection: ConnectedBy) -> Caller:
    """
    Raises:
        HTTPException: 401.
    """
    if (known := context.bearers.caller_by_certificate(connection.certificate)) is not None:
        return known
    settings, unknown = context.desk.settings, f"say `Authorization: Bearer TOKEN`; {HOW_TO_GET_ONE}"
    if connection.uid is not None and not stands_for_many(connection.uid):
        # In a thread: a machine may ask a directory over the network whose number it is.
        account = await run_in_threadpool(account_of, connection.uid)
        if (known := context.bearers.caller_by_account(account)) is not None:
            return known
        unknown = f"the {account.proof} may do nothing here: the inventory's policies/accounts.yml gives it no role"
    elif connection.uid is not None:
        unknown = (
            "the account of another user namespace cannot be told from others here: say `Authorization: Bearer TOKEN`"
        )
    if settings.open and settings.loopback:
        return context.local
    raise HTTPException(401, unknown)


async def _caller_of(secret: str, context: Context) -> Caller | None:
    """What has to be read or fetched first is, in a thread, and by the first alone who needs an issuer's keys.

    Raises:
        InvalidInput, TokenRefused, ProviderUnreachable.
    """
    if context.tokens.has_changed():
        await run_in_threadpool(context.tokens.tokens)
    if (provider := context.bearers.due(secret)) is not None:
        await run_in_threadpool(provider.refresh)
    while context.bearers.waits(secret):
        await anyio.sleep(KEYS_COME_S)
    return context.bearers.caller(secret, context.now())


async def caller_if_known(
    request: Request, context: TheContext, credentials: Credentials, connection: Connection
) -> Caller | None:
    """As `caller`, for what everybody may ask and some are told more; None for who is not known."""
    try:
        return await caller(request, context, credentials, connection)
    except (HTTPException, NotAllowed):
        return None


async def still_known(
    request: Request, context: TheContext, credentials: Credentials, connection: Connection
) -> Callable[[], bool]:
    """Whether whoever asked may go on: its token is neither revoked nor over, and has the rights that it had."""
    first = await caller_if_known(request, context, credentials, connection)

    def still() -> bool:
        try:
            return credentials is None or context.bearers.caller(credentials.credentials, context.now()) == first
        except (InvalidInput, TokenRefused, ProviderUnreachable):  # whom to trust is not known: nobody
            return False

    return still


IF_MATCH_HEADER = Header(
    alias="If-Match",
    max_length=lengths.ETAG,
    description='the ETag of the version that you saw, such as `"3"`, or `*`',
)


async def if_match(_: TheCaller, value: Annotated[str | None, IF_MATCH_HEADER] = None) -> int | None:
    """The version in an If-Match header; None for `*`. Who is not known is told that first.

    Raises:
        HTTPException: 428, there is none; 412, it is no version of ours.
    """
    if value is None:
        raise HTTPException(428, "send If-Match with the ETag of the version, or `*` for any version")
    return _version_in(value)


def _version_in(value: str) -> int | None:
    text = value.strip()
    if text == "*":
        return None
    etag = _ETAG.fullmatch(text)
    if etag is None:
        raise HTTPException(412, f"{shortened(text)} is not the ETag of a reservation")
    return int(etag[1])


async def optional_if_match(_: TheCaller, value: Annotated[str | None, IF_MATCH_HEADER] = None) -> int | None:
    """The version in an If-Match header; None for `*`, and where there is no such header.

    Raises:
        HTTPException: 412, it is no version of ours.
    """
    return None if value is None else _version_in(value)


async def one_version(version: Annotated[int | None, Depends(if_match)]) -> int:
    """The version in an If-Match header that names one.

    Raises:
        HTTPException: 428, there is none, or `*`: what is to be approved is what somebody has seen; 412, see `if_match`.
    """
    if version is None:
        raise HTTPException(
            428, "send If-Match with the ETag of the version that you saw: `*` would approve what nobody saw"
        )
    return version


KnownCaller = Annotated[Caller | None, Depends(caller_if_known)]
StillKnown = Annotated[Callable[[], bool], Depends(still_known)]
TheCaller = Annotated[Caller, Depends(caller)]


def _written_time(value: object) -> object:
    """Pydantic alone would take the text of a number for seconds since 1970."""
    if isinstance(value, str) and (len(value) > lengths.TIME or not RFC_3339.fullmatch(value)):
        raise ValueError("say a time with its zone, such as 2027-03-01T22:00:00Z (a + is %2B in an address)")
    return value


def _countable(at: datetime) -> datetime:
    """Within what microseconds and every platform's calendar can tell."""
    year = min(max(at.year, FIRST_YEAR), LAST_YEAR)
    return at if year == at.year else at.replace(year=year, month=2, day=1)


#: A name that a request says, and that may be told back to it.
Line = Annotated[str, StringConstraints(max_length=lengths.PLACE, pattern=LINE_PATTERN)]
#: An instant in an address or a body.
Time = Annotated[
    AwareDatetime,
    BeforeValidator(_written_time),
    AfterValidator(_countable),
    WithJsonSchema({"type": "string", "format": "date-time", "maxLength": lengths.TIME}),
]
LabelQuery = Annotated[
    str | None,
    Query(description="`KEY` or `KEY=VALUE`", max_length=lengths.LABEL_PAIR, min_length=1, pattern=LINE_PATTERN),
]
OwnerQuery = Annotated[
    str | None, Query(max_length=lengths.OWNER, pattern=LINE_PATTERN, description="only this owner's")
]
NameQuery = Annotated[
    str | None, Query(max_length=lengths.NAME, pattern=LINE_PATTERN, description="only of this name")
]
Newest = Annotated[bool, Query(description="the latest first")]
IfMatch = Annotated[int | None, Depends(if_match)]
MaybeIfMatch = Annotated[int | None, Depends(optional_if_match)]
OneVersion = Annotated[int, Depends(one_version)]
