"""What a community's server signs, and what else may stand in its place: whatever it is, it is refused in words."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest
from joserfc.jwk import OKPKey

from slotcar.policy.attesting import NotAttested, attestation, attested_by
from slotcar.policy.reserving import Attested

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
KEY = OKPKey.generate_key("Ed25519", private=True)
KEYS = {"hep": json.dumps({"keys": [KEY.as_dict(private=False)]}), "lhc": None}


def signed(header: str, claims: str) -> str:
    """As a JWS in its compact form, with a signature of nobody."""
    return ".".join(
        base64.urlsafe_b64encode(one.encode()).decode().rstrip("=") for one in (header, claims, "signature")
    )


def test_what_was_signed_counts_for_its_reservation_until_its_end() -> None:
    text = attestation("hep", "cms", "run", 10, NOW + timedelta(seconds=1), KEY)
    assert attested_by(text, KEYS, "cms", "run", NOW) == Attested("hep", 10)
    with pytest.raises(NotAttested, match="it is over"):
        attested_by(text, KEYS, "cms", "run", NOW + timedelta(seconds=1))
    with pytest.raises(NotAttested, match="it is for cms/run"):
        attested_by(text, KEYS, "cms", "run-2", NOW)


CLAIMS = '{"iss": "hep", "sub": "cms/run", "rate": 1, "exp": 9999999999}'


@pytest.mark.parametrize(
    "header", ['{"alg": "Ed25519", "typ": "slotcar"}', '{"alg": "none"}', "[]", "7", '{"alg": 7}', "[" * 3_000]
)
@pytest.mark.parametrize(
    "claims",
    [
        CLAIMS, CLAIMS.replace("1", "Infinity", 1), CLAIMS.replace("1", "1e400", 1), CLAIMS.replace("9999999999", "NaN"),
        CLAIMS.replace('"hep"', '["hep"]'), CLAIMS.replace('"hep"', '"lhc"'), "[1]", "null", "[" * 3_000, "{" * 3_000,
    ],
)  # fmt: skip
def test_whatever_is_no_attestation_is_refused_in_words(header: str, claims: str) -> None:
    """Anybody may write a label: no answer is an error of the controller's."""
    with pytest.raises(NotAttested):
        attested_by(signed(header, claims), KEYS, "cms", "run", NOW)
