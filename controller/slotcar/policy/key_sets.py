"""A file with the public keys of a community's server, looked at when it is read; signatures are checked later."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

#: Bytes of a public key of Ed25519 (RFC 8032).
KEY_BYTES = 32


def wrong_with_key_set(text: str) -> str:
    """What is wrong with a set of public keys (RFC 7517), of which one at least is of Ed25519 (RFC 8037); else empty.

    >>> wrong_with_key_set('{"keys": []}')
    'has no key of Ed25519 (`kty` OKP, `crv` Ed25519)'
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return "is no JSON"
    keys = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(keys, list) or not all(isinstance(one, dict) for one in keys):
        return "is no set of keys: it has `keys`, a list of JSON Web Keys"
    if any("d" in one for one in keys):
        return "has a private key (`d`), with which whoever reads the inventory could sign: make another"
    signing = [one for one in keys if (one.get("kty"), one.get("crv")) == ("OKP", "Ed25519")]
    if not signing:
        return "has no key of Ed25519 (`kty` OKP, `crv` Ed25519)"
    if not all(map(_is_whole, signing)):
        return f"has a key of Ed25519 whose `x` is not {KEY_BYTES} bytes in base64url"
    return ""


def _is_whole(key: Mapping[str, Any]) -> bool:
    try:
        written = str(key["x"]).rstrip("=")
        return len(base64.b64decode(written + "=" * (-len(written) % 4), altchars=b"-_", validate=True)) == KEY_BYTES
    except (KeyError, binascii.Error, ValueError):
        return False
