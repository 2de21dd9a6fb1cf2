"""Whom an answer is about: a controller over HTTP, or a state folder of this machine. Said on standard error before it,
and in the documents of lists."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from slotcar.cli.output import at_terminal, stderr, under_way

if TYPE_CHECKING:
    from slotcar.base.settings import Settings

_COMPLETING = "_SLOTCAR_COMPLETE"
_answered_by = ""
_is_controller = False


def nobody_asked() -> None:
    """A new command begins."""
    global _answered_by, _is_controller
    _answered_by, _is_controller = "", False


def answered_by() -> str:
    """The controller's address, or the state folder; empty where the command has asked neither."""
    return _answered_by


def controller_asked() -> str:
    """Its address; empty where the command has asked none."""
    return _answered_by if _is_controller else ""


def ask_controller(api: str, context: str = "") -> None:
    global _is_controller
    _is_controller = True
    _say(api, f"asking the controller at {api}{f' (context {context})' if context else ''}")


def ask_state_folder(settings: Settings) -> None:
    """This machine's ledger, which is kept in the state folder, or in a database beside it."""
    folder = settings.state_dir.absolute()
    database = f", database {_without_password(settings.database_url)}" if settings.database_url else ""
    _say(str(folder), f"asking this machine's ledger: state folder {folder}{database}")


def use_archive(folder: Path) -> None:
    """What was pushed, of which the state folder alone is asked."""
    _say(str(folder.absolute()), f"using the archive of this machine: state folder {folder.absolute()}")


def _say(whom: str, words: str) -> None:
    """Once, however often a command asks. A shell that completes a word shows nothing else."""
    global _answered_by
    is_repeated, _answered_by = _answered_by == whom, whom
    under_way(words)
    if is_repeated or _COMPLETING in os.environ:
        return
    if sys.stderr.isatty():
        stderr().print(at_terminal(words), style="dim")
    else:
        sys.stderr.write(f"{at_terminal(words)}\n")
        sys.stderr.flush()


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.path.removeprefix('/')} at {host}" if host else parts.path.removeprefix("/") or "by default"
