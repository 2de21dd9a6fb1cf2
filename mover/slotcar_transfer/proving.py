"""That a receiver's copy is what was sent: its BLAKE3, told over the connection by which the ends know each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import blake3

from slotcar_transfer.calling import Caller, hello
from slotcar_transfer.errors import BadName, TransferError
from slotcar_transfer.manifest import PAGE, checked_path
from slotcar_transfer.wire import Channel


def digest_of(file: Path) -> str:
    """
    Raises:
        TransferError: it cannot be read.
    """
    try:
        return blake3.blake3(max_threads=blake3.blake3.AUTO).update_mmap(file).hexdigest()
    except OSError as error:
        raise TransferError(f"{file} cannot be read: {error.strerror}") from error


def proven(caller: Caller, digests: Mapping[str, str]) -> frozenset[str]:
    """The names of those files that are in the peer's folder as they are here.

    Raises:
        TransferError: the peer does not tell.
    """
    names = sorted(digests)
    digests_of_peer: dict[str, object] = {}
    for first in range(0, len(names), PAGE):
        digests_of_peer |= caller.ask(verb="prove", files=names[first : first + PAGE])["digests"]
    return frozenset(name for name in names if digests_of_peer.get(name) == digests[name])


def answer(channel: Channel, root: Path, message: Mapping[str, Any]) -> None:
    """The server's side: the digest of each file that is there, null of the others."""
    files = message.get("files")
    names = [one for one in files if isinstance(one, str)][:PAGE] if isinstance(files, list) else []
    channel.send_message(hello(digests=dict(_digests(root, names))))
    channel.finish()


def _digests(root: Path, names: Iterable[str]) -> Iterable[tuple[str, str | None]]:
    for name in names:
        try:
            place = (root / checked_path(name)).resolve()
        except BadName:
            yield name, None
            continue
        yield name, digest_of(place) if place.is_relative_to(root) and place.is_file() else None
