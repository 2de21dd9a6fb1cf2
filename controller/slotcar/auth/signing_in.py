"""A person signs in at an issuer: the authorization code flow with PKCE, from the way there to the session.

OpenID Connect Core §3.1, RFC 7636 (PKCE), RFC 9207 (the issuer says on the way back who it is). What the browser brings
back counts only together with what it took along, once, and within `MOST`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from slotcar.auth.claims import NobodyHere, caller_of
from slotcar.auth.errors import ProviderUnreachable
from slotcar.auth.jwt import TokenRefused, Unchecked, check_times, signed_claims, unchecked
from slotcar.auth.provider import Provider
from slotcar.auth.sessions import Sessions
from slotcar.auth.tokens import digest
from slotcar.base.files import read_regular_file
from slotcar.base.problems import SlotcarError, printable, shortened
from slotcar.base.settings import LARGEST_SECRET_BYTES
from slotcar.policy.issuers import Issuer, SignInClient
from slotcar.store.sign_ins import PendingSignIn, SignInStore

#: From the way to the issuer until the way back.
MOST = timedelta(minutes=10)
LARGEST_BYTES = 500_000


#: Among a session's claims the ID token itself, by which the issuer knows whom to sign out. No claim is called so.
HINT = "slotcar.hint"
LONGEST_HINT = 6_000


class NotSignedIn(SlotcarError):
    """A sign-in came to nothing; the message says why."""


@dataclass(frozen=True, slots=True)
class Going:
    """Where a browser is sent, and what it keeps until it comes back."""

    address: str
    browser: str


def begin(provider: Provider, store: SignInStore, redirect: str, back: str, zone: str, now: datetime) -> Going:
    """Begins a sign-in. `redirect`: where the issuer sends the browser back to; `back`: where the person wanted to go.

    Raises:
        ProviderUnreachable.
    """
    metadata, client = provider.need_metadata(), client_of(provider.issuer)
    address = provider.own_address(metadata, "authorization_endpoint")
    browser, state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(4))
    name = provider.issuer.name
    store.add(PendingSignIn(digest(browser), state, name, nonce, verifier, back, zone, now), now - MOST)
    query = {
        "response_type": "code", "client_id": client.client_id, "redirect_uri": redirect, "state": state, "nonce": nonce,
        "scope": " ".join(client.scopes), "code_challenge": challenge_of(verifier), "code_challenge_method": "S256",
    }  # fmt: skip
    if client.resource is not None:
        query["resource"] = client.resource
    return Going(f"{address}{'&' if '?' in address else '?'}{urlencode(query)}", browser)


def challenge_of(verifier: str) -> str:
    """What is shown of a verifier before it is (RFC 7636 §4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def client_of(issuer: Issuer) -> SignInClient:
    """
    Raises:
        NotSignedIn: people do not sign in there.
    """
    if issuer.page is None:
        raise NotSignedIn(f"nobody signs in at {issuer.name} here")
    return issuer.page


def finish(
    providers: Mapping[str, Provider], sessions: Sessions, store: SignInStore, redirect: str, browser: str,
    answer: Mapping[str, str], now: datetime,
) -> tuple[str, str]:  # fmt: skip
    """The id of a new session, and where the person wanted to go. `answer`: what the issuer has the browser bring back.

    Raises:
        NotSignedIn, ProviderUnreachable.
    """
    pending = store.take(digest(browser)) if browser else None
    if pending is None or now - pending.begun_at > MOST:
        raise NotSignedIn("this browser has not begun to sign in within the last ten minutes; begin again")
    if not hmac.compare_digest(answer.get("state", ""), pending.state):
        raise NotSignedIn("what came back belongs to another sign-in; begin again")
    provider = next((one for one in providers.values() if one.issuer.name == pending.issuer), None)
    if provider is None:
        raise NotSignedIn(f"nobody signs in at {pending.issuer} here any more")
    _check_answer(answer, provider)
    tokens = _exchanged(provider, redirect, answer["code"], pending.verifier)
    claims = _id_claims(tokens, provider, pending.nonce, now)
    ends_at = _end(tokens, claims, now)
    claims = _with_user_info(claims, tokens, provider)
    try:
        caller = caller_of(claims, provider.issuer, sessions.tokens.site, ends_at)
    except NobodyHere as error:
        raise NotSignedIn(str(error)) from error
    if len(hint := str(tokens["id_token"])) <= LONGEST_HINT:
        claims = {**claims, HINT: hint}
    return sessions.open_of_issuer(caller.name, pending.issuer, claims, ends_at, pending.zone, now), pending.back


def sign_out_address(provider: Provider, claims: Mapping[str, Any], back: str) -> str:
    """Where a person signs out at the issuer, too (OpenID Connect RP-Initiated Logout §2).

    Args:
        back: where the issuer sends the browser then.

    Raises:
        NotSignedIn: the issuer signs nobody out so. ProviderUnreachable.
    """
    metadata = provider.need_metadata()
    if not metadata.get("end_session_endpoint"):
        raise NotSignedIn(f"{provider.issuer.name} has no address to sign out at")
    address = provider.own_address(metadata, "end_session_endpoint")
    query = {"client_id": client_of(provider.issuer).client_id, "post_logout_redirect_uri": back}
    if HINT in claims:
        query["id_token_hint"] = str(claims[HINT])
    return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"


def _check_answer(answer: Mapping[str, str], provider: Provider) -> None:
    """
    Raises:
        NotSignedIn: it is of another issuer (RFC 9207), or the issuer has not signed anybody in.
    """
    name = provider.issuer.name
    says_issuer = provider.metadata.get("authorization_response_iss_parameter_supported") is True
    if ("iss" in answer or says_issuer) and answer.get("iss") != provider.issuer.url:
        raise NotSignedIn(f"what came back is not of {name}; begin again")
    if "error" in answer:
        words = printable(shortened(answer.get("error_description") or answer["error"], 200))
        raise NotSignedIn(f"{name} did not sign you in: {words}")
    if not answer.get("code"):
        raise NotSignedIn(f"{name} sent nothing back by which you are signed in; begin again")


def _exchanged(provider: Provider, redirect: str, code: str, verifier: str) -> Mapping[str, Any]:
    """The tokens that the issuer gives for a code (OpenID Connect Core §3.1.3).

    Raises:
        NotSignedIn, ProviderUnreachable.
    """
    import httpx

    client = client_of(provider.issuer)
    form = {
        "grant_type": "authorization_code", "code": code, "redirect_uri": redirect, "code_verifier": verifier,
        "client_id": client.client_id,
    }  # fmt: skip
    if client.resource is not None:
        form["resource"] = client.resource
    secret = _secret_of(client)
    auth = httpx.BasicAuth(client.client_id, secret) if secret else httpx.Auth()
    address = provider.own_address(provider.need_metadata(), "token_endpoint")
    try:
        with httpx.Client(**provider.http_options()) as http:
            answer = http.post(address, data=form, auth=auth)
        document = json.loads(answer.content[:LARGEST_BYTES])
    except (httpx.HTTPError, OSError) as error:
        raise ProviderUnreachable(f"{provider.issuer.name} does not answer now") from error
    except ValueError as error:
        raise ProviderUnreachable(f"{provider.issuer.name} answers with what is no JSON") from error
    if answer.status_code != 200 or not isinstance(document, dict):
        words = document.get("error", answer.status_code) if isinstance(document, dict) else answer.status_code
        raise NotSignedIn(
            f"{provider.issuer.name} gives no token: {printable(shortened(str(words), 100))}; begin again"
        )
    return document


def _secret_of(client: SignInClient) -> str | None:
    """
    Raises:
        NotSignedIn: its file cannot be read.
    """
    if client.secret_file is None:
        return None
    try:
        return read_regular_file(client.secret_file, LARGEST_SECRET_BYTES).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NotSignedIn("this controller cannot read its own secret for the issuer; tell its operator") from error


def _id_claims(tokens: Mapping[str, Any], provider: Provider, nonce: str, now: datetime) -> Mapping[str, Any]:
    """The claims of the ID token (OpenID Connect Core §3.1.3.7).

    Raises:
        NotSignedIn, ProviderUnreachable.
    """
    issuer, client_id = provider.issuer, client_of(provider.issuer).client_id
    try:
        token: Unchecked = unchecked(str(tokens.get("id_token")))
        if provider.is_due(token):
            provider.refresh()
        claims = signed_claims(token, issuer, provider.key(token))
        check_times(claims, issuer.leeway_s, now)
    except TokenRefused as error:
        raise NotSignedIn(f"{issuer.name} says who you are in a way that is not believed: {error}") from error
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if client_id not in audiences or claims.get("azp", client_id) != client_id:
        raise NotSignedIn(f"{issuer.name} says who you are to another application")
    if claims.get("nonce") != nonce:
        raise NotSignedIn(f"what {issuer.name} says belongs to another sign-in; begin again")
    return claims


def _with_user_info(claims: Mapping[str, Any], tokens: Mapping[str, Any], provider: Provider) -> Mapping[str, Any]:
    """With what the issuer says of the person beside the ID token, where it does (OpenID Connect Core §5.3).

    Raises:
        NotSignedIn, ProviderUnreachable.
    """
    if "userinfo_endpoint" not in provider.metadata or client_of(provider.issuer).resource is not None:
        return _kept(claims, provider.issuer)
    address = provider.own_address(provider.metadata, "userinfo_endpoint")
    info = provider.get_json(address, str(tokens.get("access_token")))
    if info.get("sub") != claims.get("sub"):
        raise NotSignedIn(f"{provider.issuer.name} says different things of who you are")
    return _kept({**info, **claims}, provider.issuer)


def _kept(claims: Mapping[str, Any], issuer: Issuer) -> Mapping[str, Any]:
    """What the mapping looks at; what else an issuer knows of a person is nobody's business here."""
    names = ("sub", issuer.claims.name, *issuer.claims.group_claims)
    wanted = {part for name in names for part in (name, name.partition(".")[0])}
    return {name: value for name, value in claims.items() if name in wanted}


def _end(tokens: Mapping[str, Any], claims: Mapping[str, Any], now: datetime) -> datetime:
    """When the session is over: with the ID token, or the access token where that is sooner."""
    end = datetime.fromtimestamp(float(claims["exp"]), UTC)
    lasts_s = tokens.get("expires_in")
    if isinstance(lasts_s, int) and 0 < lasts_s < 10**8:
        end = min(end, now + timedelta(seconds=lasts_s))
    return end
