"""NSI's messages over HTTP and HTTPS: bounded in time and size, redirects not followed."""

from __future__ import annotations

import ssl
from typing import Any

from slotcar.base.problems import SlotcarError, printable
from slotcar.domains.nsi.names import ACTION
from slotcar.domains.nsi.soap import LARGEST_ANSWER_BYTES

#: For all of a request and its answer.
TIMEOUT_S = 20.0


class NotTaken(SlotcarError):
    """Whoever was told, or asked, did not answer as HTTP has it."""


class NsiPoster:
    """Thread-safe. Peers over https are known by the machine's authorities for certificates.

    `context`: another way to know them.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        import httpx

        verify: Any = context or ssl.create_default_context()
        # No connection is kept: peers drop them at times of their own.
        limits = httpx.Limits(max_keepalive_connections=0)
        self._client = httpx.Client(verify=verify, timeout=TIMEOUT_S, trust_env=False, limits=limits)

    def post(self, url: str, kind: str, envelope: bytes) -> bytes:
        """The answer: an envelope, which may hold a fault.

        Raises:
            NotTaken: nobody answers there, or not with an envelope.
        """
        import httpx

        # In quotes, as SOAP 1.1 has it: some peers compare it with them.
        headers = {"Content-Type": "text/xml; charset=utf-8", "SOAPAction": f'"{ACTION}{kind}"'}
        try:
            with self._client.stream("POST", url, content=envelope, headers=headers) as answer:
                content = b""
                for part in answer.iter_bytes():
                    content += part
                    if len(content) > LARGEST_ANSWER_BYTES:
                        raise NotTaken(f"{url} answers without an end")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            why = printable(str(error)) or type(error).__name__
            raise NotTaken(f"{url} was not reached: {why}") from error
        # A fault of SOAP comes with 500.
        if answer.status_code not in (200, 202, 500):
            raise NotTaken(f"{url} answers with status {answer.status_code}")
        return content

    def close(self) -> None:
        self._client.close()
