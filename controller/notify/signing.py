"""Secrets and signatures of webhooks, after Standard Webhooks (https://www.standardwebhooks.com, specification 1.0).

The secret stays where its owner keeps it, in a file or in a variable of the controller; the ledger has only the place.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from controller.files import read_regular_file
from controller.problems import SlotcarError

PREFIX = "whsec_"
#: Of random bytes in a secret (Standard Webhooks, "Signature scheme").
SHORTEST_BYTES, LONGEST_BYTES = 24, 64
#: Nobody's secret is larger; what is named by mistake is not read whole.
LARGEST_FILE_BYTES = 4096
HOW_TO = "make one with: (printf whsec_; openssl rand -base64 32) > FILE && chmod 600 FILE"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


class SecretUnusable(SlotcarError):
    """The place of a secret is wrong, or what is there is no secret. The message never holds what is there."""


def keys_at(place: str, environment: Mapping[str, str] = os.environ) -> tuple[bytes, ...]:
    """The keys at `file:PATH` or `env:NAME`, one a line: with two, both sign, so that a secret can be changed.

    Raises:
        SecretUnusable.
    """
    text = _read(place, environment)
    keys = tuple(_key(line.strip(), place) for line in text.splitlines() if line.strip())
    if not 1 <= len(keys) <= 2:
        raise SecretUnusable(
            f"{place} holds {len(keys)} secrets: it is to hold one, or two while it changes; {HOW_TO}"
        )
    return keys


def sign(message_id: str, timestamp_s: int, body: bytes, keys: Sequence[bytes]) -> str:
    """The `webhook-signature` header: HMAC-SHA256 over `id.timestamp.body`, one for each key."""
    signed = f"{message_id}.{timestamp_s}.".encode() + body
    digests = (hmac.new(key, signed, hashlib.sha256).digest() for key in keys)
    return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)


def _read(place: str, environment: Mapping[str, str]) -> str:
    kind, _, name = place.partition(":")
    if kind == "env" and _VARIABLE.fullmatch(name):
        if name not in environment:
            raise SecretUnusable(f"{place}: the controller has no such variable")
        return environment[name]
    if kind != "file" or not name.startswith("/"):
        raise SecretUnusable("a secret is named by its place: say file:/FULL/PATH or env:NAME, not the secret itself")
    try:
        raw = read_regular_file(Path(name), LARGEST_FILE_BYTES)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no file can have this name"
        raise SecretUnusable(f"{place} cannot be read: {why}; {HOW_TO}") from None
    return raw.decode("ascii", "replace")


def _key(line: str, place: str) -> bytes:
    wrong = (
        f"{place} does not hold a secret: {PREFIX} and base64 of {SHORTEST_BYTES} to {LONGEST_BYTES} bytes; {HOW_TO}"
    )
    if not line.startswith(PREFIX):
        raise SecretUnusable(wrong)
    try:
        key = base64.b64decode(line.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        # The cause would quote what is there.
        raise SecretUnusable(wrong) from None
    if not SHORTEST_BYTES <= len(key) <= LONGEST_BYTES:
        raise SecretUnusable(wrong)
    return key
