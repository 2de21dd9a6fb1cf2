"""Signing in at an issuer from a terminal: the device authorization grant (RFC 8628), and what is kept of it.

The controller says which issuers it takes (RFC 9728). A person is shown a code, and confirms it in a browser, on whatever
machine that is. What the issuer gives is kept in a file of that person's, and renewed while the issuer does that.
"""

from __future__ import annotations

import hashlib
import json
import os
import ssl
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from slotcar_client.private_files import locked_for_change, replace_private_file
from slotcar_client.wire.errors import SlotcarError

WELL_KNOWN = "/.well-known/oauth-protected-resource"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
#: Between two questions where the issuer says nothing of it, and what `slow_down` adds (RFC 8628 §3.5).
INTERVAL_S, SLOWER_S = 5, 5
#: A token that is over sooner is renewed before it is sent.
LEFT_S = 30
LARGEST_BYTES = 200_000
TIMEOUT_S = 10.0


class NotSignedIn(SlotcarError):
    """Nobody is signed in, or a sign-in came to nothing; the message says why."""


@dataclass(frozen=True, slots=True)
class OfferedIssuer:
    """At which a controller's users may sign in from a terminal; `name`: of the issuer, at the controller."""

    name: str
    issuer: str
    client_id: str
    scopes: tuple[str, ...]
    resource: str | None = None


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """What a person is shown: `user_code` is typed at `address`; `whole_address` has it in it."""

    at: OfferedIssuer
    token_endpoint: str
    device_code: str = field(repr=False)
    user_code: str
    address: str
    whole_address: str
    interval_s: int
    lasts_s: int
    revocation_endpoint: str | None = None


@dataclass(frozen=True, slots=True)
class KeptTokens:
    """What an issuer gave, for one controller. `expires_at_s`: of the access token, in seconds since 1970."""

    api: str
    issuer_name: str
    client_id: str
    token_endpoint: str
    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    expires_at_s: float
    resource: str | None = None
    revocation_endpoint: str | None = None


