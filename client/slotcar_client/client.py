"""`Slotcar` and `AsyncSlotcar`: the conversations of `calls`, over one connection to a controller."""

from __future__ import annotations

import asyncio
import inspect
import ssl
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

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
M = TypeVar("M")
#: Reading a device takes seconds, and so may a large plan.
ANSWER_S = 60.0


def _blocking(call: Callable[P, Conversation[T]]) -> Callable[Concatenate[Slotcar, P], T]:
    """A conversation as a method that gives its value."""

    def method(slotcar: Slotcar, /, *given: P.args, **named: P.kwargs) -> T:
        return slotcar.perform(call(*given, **named))

    return _named_as(call, method)


def _awaited(call: Callable[P, Conversation[T]]) -> Callable[Concatenate[AsyncSlotcar, P], Coroutine[Any, Any, T]]:
    """A conversation as a method that is awaited for its value."""

    async def method(slotcar: AsyncSlotcar, /, *given: P.args, **named: P.kwargs) -> T:
        return await slotcar.perform(call(*given, **named))

    return _named_as(call, method)


def _named_as(call: Callable[..., Conversation[Any]], method: M) -> M:
    """The method with the conversation's name, words and parameters, and what it gives as its answer."""
    signature = inspect.signature(call)
    slotcar = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    answer = str(signature.return_annotation).removeprefix("Conversation[").removesuffix("]")
    shown: Any = method
    shown.__name__, shown.__doc__, shown.__module__ = call.__name__, call.__doc__, call.__module__
    shown.__qualname__ = call.__name__
    shown.__signature__ = inspect.Signature([slotcar, *signature.parameters.values()], return_annotation=answer)
    shown.__annotations__ = {**call.__annotations__, "return": answer}
    return method


