"""Messages to neighbours over HTTPS: each side shows its certificate, and each takes none but the other's."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from slotcar.base.problems import SlotcarError, printable, shortened
from slotcar.domains.errors import KeyUnusable, NotAuthentic
from slotcar.domains.keys import DomainKey
from slotcar.domains.neighbours import Neighbour
from slotcar_client.wire.verbs.peers import PeerSay

#: A neighbour that takes longer is asked again later.
TIMEOUT_S = 10.0
#: More than any answer has.
LARGEST_ANSWER_BYTES = 2_000_000


class NotReached(SlotcarError):
    """A neighbour did not answer, or not in words that can be read."""


class HttpsCarrier:
    """Thread-safe."""

    def __init__(self, key: DomainKey) -> None:
        self._key = key
        self._clients: dict[str, Any] = {}
        self._lock = threading.Lock()

    def say(self, neighbour: Neighbour, text: str) -> Sequence[str]:
        """
        Raises:
            NotReached: nobody answers there, or rubbish; or another one than the neighbour.
        """
        import httpx

        url = f"{neighbour.controller}{PeerSay.address}"
        try:
            with self._client(neighbour).stream(PeerSay.method, url, json={"message": text}) as answer:
                content = b""
                for part in answer.iter_bytes():
                    content += part
                    if len(content) > LARGEST_ANSWER_BYTES:
                        raise NotReached(f"{neighbour.name} answers without an end")
            return _answers(neighbour, answer.status_code, content)
        except httpx.TimeoutException as error:
            raise NotReached(
                f"{neighbour.name} did not answer at {neighbour.controller} within {TIMEOUT_S:g} s"
            ) from error
        except httpx.HTTPError as error:
            why = self._words(neighbour, printable(str(error)) or type(error).__name__)
            raise NotReached(f"{neighbour.name} was not reached at {neighbour.controller}: {why}") from error

    def _words(self, neighbour: Neighbour, why: str) -> str:
        """What TLS says of certificates, for those who exchanged them."""
        if "CERTIFICATE_VERIFY_FAILED" in why:
            return (
                f"another certificate is shown there than the inventory has of {neighbour.name}, whose SHA-256 is"
                f" {neighbour.certificate.fingerprint}: read the two to each other"
            )
        if "disconnected" in why or "alert" in why:
            return f"{why}; perhaps its inventory has another certificate of {self._key.domain}"
        return why

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    def _client(self, neighbour: Neighbour) -> Any:
        with self._lock:
            if neighbour.name not in self._clients:
                self._clients[neighbour.name] = self._new_client(neighbour)
            return self._clients[neighbour.name]

    def _new_client(self, neighbour: Neighbour) -> Any:
        import httpx

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False  # it is known by its certificate, whatever address it has
        context.load_verify_locations(cadata=neighbour.certificate.pem)
        _load_own(context, self._key)
        # No connection is kept: one that nobody reads from holds up a neighbour that ends, by TLS's own farewell.
        limits = httpx.Limits(max_keepalive_connections=0)
        return httpx.Client(verify=context, timeout=TIMEOUT_S, trust_env=False, limits=limits)


def serving_context(key: DomainKey, neighbours: Iterable[Neighbour]) -> ssl.SSLContext:
    """TLS for a controller that its neighbours ask, and nobody else.

    Raises:
        KeyUnusable.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    for neighbour in neighbours:
        context.load_verify_locations(cadata=neighbour.certificate.pem)
    _load_own(context, key)
    return context


def _load_own(context: ssl.SSLContext, key: DomainKey) -> None:
    try:
        context.load_cert_chain(key.certificate_file, key.key_file)
    except (OSError, ssl.SSLError) as error:
        raise KeyUnusable(f"{key.certificate_file} and {key.key_file} cannot be used for TLS: {error}") from error


def _answers(neighbour: Neighbour, status: int, content: bytes) -> Sequence[str]:
    """
    Raises:
        NotReached, NotAuthentic: the neighbour does not take the message.
    """
    import json

    try:
        document = json.loads(content)
        if status == 403:
            raise NotAuthentic(f"{neighbour.name} refuses: {printable(shortened(str(document['detail']), 500))}")
        answers = document["answers"]
        if status != 200 or not all(isinstance(text, str) for text in answers):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NotReached(f"{neighbour.name} answers with status {status} and no words that can be read") from error
    return list(answers)
