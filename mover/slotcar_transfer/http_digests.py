"""Digests of a whole file of an HTTP server: what the server says of it, or the user, and whether it has arrived so."""

from __future__ import annotations

import base64
import hashlib
import http.client
import os
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import blake3

from slotcar_transfer.errors import Damaged, TransferError

WANTED_DIGESTS = {"Want-Digest": "adler32, md5;q=0.9, sha-256;q=0.8, sha-512;q=0.7", "Want-Repr-Digest": "sha-256=10"}
_ADLER_FIRST = 1


def digests_of(answer: http.client.HTTPResponse) -> dict[str, str]:
    """Out of `Digest` (RFC 3230) and `Repr-Digest` (RFC 9530): algorithm and hexadecimal digest of the whole file."""
    digests: dict[str, str] = {}
    for header in ("Digest", "Repr-Digest"):
        for one in answer.headers.get(header, "").split(","):
            name, equals, value = one.strip().partition("=")
            algorithm = name.lower().replace("-", "")
            if not equals or algorithm not in _ALGORITHMS:
                continue
            value = value.strip(":")
            with suppress(ValueError):
                digest = value.lower() if algorithm == "adler32" else base64.b64decode(value).hex()
                # XRootD 5.5 gives its Adler-32 under the name of whatever it was asked for.
                if len(digest) == _HEX_DIGITS[algorithm]:
                    digests[algorithm] = digest
    return digests


class _Adler32:
    def __init__(self) -> None:
        self._value = _ADLER_FIRST

    def update(self, body: bytes) -> None:
        self._value = zlib.adler32(body, self._value)

    def hexdigest(self) -> str:
        return f"{self._value:08x}"


_ALGORITHMS: dict[str, Callable[[], Any]] = {
    "blake3": blake3.blake3, "sha256": hashlib.sha256, "sha512": hashlib.sha512, "adler32": _Adler32,
    "md5": lambda: hashlib.md5(usedforsecurity=False),
}  # fmt: skip
_HEX_DIGITS = {"blake3": 64, "sha256": 64, "sha512": 128, "adler32": 8, "md5": 32}


def checker(name: str, digests: Mapping[str, str], checksum: str | None) -> Callable[[int], None] | None:
    """
    Raises:
        TransferError: the user's checksum is none.
    """
    wanted = dict(digests)
    if checksum is not None:
        algorithm, _, value = checksum.partition(":")
        if algorithm not in _ALGORITHMS or not value:
            raise TransferError(f"--checksum {checksum} is none; say ALGORITHM:HEX with {', '.join(_ALGORITHMS)}")
        wanted = {algorithm: value.lower()}
    if not wanted:
        return None
    algorithm = next(one for one in ("blake3", "sha512", "sha256", "md5", "adler32") if one in wanted)

    def check(file: int) -> None:
        digest, offset = _ALGORITHMS[algorithm](), 0
        while body := os.pread(file, 1 << 20, offset):
            digest.update(body)
            offset += len(body)
        if digest.hexdigest() != wanted[algorithm]:
            raise Damaged(
                f"{name} arrived with {algorithm} {digest.hexdigest()} and is to have {wanted[algorithm]};"
                " it was not kept"
            )

    return check
