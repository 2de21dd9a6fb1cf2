"""What of a state folder is backed up, read while a controller may write there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from slotcar.base.problems import SlotcarError
from slotcar.base.settings import Settings
from slotcar.rollout.archive import KNOWN_GOOD, REVISIONS, UNRECORDED
from slotcar.rollout.forms import FORMS

#: Read in this order: what is known good is copied from a revision, which therefore is there when its turn comes.
FOLDERS = (KNOWN_GOOD, FORMS, UNRECORDED, REVISIONS)
#: A controller replaces a folder in less time than it takes to read it; so often in a row it does not.
TRIES = 1000
#: Where these files are in a backup, wherever the settings have them.
TOKENS, WEBHOOK_KEY = "tokens.json", "webhook-key"

Stamp = Sequence[tuple[str, int, int, int]]


class StateUnreadable(SlotcarError):
    """The state folder cannot be read whole, by this account or at this moment."""


def single_files(settings: Settings) -> dict[str, Path]:
    """Each file that is no part of the archive, by its name in a backup."""
    return {TOKENS: settings.tokens_path, WEBHOOK_KEY: settings.webhook_key_path}


def state_files(settings: Settings) -> Iterator[tuple[str, bytes]]:
    """Every file to keep, by its path in a backup. Each device's and each revision's are of one moment.

    Raises:
        StateUnreadable.
    """
    for name, file in single_files(settings).items():
        if (data := _file(file)) is not None:
            yield name, data
    for folder in FOLDERS:
        for entry in _entries(settings.state_dir / folder):
            for name, data in _whole(entry).items():
                yield f"{folder}/{entry.name}{name}", data


def _entries(folder: Path) -> Sequence[Path]:
    """What is in a folder of the archive: neither half-written nor about to go."""
    try:
        names = [entry.name for entry in folder.iterdir()]
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise _unreadable(folder, error) from error
    # A device's folder has another name for the moment in which a newer one takes its place.
    names += [name[1:].removesuffix(".old") for name in names if name.startswith(".") and name.endswith(".old")]
    wanted = {name for name in names if not name.startswith(".") and not name.endswith(".part")}
    return [folder / name for name in sorted(wanted)]


def _whole(entry: Path) -> dict[str, bytes]:
    """The files of a folder (or the one file) as they were at one moment; nothing where it is gone for good."""
    aside = entry.with_name(f".{entry.name}.old")  # where a controller was killed, or is at it
    for _ in range(TRIES):
        source = entry if entry.exists() else aside
        try:
            before = _stamp(source)
            files = {name: Path(f"{source}{name}").read_bytes() for name, *_ in before}
            if before == _stamp(source):
                return files
        except FileNotFoundError:
            if not (entry.exists() or aside.exists()):
                return {}
        except OSError as error:
            raise _unreadable(source, error) from error
    raise StateUnreadable(f"{entry} changes again and again while it is read: say the command again")


def _stamp(entry: Path) -> Stamp:
    """Every regular file below with what changes when it does."""
    if not entry.is_dir():
        return [_stamped(entry, "")]
    files = [Path(folder, name) for folder, _, names in os.walk(entry, onerror=_raise) for name in names]
    relative = [(file, f"/{file.relative_to(entry)}") for file in files if stat.S_ISREG(file.lstat().st_mode)]
    return sorted(_stamped(file, name) for file, name in relative)


def _stamped(file: Path, name: str) -> tuple[str, int, int, int]:
    status = file.lstat()
    return name, status.st_ino, status.st_size, status.st_mtime_ns


def _raise(error: OSError) -> None:
    raise error


def _file(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(file, error) from error


def _unreadable(where: Path, error: OSError) -> StateUnreadable:
    return StateUnreadable(f"{where} cannot be read: {(error.strerror or str(error)).lower()}")
