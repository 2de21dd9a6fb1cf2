"""The controller that a command's verbs go to, and what becomes of the errors of the client library."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slotcar.base.problems import SlotcarError

if TYPE_CHECKING:
    from slotcar_client.contexts import Place

#: The context of this machine's own ledger, which needs no address.
LOCAL = "local"
#: Kinds of problems by which admission or a policy refuses (exit code 3).
_REFUSALS = frozenset(
    ("refused", "plan-refused", "quota-exceeded", "flow-taken", "hold-too-long", "beyond-horizon", "endpoint-not-allowed",
     "host-not-given", "bind-not-allowed", "not-permitted", "unrenderable")
)  # fmt: skip
_context: str | None = None


class NoAnswer(SlotcarError):
    """The controller cannot be reached now; it may be later."""


class Declined(SlotcarError):
    """The controller answers, and will not do this; asking again does not help."""


class RefusedByController(Declined):
    """The controller's admission or its operator's rules refuse it.

    Attributes:
        refusal: admission's numbers, as the API gives them; None where it was not admission.
    """

    def __init__(self, message: str, refusal: Mapping[str, Any] | None = None) -> None:
        self.refusal = refusal
        super().__init__(message)


def choose_context(name: str | None) -> None:
    """What `--context` says, for the whole command."""
    global _context
    _context = name


def chosen_place() -> Place | None:
    """The controller that verbs go to; None for this machine's ledger.

    Raises:
        Declined: the context is not there, or its token cannot be read.
    """
    name = _context or (None if os.environ.get("SLOTCAR_API") else os.environ.get("SLOTCAR_CONTEXT"))
    if name == LOCAL:
        return None
    if name is None and not os.environ.get("SLOTCAR_API") and not _contexts_file().exists():
        return None  # without the client library, which takes a while to import
    from slotcar_client import contexts

    with translated():
        return contexts.chosen_place(context=name)


def _contexts_file() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or Path(os.environ.get("HOME") or Path.home()) / ".config"
    return Path(base) / "slotcar" / "contexts.json"


@contextmanager
def translated() -> Iterator[None]:
    """
    Raises:
        NoAnswer, Declined, RefusedByController: instead of the client library's errors, in the same words.
    """
    import slotcar_client

    try:
        yield
    except (slotcar_client.NoAnswer, slotcar_client.Unavailable) as error:
        raise NoAnswer(str(error)) from error
    except slotcar_client.Problem as error:
        words = f"{error}; an earlier attempt may have done it: see slotcar status" if error.maybe_done else str(error)
        if error.kind in _REFUSALS:
            raise RefusedByController(words, None if error.maybe_done else error.document.get("refusal")) from error
        raise Declined(words) from error
    except slotcar_client.SlotcarError as error:
        raise Declined(str(error)) from error
