"""`Slotcar` and `AsyncSlotcar`: the conversations of `calls`, over one connection to a controller."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

import httpx

from slotcar_client import calls
from slotcar_client.calls.requests import send
from slotcar_client.contexts import Bearer, NoContext, Place, chosen_place
from slotcar_client.transport import Answer, Conversation, Lost, Request, Retries, steps_of
from slotcar_client.watching import SILENCE_S, STREAM, Watching, wanted
from slotcar_client.wire import verbs
from slotcar_client.wire.documents import Event
from slotcar_client.wire.errors import NoAnswer, Unavailable

P = ParamSpec("P")
T = TypeVar("T")
#: Reading a device takes seconds, and so may a large plan.
ANSWER_S = 60.0


class Verb(Generic[P, T]):
    """A conversation as a method: it gives its value, or of an asynchronous client an awaitable of it."""

    def __init__(self, call: Callable[P, Conversation[T]]) -> None:
        self.call = call
        self.__doc__ = call.__doc__

    @overload
    def __get__(self, client: None, kind: type) -> Verb[P, T]: ...
    @overload
    def __get__(self, client: Slotcar, kind: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncSlotcar, kind: type) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, client: Slotcar | AsyncSlotcar | None, kind: type) -> Any:
        if client is None:
            return self

        def call(*given: P.args, **named: P.kwargs) -> Any:
            return client.perform(self.call(*given, **named))

        call.__doc__ = self.__doc__
        return call


class Verbs:
    """What both clients can do; `slotcar_client.calls` documents each."""

    enquire = Verb(calls.enquire)
    addable = Verb(calls.addable)
    create = Verb(calls.create)
    reservation = Verb(calls.reservation)
    reservations = Verb(calls.reservations)
    modify = Verb(calls.modify)
    bind = Verb(calls.bind)
    commit = Verb(calls.commit)
    extend = Verb(calls.extend)
    progress = Verb(calls.progress)
    cancel = Verb(calls.cancel)
    approve = Verb(calls.approve)
    reject = Verb(calls.reject)
    group_create = Verb(calls.group_create)
    group_create_all = Verb(calls.group_create_all)
    groups = Verb(calls.groups)
    group = Verb(calls.group)
    group_commit = Verb(calls.group_commit)
    group_cancel = Verb(calls.group_cancel)
    group_approve = Verb(calls.group_approve)
    group_reject = Verb(calls.group_reject)
    plan = Verb(calls.plan)
    apply = Verb(calls.apply)
    whoami = Verb(calls.whoami)
    endpoints = Verb(calls.endpoints)
    services = Verb(calls.services)
    limits = Verb(calls.limits)
    costs = Verb(calls.costs)
    closest = Verb(calls.closest)
    gather = Verb(calls.gather)
    estimate_accuracy = Verb(calls.estimate_accuracy)
    record_transfer = Verb(calls.record_transfer)
    record_probe = Verb(calls.record_probe)
    timeline = Verb(calls.timeline)
    configurations = Verb(calls.configurations)
    resources = Verb(calls.resources)
    network = Verb(calls.network)
    boundaries = Verb(calls.boundaries)
    boundary = Verb(calls.boundary)
    device_states = Verb(calls.device_states)
    revisions = Verb(calls.revisions)
    usage = Verb(calls.usage)
    difference = Verb(calls.difference)
    holds = Verb(calls.holds)
    hold = Verb(calls.hold)
    release = Verb(calls.release)
    controller = Verb(calls.controller)
    events = Verb(calls.events)
    webhook_add = Verb(calls.webhook_add)
    webhook_list = Verb(calls.webhook_list)
    webhook_remove = Verb(calls.webhook_remove)
    webhook_test = Verb(calls.webhook_test)
    webhook_dead_letters = Verb(calls.webhook_dead_letters)
    webhook_redeliver = Verb(calls.webhook_redeliver)
    alive = Verb(calls.alive)
    ready = Verb(calls.ready)
    metrics = Verb(calls.metrics)


class Slotcar(Verbs):
    """A controller's API; close it, or use it with `with`. One may be used by several threads.

    Args:
        api: its address, such as `https://slotcar.example.net`.
        token: of `slotcar token create`, or an issuer's; or what gives one, asked before each request.
        retries: how often what failed is tried again, as far as that is safe.
        timeout_s: of one attempt.
        options: further ones of `httpx.Client`, such as `verify`.

    Raises:
        NoContext: the address is none.
    """

    def __init__(
        self, api: str, token: Bearer = None, *, retries: Retries | None = None, timeout_s: float = ANSWER_S,
        **options: Any,
    ) -> None:  # fmt: skip
        self.api = checked(api)
        self._retries = retries or Retries()
        self._http = httpx.Client(
            base_url=self.api,
            headers=_headers(token),
            auth=_auth(token),
            timeout=timeout_s,
            **(_without_certificates(self.api) | options),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def send(self, verb: verbs.Verb[T]) -> T:
        """The document that answers a verb (`slotcar_client.wire.verbs`)."""
        return self.perform(send(verb))

    def perform(self, conversation: Conversation[T]) -> T:
        """The value of a conversation, of which each verb is one."""
        steps = steps_of(conversation, self._retries)
        got: Answer | Lost | None = None
        try:
            while True:
                step = steps.send(got)
                if isinstance(step, Request):
                    got = self._send(step)
                else:
                    time.sleep(step.seconds)
        except StopIteration as done:
            value: T = done.value
            return value

    def watch(
        self, which: str | None = None, *, after: int | None = None, kinds: Iterable[str] = (), owner: str | None = None,
        name: str | None = None, label: str | None = None, device: str | None = None,
        on_trouble: Callable[[str], None] = lambda _words: None,
    ) -> Iterator[Event]:  # fmt: skip
        """Events as they happen, of one reservation or of all that the caller may see, for ever and without a gap.

        It begins with what comes next, or after the number `after`. A stream that breaks is taken up where it broke;
        while there is none to be had, it asks for pages, and `on_trouble` gets a sentence for people.

        Raises:
            Problem: the controller will never answer it: no right, no such reservation.
        """
        watching = Watching(wanted(which, kinds, owner, name, label, device), after, on_trouble)
        while True:
            try:
                with self._http.stream("GET", STREAM, **_of_stream(watching)) as response:
                    status, kind = response.status_code, response.headers.get("content-type", "")
                    if watching.answered(status, kind, b"" if status == 200 else response.read()):
                        for line in response.iter_lines():
                            if (event := watching.heard(line)) is not None:
                                yield event
                        watching.broken("has ended the stream")
            except httpx.RequestError as error:
                watching.broken(_words(error))
            page: list[Event] = []
            with suppress(NoAnswer, Unavailable):
                page = self.perform(watching.poll())
            yield from page
            time.sleep(watching.wait_s())

    def _send(self, request: Request) -> Answer | Lost:
        try:
            return _answer(self._http.request(**_arguments(request)))
        except httpx.RequestError as error:
            return _lost(self.api, error)


class AsyncSlotcar(Verbs):
    """As `Slotcar`, for `asyncio`: verbs are awaited, `watch` is iterated with `async for`, and it is closed by `aclose` or
    `async with`."""

    def __init__(
        self, api: str, token: Bearer = None, *, retries: Retries | None = None, timeout_s: float = ANSWER_S,
        **options: Any,
    ) -> None:  # fmt: skip
        self.api = checked(api)
        self._retries = retries or Retries()
        self._http = httpx.AsyncClient(
            base_url=self.api,
            headers=_headers(token),
            auth=_auth(token),
            timeout=timeout_s,
            **(_without_certificates(self.api) | options),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def send(self, verb: verbs.Verb[T]) -> T:
        """As `Slotcar.send`."""
        return await self.perform(send(verb))

    async def perform(self, conversation: Conversation[T]) -> T:
        """The value of a conversation, of which each verb is one."""
        steps = steps_of(conversation, self._retries)
        got: Answer | Lost | None = None
        try:
            while True:
                step = steps.send(got)
                if isinstance(step, Request):
                    got = await self._send(step)
                else:
                    await asyncio.sleep(step.seconds)
        except StopIteration as done:
            value: T = done.value
            return value

    async def watch(
        self, which: str | None = None, *, after: int | None = None, kinds: Iterable[str] = (), owner: str | None = None,
        name: str | None = None, label: str | None = None, device: str | None = None,
        on_trouble: Callable[[str], None] = lambda _words: None,
    ) -> AsyncIterator[Event]:  # fmt: skip
        """As `Slotcar.watch`."""
        watching = Watching(wanted(which, kinds, owner, name, label, device), after, on_trouble)
        while True:
            try:
                async with self._http.stream("GET", STREAM, **_of_stream(watching)) as response:
                    status, kind = response.status_code, response.headers.get("content-type", "")
                    if watching.answered(status, kind, b"" if status == 200 else await response.aread()):
                        async for line in response.aiter_lines():
                            if (event := watching.heard(line)) is not None:
                                yield event
                        watching.broken("has ended the stream")
            except httpx.RequestError as error:
                watching.broken(_words(error))
            page: list[Event] = []
            with suppress(NoAnswer, Unavailable):
                page = await self.perform(watching.poll())
            for event in page:
                yield event
            await asyncio.sleep(watching.wait_s())

    async def _send(self, request: Request) -> Answer | Lost:
        try:
            return _answer(await self._http.request(**_arguments(request)))
        except httpx.RequestError as error:
            return _lost(self.api, error)


def connect(context: str | None = None, **options: Any) -> Slotcar:
    """The controller of a named context; else of `SLOTCAR_API` and `SLOTCAR_TOKEN`, else of the context in use.

    Raises:
        NoContext: none is named.
    """
    place = _need_place(context)
    return Slotcar(place.api, place.bearer, **options)


def connect_async(context: str | None = None, **options: Any) -> AsyncSlotcar:
    """As `connect`."""
    place = _need_place(context)
    return AsyncSlotcar(place.api, place.bearer, **options)


def _need_place(context: str | None) -> Place:
    place = chosen_place(context=context)
    if place is None:
        raise NoContext(
            "no controller is named: set SLOTCAR_API and SLOTCAR_TOKEN, or add a context with `slotcar context add`"
        )
    return place


def _of_stream(watching: Watching) -> dict[str, Any]:
    """It may be silent for long, and the connection is to be there soon."""
    patience = httpx.Timeout(10.0, read=SILENCE_S)
    return {"params": dict(watching.wanted), "headers": watching.headers, "timeout": patience}


def checked(api: str) -> str:
    """
    Raises:
        NoContext: it is no address of an API.
    """
    try:
        url = httpx.URL(api)
    except (httpx.InvalidURL, TypeError):
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise NoContext(f"{api} is not the address of an API: say one such as http://127.0.0.1:8470")
    return api


def _headers(token: Bearer) -> dict[str, str]:
    fixed = {"Authorization": f"Bearer {token}"} if isinstance(token, str) and token else {}
    return {"User-Agent": "slotcar-client", **fixed}


def _auth(token: Bearer) -> Callable[[httpx.Request], httpx.Request] | None:
    """Puts the present token into each request, where it changes."""
    if token is None or isinstance(token, str):
        return None

    def with_token(request: httpx.Request) -> httpx.Request:
        if present := token():
            request.headers["Authorization"] = f"Bearer {present}"
        return request

    return with_token


def _arguments(request: Request) -> dict[str, Any]:
    body = {} if request.body is None else {"json": request.body}
    return {
        "method": request.method, "url": request.path, "params": dict(request.query), "headers": dict(request.headers),
        **body,
    }  # fmt: skip


def _answer(response: httpx.Response) -> Answer:
    try:
        body = response.json()
    except (ValueError, RecursionError):  # no JSON, no text, or nested deep
        body = response.text
    return Answer(response.status_code, body, {key.lower(): one for key, one in response.headers.items()})


def _lost(api: str, error: httpx.RequestError) -> Lost:
    """What cannot have arrived is what had no connection yet."""
    sent = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    return Lost(f"the controller at {api} {_words(error)}; does it run?", sent)


def _words(error: httpx.RequestError) -> str:
    return f"does not answer: {str(error) or type(error).__name__}"


def _without_certificates(api: str) -> dict[str, Any]:
    """Reading all certificate authorities takes longer than a request: an address without TLS is spared it. The context
    trusts nobody, should TLS be spoken after all."""
    return {} if api.startswith("https:") else {"verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)}
