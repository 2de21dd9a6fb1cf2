"""`Provider`: what an issuer publishes, its addresses and keys, fetched and kept. Nothing is fetched in between a question
and its answer: who asks looks at what is kept, and has it fetched where that is due.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import structlog
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey

from slotcar.auth.errors import ProviderUnreachable
from slotcar.auth.jwt import PublicKey, TokenRefused, Unchecked, check_algorithm
from slotcar.base.problems import printable, shortened
from slotcar.base.settings import is_loopback
from slotcar.policy.issuers import Issuer

log = structlog.get_logger("slotcar.auth")
TIMEOUT_S = 5.0
LARGEST_BYTES = 500_000
#: An unknown key is looked for no more often, whoever sends tokens that name made-up ones.
SOONEST_S = 10.0
#: Keys are fetched again after this; where that fails, those that are kept count on, and it is tried again as often.
FRESH_S = 600.0
LEAST_RSA_BITS = 2048
_KINDS: Mapping[str, type[PublicKey]] = {"RSA": RSAKey, "EC": ECKey, "OKP": OKPKey}
_OF_ALGORITHM = {"RS256": RSAKey, "ES256": ECKey, "EdDSA": OKPKey, "Ed25519": OKPKey}


@dataclass(slots=True)
class Provider:
    """One issuer. Thread-safe.

    Attributes:
        monotonic: seconds that never go back.
        client: gives an HTTP client; the issuer's certificate is checked by it.
    """

    issuer: Issuer
    monotonic: Callable[[], float] = time.monotonic
    metadata: Mapping[str, Any] = field(default_factory=dict)
    fetched: int = 0
    why_not: str = ""
    _keys: Sequence[PublicKey] = ()
    _last_attempt_s: float | None = None
    _fresh_until_s: float = 0.0
    _fetching: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def key(self, token: Unchecked) -> PublicKey:
        """The key that a token names, or the only one that it may be signed with.

        Raises:
            TokenRefused: the issuer does not sign so, or has no such key. ProviderUnreachable: no key is known yet.
        """
        if not self._keys:
            raise ProviderUnreachable(
                f"the keys of {self.issuer.name} cannot be had now: {self.why_not or 'not asked yet'}"
            )
        check_algorithm(token, self.issuer)
        key = self._find(token)
        if key is None:
            raise TokenRefused(f"{self.issuer.name} publishes no key that it names")
        return key

    def _find(self, token: Unchecked) -> PublicKey | None:
        kind, kid = _OF_ALGORITHM.get(str(token.header.get("alg"))), token.kid
        fitting = [one for one in self._keys if kind is not None and isinstance(one, kind)]
        if kid is None:
            return fitting[0] if len(fitting) == 1 else None
        return next((one for one in fitting if one.kid == kid), None)

    def is_due(self, token: Unchecked | None = None) -> bool:
        """Whether keys are to be fetched before the token is looked at. Looks at what is in memory."""
        now_s = self.monotonic()
        if self._fetching or (self._last_attempt_s is not None and now_s - self._last_attempt_s < SOONEST_S):
            return False
        return now_s >= self._fresh_until_s or (token is not None and self._find(token) is None)

    def is_awaited(self, token: Unchecked) -> bool:
        """Whether keys are being fetched, and the token's is not known before."""
        return self._fetching and self._find(token) is None

    def refresh(self) -> None:
        """Fetches where that is due, and not twice at once; a failure is kept in words, and what was known counts on."""
        with self._lock:
            if self._fetching:
                return
            self._fetching, self._last_attempt_s = True, self.monotonic()
        try:
            self.metadata, self._keys = self._fetch()
            self.why_not = ""
        except ProviderUnreachable as error:
            self.why_not = str(error)
            log.warning("an issuer's keys were not fetched", issuer=self.issuer.url, because=str(error))
        finally:
            self._fresh_until_s = self.monotonic() + FRESH_S
            self.fetched += 1
            if not self._keys:
                self._fresh_until_s = 0.0
            self._fetching = False

    def need_metadata(self) -> Mapping[str, Any]:
        """What the issuer publishes of itself; asks it where nothing is known.

        Raises:
            ProviderUnreachable.
        """
        if not self.metadata:
            self.refresh()
        if not self.metadata:
            raise ProviderUnreachable(f"{self.issuer.name} does not answer now: {self.why_not or 'it is being asked'}")
        return self.metadata

    def _fetch(self) -> tuple[Mapping[str, Any], Sequence[PublicKey]]:
        """
        Raises:
            ProviderUnreachable.
        """
        metadata = self.get_json(discovery_address(self.issuer.url))
        if metadata.get("issuer") != self.issuer.url:
            raise ProviderUnreachable(f"it calls itself {printable(shortened(str(metadata.get('issuer')), 200))}")
        keys = _keys_of(self.get_json(self.own_address(metadata, "jwks_uri")))
        if not keys:
            raise ProviderUnreachable("it publishes no key that can be used")
        return metadata, keys

    def own_address(self, metadata: Mapping[str, Any], name: str) -> str:
        """An address of the issuer's, which has TLS where the issuer has.

        Raises:
            ProviderUnreachable: there is none, or without TLS.
        """
        address = str(metadata.get(name, ""))
        parts = urlsplit(address)
        if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
            raise ProviderUnreachable(f"its `{name}` is no address with https")
        return address

    def http_options(self) -> dict[str, Any]:
        """Of an HTTP client that asks the issuer: it follows nothing elsewhere, and waits for so long."""
        ca_file = self.issuer.ca_file
        verify: Any = ssl.create_default_context(cafile=str(ca_file)) if ca_file else True
        if self.issuer.url.startswith("http:"):
            verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # reading all authorities takes longer than a question
        return {"verify": verify, "timeout": TIMEOUT_S, "follow_redirects": False, "trust_env": False}

    def get_json(self, address: str, token: str | None = None) -> Mapping[str, Any]:
        """What stands at an address of the issuer's.

        Raises:
            ProviderUnreachable.
        """
        import httpx

        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            with (
                httpx.Client(**self.http_options()) as client,
                client.stream("GET", address, headers=headers) as answer,
            ):
                content = b""
                for part in answer.iter_bytes():
                    content += part
                    if len(content) > LARGEST_BYTES:
                        raise ProviderUnreachable("it answers without an end")
            if answer.status_code != 200:
                raise ProviderUnreachable(f"{address} answers with status {answer.status_code}")
            document = json.loads(content)
        except (httpx.HTTPError, OSError) as error:
            words = printable(shortened(str(error), 200)) or type(error).__name__
            raise ProviderUnreachable(f"{address}: {words}") from error
        except (ValueError, RecursionError) as error:
            raise ProviderUnreachable(f"{address} answers with what is no JSON") from error
        if not isinstance(document, dict):
            raise ProviderUnreachable(f"{address} answers with what is no object")
        return document


def discovery_address(issuer: str) -> str:
    """Where an issuer describes itself (OpenID Connect Discovery §4)."""
    return f"{issuer.removesuffix('/')}/.well-known/openid-configuration"


def _keys_of(document: Mapping[str, Any]) -> Sequence[PublicKey]:
    """The public keys for signatures; what is of another kind, or weak, is passed over."""
    listed = document.get("keys")
    read = (_key_of(one) for one in listed if isinstance(one, dict)) if isinstance(listed, list) else ()
    return [one for one in read if one is not None]


def _key_of(document: Mapping[str, Any]) -> PublicKey | None:
    kind = _KINDS.get(str(document.get("kty")))
    if kind is None or document.get("use", "sig") != "sig" or "d" in document:
        return None
    if kind is RSAKey and len(str(document.get("n", ""))) * 6 < LEAST_RSA_BITS:
        return None
    try:
        return kind.import_key({name: value for name, value in document.items() if name not in ("x5c", "key_ops")})
    except (JoseError, ValueError, TypeError, KeyError):
        return None
