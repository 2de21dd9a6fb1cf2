"""What the account page calls the proof by which somebody is known: each kind as what makes it writes it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slotcar.api.context import OPEN
from slotcar.auth.bearers import Bearers
from slotcar.auth.claims import proof_of
from slotcar.auth.tokens import TokenStore, create_token
from slotcar.cli.session import actor
from slotcar.policy.caller import Caller, Role, neighbour
from slotcar.policy.certificates import CertificateNames, KnownCertificate
from slotcar.policy.policies import shipped_policies
from slotcar.policy.site import Site
from slotcar.web.words import proof_words

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
ANN = Caller("ann", Role.REQUESTER)


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    known = KnownCertificate("probe@certificate", Role.AUDITOR, "noc", uri="spiffe://site/probe")
    return TokenStore(tmp_path / "tokens.json", Site(certificates=(known,)))


def test_a_token_is_a_token(store: TokenStore, tmp_path: Path) -> None:
    secret = create_token(tmp_path / "tokens.json", "ann", Role.REQUESTER, "hep", NOW, scopes=["reservations:read"])
    caller = store.caller(secret, NOW)
    assert caller is not None
    assert proof_words(caller) == ("Token", "ann, scopes reservations:read")


def test_a_certificate_is_a_certificate(store: TokenStore) -> None:
    caller = Bearers(store).caller_by_certificate(CertificateNames(frozenset({"spiffe://site/probe"}), "CN=probe"))
    assert caller is not None
    assert proof_words(caller) == ("Certificate of a program", "spiffe://site/probe")


def test_a_sign_in_is_no_token() -> None:
    kind, which = proof_words(replace(ANN, proof=proof_of("https://login.example", "4711")))
    assert (kind, which) == (
        "Sign-in by OpenID Connect, without a password here",
        "subject 4711 of https://login.example",
    )


def test_the_others_are_what_they_are() -> None:
    kind, which = proof_words(replace(ANN, proof=actor().proof))
    assert kind == "Account of the operating system"
    assert which.startswith("account ")
    assert proof_words(replace(ANN, proof=OPEN)) == ("Nothing", "the controller is open to its machine")
    assert proof_words(neighbour("anl", shipped_policies())) == (
        "Signed messages of a neighbouring domain",
        "of domain anl",
    )
    assert proof_words(ANN) == ("Another proof", "")
