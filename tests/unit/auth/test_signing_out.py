"""Where a person signs out at the issuer, too."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from slotcar.auth.errors import ProviderUnreachable
from slotcar.auth.provider import Provider
from slotcar.auth.signing_in import HINT, NotSignedIn, sign_out_address
from slotcar.policy.issuers import Issuer, SignInClient

HOME = Issuer("home", "https://home.example", "slotcar", page=SignInClient("page", ("openid",)))
BACK = "https://slotcar.example/sign-in"


def provider_with(**metadata: str) -> Provider:
    return Provider(HOME, metadata={"issuer": HOME.url, **metadata})


def test_the_issuer_is_told_whom_and_where_to() -> None:
    provider = provider_with(end_session_endpoint="https://home.example/end?theme=dark")
    parts = urlsplit(sign_out_address(provider, {HINT: "a.b.c"}, BACK))
    assert (parts.netloc, parts.path) == ("home.example", "/end")
    assert parse_qs(parts.query) == {
        "theme": ["dark"], "client_id": ["page"], "post_logout_redirect_uri": [BACK], "id_token_hint": ["a.b.c"],
    }  # fmt: skip
    assert "id_token_hint" not in sign_out_address(provider, {}, BACK)


def test_an_issuer_that_signs_nobody_out_is_told_in_words() -> None:
    with pytest.raises(NotSignedIn, match="home has no address to sign out at"):
        sign_out_address(provider_with(), {}, BACK)
    with pytest.raises(ProviderUnreachable, match="no address with https"):
        sign_out_address(provider_with(end_session_endpoint="http://home.example/end"), {}, BACK)
