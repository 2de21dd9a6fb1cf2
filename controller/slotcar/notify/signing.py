"""Secrets and signatures of webhooks, after Standard Webhooks (https://www.standardwebhooks.com, specification 1.0).

The secret of an operator's webhook stays where the operator keeps it, in a file or in a variable of the controller; the
ledger has only the place. That of an owner's webhook is derived from the controller's own key (ADR 26).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from slotcar.base.files import read_regular_file
from slotcar.base.private_files import make_private_folder
from slotcar.base.problems import shortened
from slotcar.base.texts import lines_of
from slotcar.notify.errors import SecretUnusable

PREFIX = "whsec_"
#: How the place of a secret begins that has none of its own.
DERIVED = "derived"
#: Of random bytes in a secret (Standard Webhooks, "Signature scheme").
SHORTEST_BYTES, LONGEST_BYTES = 24, 64
#: Nobody's secret is larger; what is named by mistake is not read whole.
LARGEST_FILE_BYTES = 4096
HOW_TO = "make one with: (printf whsec_; openssl rand -base64 32) > FILE && chmod 600 FILE"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


def keys_at(place: str, environment: Mapping[str, str] = os.environ) -> tuple[bytes, ...]:
    """The keys at `file:PATH` or `env:NAME`, one a line: with two, both sign, so that a secret can be changed.

    Raises:
        SecretUnusable.
    """
    text = _read(place, environment)
    keys = tuple(_key(line.strip(), place) for line in lines_of(text) if line.strip())
    if not 1 <= len(keys) <= 2:
        raise SecretUnusable(
            f"{shortened(place)} holds {len(keys)} secrets: it is to hold one, or two while it changes; {HOW_TO}"
        )
    return keys


@dataclass(frozen=True, slots=True)
class DerivedSecrets:
    """Secrets that follow from one key and the webhook's id, so that no database has to hold them.

    Attributes:
        file: has the key; it is made where there is none.
    """

    file: Path

    def secret(self, webhook_id: str) -> str:
        """The signing secret, as its receiver needs it.

        Raises:
            SecretUnusable: the key cannot be read or made.
        """
        return PREFIX + base64.b64encode(self._derived("secret", webhook_id)).decode()

    def place(self, webhook_id: str) -> str:
        """What the ledger keeps of the key, by which it notices another key."""
        return f"{DERIVED}:{self._derived('place', webhook_id).hex()[:16]}"

    def keys(self, webhook_id: str, place: str) -> tuple[bytes, ...]:
        """The keys of a webhook, derived or at the `place`.

        Raises:
            SecretUnusable: see `keys_at`; or this controller has another key than the one that made the webhook.
        """
        if not place.startswith(f"{DERIVED}:"):
            return keys_at(place)
        if not hmac.compare_digest(place, self.place(webhook_id)):
            raise SecretUnusable(
                f"{self.file} is not the key by which this webhook's secret was made: all controllers of one ledger need"
                " the same SLOTCAR_WEBHOOK_KEY_FILE; or remove the webhook and add it again"
            )
        return (self._derived("secret", webhook_id),)

    def _derived(self, what: str, webhook_id: str) -> bytes:
        return hmac.new(self._key(), f"slotcar webhook {what} {webhook_id}".encode(), hashlib.sha256).digest()

    def _key(self) -> bytes:
        try:
            _make_key(self.file)
            key = read_regular_file(self.file, LARGEST_FILE_BYTES).strip()
        except OSError as error:
            raise SecretUnusable(f"{self.file}, the key of webhooks, cannot be used: {error.strerror}") from None
        if len(key) < SHORTEST_BYTES:
            raise SecretUnusable(
                f"{self.file}, the key of webhooks, is too short: {HOW_TO.replace('FILE', str(self.file))}"
            )
        return key


def _make_key(file: Path) -> None:
    """Makes a key of its own where there is none: whole or not at all, and whoever is first."""
    if file.exists():
        return
    make_private_folder(file.parent)
    with tempfile.NamedTemporaryFile("w", dir=file.parent, prefix=".webhook-key-") as temporary:  # 0600
        temporary.write(PREFIX + base64.b64encode(secrets.token_bytes(32)).decode() + "\n")
        temporary.flush()
        os.fsync(temporary.fileno())
        with suppress(FileExistsError):
            os.link(temporary.name, file)


def sign(message_id: str, timestamp_s: int, body: bytes, keys: Sequence[bytes]) -> str:
    """The `webhook-signature` header: HMAC-SHA256 over `id.timestamp.body`, one for each key."""
    signed = f"{message_id}.{timestamp_s}.".encode() + body
    digests = (hmac.new(key, signed, hashlib.sha256).digest() for key in keys)
    return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)


def _read(place: str, environment: Mapping[str, str]) -> str:
    kind, _, name = place.partition(":")
    if kind == "env" and _VARIABLE.fullmatch(name):
        if name not in environment:
            raise SecretUnusable(f"{shortened(place)}: the controller has no such variable")
        return environment[name]
    if kind != "file" or not name.startswith("/"):
        raise SecretUnusable("a secret is named by its place: say file:/FULL/PATH or env:NAME, not the secret itself")
    try:
        raw = read_regular_file(Path(name), LARGEST_FILE_BYTES)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no file can have this name"
        raise SecretUnusable(f"{shortened(place)} cannot be read: {why}; {HOW_TO}") from None
    return raw.decode("ascii", "replace")


def _key(line: str, place: str) -> bytes:
    wrong = (
        f"{shortened(place)} does not hold a secret: {PREFIX} and base64 of {SHORTEST_BYTES} to {LONGEST_BYTES} bytes;"
        f" {HOW_TO}"
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
