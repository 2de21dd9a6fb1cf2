"""What a community's server has signed: that one of the community's owners may ask for a reservation (GARA §6).

The label `attestation` of a reservation holds it, as a JWS in its compact form with Ed25519. It is for one owner and one
name, up to a rate and until an instant, so that it is worth nothing to anybody else, and nothing twice: a name is an
owner's once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from slotcar.base.problems import SlotcarError
from slotcar.policy.reserving import Attested

ALGORITHM = "Ed25519"
#: What the header says that it is: a signature for something else is none for this.
TYPE = "slotcar"

#: What somebody's text may lead to: numbers may be endless in JSON, and brackets nested without an end.
_UNREADABLE = (JoseError, ValueError, KeyError, TypeError, OverflowError, RecursionError)


class NotAttested(SlotcarError):
    """An attestation is not believed."""


def attested_by(text: str, keys_of: Mapping[str, str | None], owner: str, name: str, now: datetime) -> Attested:
    """What the text attests for the reservation `owner/name`.

    Args:
        keys_of: by community, a set of public keys (RFC 7517) as JSON.

    Raises:
        NotAttested: it is not signed by a community that the site knows, or for something else, or is over.
    """
    community, subject, rate_bps, ends_at = _claims(text)
    keys = keys_of.get(community)
    if keys is None:
        raise NotAttested(f"the site has no keys of a community {community}")
    try:
        header = jws.deserialize_compact(text, _keys(keys), algorithms=[ALGORITHM]).headers()
    except _UNREADABLE as error:
        raise NotAttested(f"its signature is not {community}'s ({type(error).__name__})") from error
    if header.get("typ") != TYPE:
        raise NotAttested(f"its `typ` is not {TYPE}")
    if subject != f"{owner}/{name}":
        raise NotAttested(f"it is for {subject}")
    if now.timestamp() >= ends_at:
        raise NotAttested("it is over")
    return Attested(community, rate_bps)


def _claims(text: str) -> tuple[str, str, int, int]:
    """What it says before anything is believed: community, reservation, rate, and its end in seconds since 1970."""
    try:
        claims = json.loads(jws.extract_compact(text.encode()).payload)
        return str(claims["iss"]), str(claims["sub"]), int(claims["rate"]), int(claims["exp"])
    except _UNREADABLE as error:
        raise NotAttested("it is no signature of `iss`, `sub`, `rate` and `exp`") from error


@lru_cache(maxsize=256)
def _keys(text: str) -> KeySet:
    return KeySet.import_key_set(json.loads(text))


def attestation(community: str, owner: str, name: str, rate_bps: int, ends_at: datetime, key: Any) -> str:
    """What a community's server signs, with its private key of `ALGORITHM` (a JWK of joserfc)."""
    claims = {"iss": community, "sub": f"{owner}/{name}", "rate": rate_bps, "exp": int(ends_at.timestamp())}
    payload = json.dumps(claims, separators=(",", ":")).encode()
    header = {"alg": ALGORITHM, "typ": TYPE}
    return jws.serialize_compact(header, payload, key, algorithms=[ALGORITHM])
