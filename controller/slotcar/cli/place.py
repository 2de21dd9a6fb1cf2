"""The controller that a command's verbs go to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from slotcar.base.problems import SlotcarError

if TYPE_CHECKING:
    from slotcar_client.contexts import Place

#: The context of this machine's own ledger, which needs no address.
LOCAL = "local"
_context: str | None = None


class Declined(SlotcarError):
    """This is not done here, or not in this way; asking again does not help."""


def choose_context(name: str | None) -> None:
    """What `--context` says, for the whole command."""
    global _context
    _context = name


def chosen_place() -> Place | None:
    """The controller that verbs go to; None for this machine's ledger.

    Raises:
        NoContext: it is not there, or its token cannot be read.
    """
    name = _context or (None if os.environ.get("SLOTCAR_API") else os.environ.get("SLOTCAR_CONTEXT"))
    if name == LOCAL:
        return None
    if name is None and not os.environ.get("SLOTCAR_API") and not _contexts_file().exists():
        return None  # without the client library, which takes a while to import
    from slotcar_client import contexts

    return contexts.chosen_place(context=name)


def _contexts_file() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or Path(os.environ.get("HOME") or Path.home()) / ".config"
    return Path(base) / "slotcar" / "contexts.json"
