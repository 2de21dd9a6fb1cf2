"""What goes wrong, as exceptions whose message is a sentence for people. Each has a kind, by which it crosses the wire."""

from __future__ import annotations


class TransferError(Exception):
    """The transfer cannot be done; trying again as it is does not help.

    Attributes:
        keeps_parts: whether what has arrived is kept for a later try.
    """

    kind = "error"
    keeps_parts = False


class Broken(TransferError):
    """A connection broke, or the other end went away; what has arrived is kept, and trying again may help."""

    kind = "broken"
    keeps_parts = True


class BadName(TransferError):
    """A path that may not be read or written: absolute, with `..`, or out of the tree by a link."""

    kind = "bad-name"


class NoSpace(TransferError):
    """The destination has not the space."""

    kind = "no-space"


class Changed(TransferError):
    """A file changed while it was read."""

    kind = "changed"


class WrongPeer(TransferError):
    """The other end is not who was expected, or does not know this end."""

    kind = "wrong-peer"


class OtherVersion(TransferError):
    """The ends speak different versions of the protocol."""

    kind = "other-version"


class Damaged(TransferError):
    """What arrived is not what was sent, again and again."""

    kind = "damaged"


class NotAllowed(TransferError):
    """The server serves no such thing, or only for reading or only for writing."""

    kind = "not-allowed"


class NotAdmitted(TransferError):
    """The reservation was refused."""

    kind = "not-admitted"


class Late(TransferError):
    """The deadline has passed and the transfer was told to stop then."""

    kind = "late"
    keeps_parts = True


class Stopped(TransferError):
    """Somebody stopped it; it can be taken up again."""

    kind = "stopped"
    keeps_parts = True


KINDS: dict[str, type[TransferError]] = {
    one.kind: one
    for one in (
        TransferError, Broken, BadName, NoSpace, Changed, WrongPeer, OtherVersion, Damaged, NotAllowed, NotAdmitted,
        Late, Stopped,
    )
}  # fmt: skip


def of_document(document: dict[str, object]) -> TransferError:
    """The exception that the other end sent as `{"error": kind, "words": …}`."""
    kind = KINDS.get(str(document.get("error")), TransferError)
    return kind(str(document.get("words") or "the other end gives no reason"))


def size_text(size_bytes: int) -> str:
    """A size for people, decimal: `1.5 GB`."""
    value = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g} {unit}" if unit != "B" else f"{size_bytes} B"
        value /= 1000
    return f"{value:.4g} TB"