def offered_issuers(api: str) -> tuple[OfferedIssuer, ...]:
    """Where one may sign in for a controller.

    Raises:
        NotSignedIn: it does not answer, or not in words that can be read.
    """
    document = _get(api.rstrip("/") + WELL_KNOWN)
    try:
        return tuple(
            OfferedIssuer(one["name"], one["issuer"], one["client_id"], tuple(one["scopes"]), one.get("resource"))
            for one in document.get("slotcar_issuers", [])
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise NotSignedIn(f"what {api} says of its issuers cannot be read") from error


def begin(at: OfferedIssuer) -> DeviceCode:
    """Asks the issuer for a code.

    Raises:
        NotSignedIn.
    """
    metadata = _get(f"{at.issuer.removesuffix('/')}/.well-known/openid-configuration")
    if metadata.get("issuer") != at.issuer:
        raise NotSignedIn(f"{at.issuer} calls itself {str(metadata.get('issuer'))[:200]}")
    if "device_authorization_endpoint" not in metadata:
        raise NotSignedIn(f"{at.name} signs nobody in from a terminal: it has no device flow")
    form = {"client_id": at.client_id, "scope": " ".join(at.scopes)} | (
        {"resource": at.resource} if at.resource else {}
    )
    status, answer = _post(str(metadata["device_authorization_endpoint"]), form)
    try:
        if status != 200:
            raise NotSignedIn(f"{at.name} gives no code: {_words(answer)}")
        address = str(answer["verification_uri"])
        return DeviceCode(
            at, str(metadata["token_endpoint"]), str(answer["device_code"]), str(answer["user_code"]), address,
            str(answer.get("verification_uri_complete", address)), int(answer.get("interval", INTERVAL_S)),
            int(answer["expires_in"]), metadata.get("revocation_endpoint"),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise NotSignedIn(f"what {at.name} answers cannot be read") from error


def wait(
    code: DeviceCode, api: str, sleep: Callable[[float], None] = time.sleep, now_s: Callable[[], float] = time.time
) -> KeptTokens:
    """Waits until the person has confirmed the code.

    Raises:
        NotSignedIn: denied, or too late.
    """
    interval_s, end_s = code.interval_s, now_s() + code.lasts_s
    form = {"grant_type": DEVICE_GRANT, "device_code": code.device_code, "client_id": code.at.client_id}
    while now_s() < end_s:
        sleep(interval_s)
        try:
            status, answer = _post(code.token_endpoint, form)
        except NotSignedIn:
            interval_s *= 2  # RFC 8628 §3.5: of a connection that is lost
            continue
        if status == 200:
            tokens = _kept(answer, api, code.at, code.token_endpoint, now_s())
            return replace(tokens, revocation_endpoint=code.revocation_endpoint)
        error = answer.get("error")
        if error == "slow_down":
            interval_s += SLOWER_S
        elif error == "access_denied":
            raise NotSignedIn("the sign-in was denied in the browser")
        elif error == "expired_token":
            break
        elif error != "authorization_pending":
            raise NotSignedIn(f"{code.at.name} signs nobody in: {_words(answer)}")
    raise NotSignedIn("the code is over: nobody confirmed it in time; say slotcar login again")


def _kept(answer: Mapping[str, Any], api: str, at: OfferedIssuer, token_endpoint: str, now_s: float) -> KeptTokens:
    """
    Raises:
        NotSignedIn: there is no token in it.
    """
    token, lasts_s, renewing = answer.get("access_token"), answer.get("expires_in"), answer.get("refresh_token")
    if not isinstance(token, str) or not token:
        raise NotSignedIn(f"what {at.name} answers has no token")
    expires_at_s = now_s + (lasts_s if isinstance(lasts_s, int) else 300)
    renewing = renewing if isinstance(renewing, str) else None
    return KeptTokens(api, at.name, at.client_id, token_endpoint, token, renewing, expires_at_s, at.resource)


class TokenKeeper:
    """The tokens of one user for one controller, in a file that nobody else may read (mode 0600)."""

    def __init__(self, api: str, environment: Mapping[str, str] = os.environ) -> None:
        base = environment.get("XDG_STATE_HOME") or Path(environment.get("HOME") or Path.home()) / ".local" / "state"
        self._folder = Path(base) / "slotcar" / "signed-in"
        self.api = api
        self._file = self._folder / f"{hashlib.sha256(_origin(api).encode()).hexdigest()[:16]}.json"

    @property
    def is_there(self) -> bool:
        """Whether somebody has signed in; what is kept is read when it is needed."""
        return self._file.exists()

    def keep(self, tokens: KeptTokens) -> None:
        """
        Raises:
            NotSignedIn: the file cannot be written.
        """
        try:
            with locked_for_change(self._folder):
                replace_private_file(self._file, json.dumps(asdict(tokens), indent=2) + "\n")
        except OSError as error:
            raise NotSignedIn(f"{self._folder} cannot be written: {error.strerror}") from error

    def forget(self) -> bool:
        """Whether there was something to forget."""
        try:
            self._file.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise NotSignedIn(f"{self._file} cannot be removed: {error.strerror}") from error
        return True

    def read(self) -> KeptTokens | None:
        """What is kept; None where nobody has signed in.

        Raises:
            NotSignedIn: others can read it, or it cannot be read.
        """
        try:
            if stat.S_IMODE(self._file.stat().st_mode) & 0o077:
                raise NotSignedIn(f"{self._file} can be read by others: say chmod 600 {self._file}")
            tokens = KeptTokens(**json.loads(self._file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise NotSignedIn(f"{self._file} cannot be read; say slotcar login again") from error
        return tokens if _origin(tokens.api) == _origin(self.api) else None

    def token(self) -> str | None:
        """The access token, renewed where it is about to be over; None where nobody has signed in.

        Raises:
            NotSignedIn: it is over, and the issuer does not renew it.
        """
        tokens = self.read()
        if tokens is None or tokens.expires_at_s - time.time() > LEFT_S:
            return tokens.access_token if tokens else None
        try:
            with locked_for_change(self._folder):
                tokens = self.read()  # another program may have renewed it: a token that renews counts once
                if tokens is not None and tokens.expires_at_s - time.time() <= LEFT_S:
                    tokens = renewed(tokens)
                    replace_private_file(self._file, json.dumps(asdict(tokens), indent=2) + "\n")
        except OSError as error:
            raise NotSignedIn(f"{self._folder} cannot be written: {error.strerror}") from error
        return tokens.access_token if tokens else None


def renewed(tokens: KeptTokens) -> KeptTokens:
    """With a new access token; the old one while it lasts and the issuer does not answer.

    Raises:
        NotSignedIn: it is over.
    """
    over = NotSignedIn(f"the sign-in at {tokens.issuer_name} is over: say slotcar login again")
    if tokens.refresh_token is None:
        if tokens.expires_at_s > time.time():
            return tokens
        raise over
    form = {"grant_type": "refresh_token", "refresh_token": tokens.refresh_token, "client_id": tokens.client_id}
    try:
        status, answer = _post(
            tokens.token_endpoint, form | ({"resource": tokens.resource} if tokens.resource else {})
        )
    except NotSignedIn:
        if tokens.expires_at_s > time.time():
            return tokens
        raise
    if status != 200:
        raise over
    at = OfferedIssuer(tokens.issuer_name, "", tokens.client_id, (), tokens.resource)
    newer = _kept(answer, tokens.api, at, tokens.token_endpoint, time.time())
    newer = replace(newer, revocation_endpoint=tokens.revocation_endpoint)
    return newer if newer.refresh_token else replace(newer, refresh_token=tokens.refresh_token)


def revoke(tokens: KeptTokens) -> None:
    """Has the issuer honour them no longer (RFC 7009): first what renews, with which many issuers end what it gave.

    Raises:
        NotSignedIn: it has no address for that, does not answer, or refuses.
    """
    if not tokens.revocation_endpoint:
        raise NotSignedIn(f"{tokens.issuer_name} revokes no tokens")
    listed = {"refresh_token": tokens.refresh_token, "access_token": tokens.access_token}
    refused = []
    for hint, token in listed.items():
        if token is not None:
            form = {"token": token, "token_type_hint": hint, "client_id": tokens.client_id}
            status, answer = _post(tokens.revocation_endpoint, form, may_be_empty=True)
            # An access token that is a JWT stands for itself until its end, and few issuers revoke one.
            if status != 200 and (hint == "refresh_token" or tokens.refresh_token is None):
                refused.append(_words(answer))
    if refused:
        raise NotSignedIn(f"{tokens.issuer_name} does not revoke: {refused[0]}")


def _origin(api: str) -> str:
    parts = urlsplit(api)
    return f"{parts.scheme}://{parts.netloc}".lower()


def _words(answer: Mapping[str, Any]) -> str:
    text = str(answer.get("error_description") or answer.get("error") or "it does not say why")
    return "".join(one for one in text[:200] if one.isprintable())


def _get(address: str) -> Mapping[str, Any]:
    status, document = _answer_of("GET", address, None)
    if status != 200:
        raise NotSignedIn(f"{address} answers with status {status}")
    return document


def _post(address: str, form: Mapping[str, str], *, may_be_empty: bool = False) -> tuple[int, Mapping[str, Any]]:
    return _answer_of("POST", address, form, may_be_empty=may_be_empty)


def _answer_of(
    method: str, address: str, form: Mapping[str, str] | None, *, may_be_empty: bool = False
) -> tuple[int, Mapping[str, Any]]:
    """`may_be_empty`: an answer without an object is one.

    Raises:
        NotSignedIn: nobody answers, or not with an object; or the address is without TLS and not on this machine.
    """
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_here(parts.hostname or "", form is None)):
        raise NotSignedIn(f"{address} has no TLS, and is not on this machine")
    options: dict[str, Any] = {} if parts.scheme == "https" else {"verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)}
    try:
        with httpx.Client(timeout=TIMEOUT_S, follow_redirects=False, **options) as http:
            answer = http.request(method, address, data=form)
        document = json.loads(answer.content[:LARGEST_BYTES] or (b"{}" if may_be_empty else b""))
    except httpx.HTTPError as error:
        raise NotSignedIn(f"{address} does not answer: {str(error) or type(error).__name__}") from error
    except (ValueError, RecursionError) as error:
        raise NotSignedIn(f"{address} answers with what is no JSON") from error
    return answer.status_code, document if isinstance(document, dict) else {}


def _is_here(host: str, reads: bool) -> bool:
    """A controller within a site may be asked in clear, as its other verbs are; a secret goes nowhere in clear."""
    return reads or host in ("localhost", "::1") or host.startswith("127.")