class Slotcar:
    """A controller's API; close it, or use it with `with`. One may be used by several threads.

    Args:
        api: its address, such as `https://slotcar.example.net`.
        token: of `slotcar token create`, or an issuer's; or what gives one, asked before each request.
        retries: how often what failed is tried again, as far as that is safe.
        timeout_s: of one attempt, but of a verb that says how long its answer may take (`Verb.answer_s`).
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

    # -- verbs: `slotcar_client.calls` has each --------------------------------------------------------------------

    enquire = _blocking(calls.enquire)
    addable = _blocking(calls.addable)
    create = _blocking(calls.create)
    reservation = _blocking(calls.reservation)
    reservations = _blocking(calls.reservations)
    explain = _blocking(calls.explain)
    modify = _blocking(calls.modify)
    bind = _blocking(calls.bind)
    commit = _blocking(calls.commit)
    extend = _blocking(calls.extend)
    progress = _blocking(calls.progress)
    cancel = _blocking(calls.cancel)
    approve = _blocking(calls.approve)
    reject = _blocking(calls.reject)
    delegate = _blocking(calls.delegate)
    withdraw = _blocking(calls.withdraw)
    delegations = _blocking(calls.delegations)
    share_give = _blocking(calls.share_give)
    share_withdraw = _blocking(calls.share_withdraw)
    share_list = _blocking(calls.share_list)
    open_sls = _blocking(calls.open_sls)
    change_sls = _blocking(calls.change_sls)
    end_sls = _blocking(calls.end_sls)
    slss = _blocking(calls.slss)
    group_create = _blocking(calls.group_create)
    group_create_all = _blocking(calls.group_create_all)
    groups = _blocking(calls.groups)
    group = _blocking(calls.group)
    group_commit = _blocking(calls.group_commit)
    group_cancel = _blocking(calls.group_cancel)
    group_approve = _blocking(calls.group_approve)
    group_reject = _blocking(calls.group_reject)
    plan = _blocking(calls.plan)
    apply = _blocking(calls.apply)
    whoami = _blocking(calls.whoami)
    endpoints = _blocking(calls.endpoints)
    services = _blocking(calls.services)
    limits = _blocking(calls.limits)
    costs = _blocking(calls.costs)
    closest = _blocking(calls.closest)
    gather = _blocking(calls.gather)
    estimate_accuracy = _blocking(calls.estimate_accuracy)
    record_transfer = _blocking(calls.record_transfer)
    record_probe = _blocking(calls.record_probe)
    audits = _blocking(calls.audits)
    record_stream = _blocking(calls.record_stream)
    timeline = _blocking(calls.timeline)
    configurations = _blocking(calls.configurations)
    resources = _blocking(calls.resources)
    network = _blocking(calls.network)
    boundaries = _blocking(calls.boundaries)
    boundary = _blocking(calls.boundary)
    device_states = _blocking(calls.device_states)
    revisions = _blocking(calls.revisions)
    usage = _blocking(calls.usage)
    difference = _blocking(calls.difference)
    differences = _blocking(calls.differences)
    adopt = _blocking(calls.adopt)
    holds = _blocking(calls.holds)
    hold = _blocking(calls.hold)
    release = _blocking(calls.release)
    controller = _blocking(calls.controller)
    events = _blocking(calls.events)
    webhook_add = _blocking(calls.webhook_add)
    webhook_list = _blocking(calls.webhook_list)
    webhook_remove = _blocking(calls.webhook_remove)
    webhook_test = _blocking(calls.webhook_test)
    webhook_dead_letters = _blocking(calls.webhook_dead_letters)
    webhook_redeliver = _blocking(calls.webhook_redeliver)
    alive = _blocking(calls.alive)
    ready = _blocking(calls.ready)
    metrics = _blocking(calls.metrics)

    def _send(self, request: Request) -> Answer | Lost:
        try:
            return _answer(self._http.request(**_arguments(request)))
        except httpx.RequestError as error:
            return _lost(self.api, error)


class AsyncSlotcar:
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

    # -- as `Slotcar` has them ---------------------------------------------------------------------------------------

    enquire = _awaited(calls.enquire)
    addable = _awaited(calls.addable)
    create = _awaited(calls.create)
    reservation = _awaited(calls.reservation)
    reservations = _awaited(calls.reservations)
    explain = _awaited(calls.explain)
    modify = _awaited(calls.modify)
    bind = _awaited(calls.bind)
    commit = _awaited(calls.commit)
    extend = _awaited(calls.extend)
    progress = _awaited(calls.progress)
    cancel = _awaited(calls.cancel)
    approve = _awaited(calls.approve)
    reject = _awaited(calls.reject)
    delegate = _awaited(calls.delegate)
    withdraw = _awaited(calls.withdraw)
    delegations = _awaited(calls.delegations)
    share_give = _awaited(calls.share_give)
    share_withdraw = _awaited(calls.share_withdraw)
    share_list = _awaited(calls.share_list)
    open_sls = _awaited(calls.open_sls)
    change_sls = _awaited(calls.change_sls)
    end_sls = _awaited(calls.end_sls)
    slss = _awaited(calls.slss)
    group_create = _awaited(calls.group_create)
    group_create_all = _awaited(calls.group_create_all)
    groups = _awaited(calls.groups)
    group = _awaited(calls.group)
    group_commit = _awaited(calls.group_commit)
    group_cancel = _awaited(calls.group_cancel)
    group_approve = _awaited(calls.group_approve)
    group_reject = _awaited(calls.group_reject)
    plan = _awaited(calls.plan)
    apply = _awaited(calls.apply)
    whoami = _awaited(calls.whoami)
    endpoints = _awaited(calls.endpoints)
    services = _awaited(calls.services)
    limits = _awaited(calls.limits)
    costs = _awaited(calls.costs)
    closest = _awaited(calls.closest)
    gather = _awaited(calls.gather)
    estimate_accuracy = _awaited(calls.estimate_accuracy)
    record_transfer = _awaited(calls.record_transfer)
    record_probe = _awaited(calls.record_probe)
    audits = _awaited(calls.audits)
    record_stream = _awaited(calls.record_stream)
    timeline = _awaited(calls.timeline)
    configurations = _awaited(calls.configurations)
    resources = _awaited(calls.resources)
    network = _awaited(calls.network)
    boundaries = _awaited(calls.boundaries)
    boundary = _awaited(calls.boundary)
    device_states = _awaited(calls.device_states)
    revisions = _awaited(calls.revisions)
    usage = _awaited(calls.usage)
    difference = _awaited(calls.difference)
    differences = _awaited(calls.differences)
    adopt = _awaited(calls.adopt)
    holds = _awaited(calls.holds)
    hold = _awaited(calls.hold)
    release = _awaited(calls.release)
    controller = _awaited(calls.controller)
    events = _awaited(calls.events)
    webhook_add = _awaited(calls.webhook_add)
    webhook_list = _awaited(calls.webhook_list)
    webhook_remove = _awaited(calls.webhook_remove)
    webhook_test = _awaited(calls.webhook_test)
    webhook_dead_letters = _awaited(calls.webhook_dead_letters)
    webhook_redeliver = _awaited(calls.webhook_redeliver)
    alive = _awaited(calls.alive)
    ready = _awaited(calls.ready)
    metrics = _awaited(calls.metrics)

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
    longer = {} if request.answer_s is None else {"timeout": httpx.Timeout(ANSWER_S, read=request.answer_s)}
    return {
        "method": request.method, "url": request.path, "params": dict(request.query), "headers": dict(request.headers),
        **body, **longer,
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
