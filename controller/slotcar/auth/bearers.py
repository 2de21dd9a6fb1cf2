"""`Bearers`: whom a bearer token stands for, one of `slotcar token create` or an issuer's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from slotcar.auth.claims import NobodyHere, caller_of
from slotcar.auth.jwt import TokenRefused, Unchecked, checked_access_token, is_jwt, unchecked
from slotcar.auth.provider import Provider
from slotcar.auth.tokens import TokenStore
from slotcar.base import lengths
from slotcar.base.accounts import Account
from slotcar.policy.accounts import known_account
from slotcar.policy.caller import Caller
from slotcar.policy.certificates import CertificateNames, certificate_of


@dataclass(frozen=True, slots=True)
class Bearers:
    """The tokens that a controller takes. `providers`: by the address of the issuer."""

    tokens: TokenStore
    providers: Mapping[str, Provider] = field(default_factory=dict)

    def caller(self, text: str, now: datetime) -> Caller | None:
        """The caller; None for what is no token of this controller. Asks no network: see `due`.

        Raises:
            TokenRefused: it is an issuer's, or as if it were, and not taken; the message says why.
            ProviderUnreachable: the issuer's keys are not known. InvalidInput: the token file is not in order.
        """
        if not self.providers or not is_jwt(text):
            return self.tokens.caller(text, now)
        token, provider = self._read(text)
        claims = checked_access_token(token, provider.issuer, provider.key(token), now)
        ends_at = datetime.fromtimestamp(float(claims["exp"]), UTC) + timedelta(seconds=provider.issuer.leeway_s)
        try:
            return caller_of(claims, provider.issuer, self.tokens.site, ends_at)
        except NobodyHere as error:
            raise TokenRefused(str(error)) from error

    def caller_by_certificate(self, names: CertificateNames | None) -> Caller | None:
        """The program whose certificate it is; None for none, or nobody's who is known."""
        known = None if names is None else certificate_of(names, self.tokens.site.certificates)
        if known is None:
            return None
        site = self.tokens.site
        caller = site.caller(known.name, known.role, known.owner, proof=f"certificate {known.uri or known.subject}")
        return replace(caller, member_of=replace(caller.member_of, is_program=True))

    def caller_by_account(self, account: Account) -> Caller | None:
        """The account of this machine that asks by its socket; None for nobody's who is known."""
        site = self.tokens.site
        known = known_account(account, site.accounts, os.geteuid())
        if known is None:
            return None
        return site.caller(account.caller_name, known.role, known.owner, proof=f"{account.proof}, by its socket")

    def due(self, text: str) -> Provider | None:
        """The issuer whose keys are to be fetched before a token is looked at; None where none are."""
        provider, token = self._provider(text)
        return provider if provider is not None and provider.is_due(token) else None

    def waits(self, text: str) -> bool:
        """Whether a key that a token names is not known, and keys are being fetched."""
        provider, token = self._provider(text)
        return provider is not None and token is not None and provider.is_awaited(token)

    def _provider(self, text: str) -> tuple[Provider | None, Unchecked | None]:
        if not self.providers or not is_jwt(text):
            return None, None
        try:
            token, provider = self._read(text)
        except TokenRefused:
            return None, None
        return provider, token

    def _read(self, text: str) -> tuple[Unchecked, Provider]:
        """
        Raises:
            TokenRefused.
        """
        if len(text) > lengths.JWT:
            raise TokenRefused(f"it is longer than {lengths.JWT} characters")
        token = unchecked(text)
        provider = self.providers.get(token.issuer)
        if provider is None:
            raise TokenRefused("its issuer is not on this controller's list")
        return token, provider


def bearers_of(tokens: TokenStore) -> Bearers:
    """With the issuers of the site."""
    return Bearers(tokens, {one.url: Provider(one) for one in tokens.site.issuers})
