"""Checks an issuer's token: its signature, its type, and what it says of itself. Asks no network and no clock.

The order of RFC 8725 and RFC 9068 §4: nothing that a token says is believed before its signature is, but the issuer and the
key that it names, which choose what it is checked with.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

from slotcar.base.problems import SlotcarError, printable, shortened
from slotcar.policy.issuers import AT_JWT, Issuer

PublicKey = RSAKey | ECKey | OKPKey
#: What only other kinds of tokens say: an ID token, which every application of an issuer gets, is no access token.
_OF_ID_TOKENS = ("nonce", "at_hash", "c_hash", "s_hash")
#: Keycloak says in its claims what a token is, and in the header `JWT` of each.
_OTHER_KINDS = ("ID", "Refresh", "Offline", "Logout")
_LATEST_S = 253_402_300_800


class TokenRefused(SlotcarError):
    """A token is not taken; the message says why."""


@dataclass(frozen=True, slots=True)
class Unchecked:
    """What a token says before anything of it is believed."""

    text: str
    header: Mapping[str, Any]
    claims: Mapping[str, Any]

    @property
    def issuer(self) -> str:
        return str(self.claims.get("iss", ""))

    @property
    def kid(self) -> str | None:
        kid = self.header.get("kid")
        return kid if isinstance(kid, str) else None


class SignatureRegistry(JWSRegistry):
    """As the library's, for headers with a certificate's thumbprint, and for `EdDSA`, as which most still write Ed25519."""

    max_header_length = 8192

    def get_alg(self, name: str) -> Any:
        if name == "EdDSA" and self.allowed and name in self.allowed:
            return self.algorithms[name]
        return super().get_alg(name)


def is_jwt(text: str) -> bool:
    """Whether it has the form of a signed token (RFC 7515); those of `slotcar token create` have no dot."""
    return text.count(".") == 2


def unchecked(text: str) -> Unchecked:
    """
    Raises:
        TokenRefused: it is no JWT.
    """
    try:
        parts = jws.extract_compact(text.encode("ascii"), registry=SignatureRegistry(strict_check_header=False))
        claims = json.loads(parts.payload)
        if not isinstance(claims, dict):
            raise ValueError
        return Unchecked(text, parts.protected, claims)
    except (JoseError, ValueError, RecursionError) as error:
        raise TokenRefused("it is no signed token that can be read") from error


def checked_access_token(token: Unchecked, issuer: Issuer, key: PublicKey, now: datetime) -> Mapping[str, Any]:
    """The claims of an access token.

    Raises:
        TokenRefused: it is not the issuer's, not for this service, not an access token, or over.
    """
    claims = signed_claims(token, issuer, key)
    _check_type(token, claims, issuer)
    _check_audience(claims, issuer.audience)
    check_times(claims, issuer.leeway_s, now)
    if "cnf" in claims:
        raise TokenRefused("it is bound to a key (`cnf`), which requests here prove nobody's")
    scopes = claims.get("scope")
    if issuer.scope is not None and (not isinstance(scopes, str) or issuer.scope not in scopes.split()):
        raise TokenRefused(f"it lacks the scope {issuer.scope}")
    return claims


def check_algorithm(token: Unchecked, issuer: Issuer) -> None:
    """
    Raises:
        TokenRefused: the issuer does not sign so.
    """
    algorithm = token.header.get("alg")
    if algorithm not in issuer.algorithms:
        raise TokenRefused(
            f"it is signed by {_quoted(algorithm)}; {issuer.name} signs by {', '.join(issuer.algorithms)}"
        )


def signed_claims(token: Unchecked, issuer: Issuer, key: PublicKey) -> Mapping[str, Any]:
    """The claims, whose signature is the issuer's.

    Raises:
        TokenRefused.
    """
    check_algorithm(token, issuer)
    if token.issuer != issuer.url:
        raise TokenRefused("it is of another issuer")
    registry = SignatureRegistry(algorithms=list(issuer.algorithms), strict_check_header=False)
    try:
        jws.deserialize_compact(token.text, key, registry=registry)
    except (JoseError, ValueError) as error:
        raise TokenRefused(f"its signature is not {issuer.name}'s") from error
    return token.claims


def _check_type(token: Unchecked, claims: Mapping[str, Any], issuer: Issuer) -> None:
    kind = str(token.header.get("typ", "")).lower().removeprefix("application/")
    allowed = (AT_JWT,) if issuer.token_type == AT_JWT else ("jwt", "", AT_JWT)
    if kind not in allowed:
        raise TokenRefused(f"its `typ` is {_quoted(kind)}, and not {issuer.token_type}: it is no access token")
    if any(name in claims for name in _OF_ID_TOKENS) or claims.get("typ") in _OTHER_KINDS:
        raise TokenRefused("it is no access token: an ID token says who signed in, and opens nothing")


def _check_audience(claims: Mapping[str, Any], audience: str) -> None:
    audiences = claims.get("aud")
    if audience not in (audiences if isinstance(audiences, list) else [audiences]):
        raise TokenRefused(f"it is for {_quoted(audiences)}, and not for {audience}")


def check_times(claims: Mapping[str, Any], leeway_s: int, now: datetime) -> None:
    """
    Raises:
        TokenRefused: it has no end or is over, or has not begun; a clock that is off by more than the leeway does that too.
    """
    present_s = now.timestamp()
    ends_s, begins_s, issued_s = (_instant_s(claims, name) for name in ("exp", "nbf", "iat"))
    if ends_s is None:
        raise TokenRefused("it has no end (`exp`)")
    if present_s >= ends_s + leeway_s:
        raise TokenRefused("it is over")
    if any(one is not None and one > present_s + leeway_s for one in (begins_s, issued_s)):
        raise TokenRefused("it has not begun: is its issuer's clock ahead, or this controller's behind?")


def _instant_s(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LATEST_S:
        raise TokenRefused(f"its `{name}` is no instant")
    return value


def _quoted(value: object) -> str:
    return printable(shortened(str(value), 100))
