"""The file of a backup: a zip with `manifest.json`, rows of the ledger (`ledger/TABLE.copy`), the state folder (`state/…`).

The manifest names every part with its SHA-256, and a zip's list of parts is at its end: what was cut off or damaged is seen
before anything of it is used.
"""

from __future__ import annotations

import hashlib
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO, Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from slotcar.base.files import require_regular
from slotcar.base.problems import SlotcarError

FORMAT = "slotcar-backup/1"
MANIFEST = "manifest.json"
LEDGER, STATE = "ledger", "state"
CHUNK_BYTES = 1024 * 1024
#: Of a manifest that names a million parts.
_LARGEST_MANIFEST_BYTES = 300_000_000
#: What `zipfile` raises where a file is not as it was written.
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, RuntimeError, KeyError, ValueError, OSError,
    OverflowError,
)  # fmt: skip
#: No part leads out of the folder that it is written to.
_PART = re.compile(r"(?:ledger|state)(?:/(?!\.{1,2}(?:/|$))[^/\0]+)+")


class BackupUnusable(SlotcarError):
    """The file is no backup, or not whole, or of a newer Slotcar. Nothing was restored."""


class BackupPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    bytes: int
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class TableRows(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    columns: tuple[str, ...]
    rows: int


class Manifest(BaseModel):
    """`revision`: of the ledger's tables. `taken_at`: when the ledger was as it is in the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str = FORMAT
    slotcar: str
    revision: str
    taken_at: datetime
    tables: tuple[TableRows, ...]
    parts: dict[str, BackupPart]

    def rows(self, table: str) -> int:
        return next((one.rows for one in self.tables if one.name == table), 0)

    def state_parts(self) -> list[str]:
        """Paths below the state folder."""
        return [name.removeprefix(f"{STATE}/") for name in self.parts if name.startswith(f"{STATE}/")]


class BackupWriter:
    """Adds parts to a backup; `finish` names them all. To be left before its file is closed."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self._parts: dict[str, BackupPart] = {}

    def __enter__(self) -> BackupWriter:
        return self

    def __exit__(self, *_error: object) -> None:
        with suppress(OSError, ValueError):  # of a file that came to nothing
            self._zip.close()

    @contextmanager
    def part(self, name: str) -> Iterator[Callable[[bytes], None]]:
        """A part of unknown length, by a function that adds to it."""
        digest, length = hashlib.sha256(), 0
        with self._zip.open(name, "w", force_zip64=True) as stream:

            def write(data: bytes) -> None:
                nonlocal length
                digest.update(data)
                length += len(data)
                stream.write(data)

            yield write
        self._parts[name] = BackupPart(bytes=length, sha256=digest.hexdigest())

    def add(self, name: str, data: bytes) -> None:
        with self.part(name) as write:
            write(data)

    def finish(self, revision: str, taken_at: datetime, tables: tuple[TableRows, ...]) -> Manifest:
        manifest = Manifest(
            slotcar=version("slotcar"), revision=revision, taken_at=taken_at, tables=tables, parts=self._parts
        )
        self._zip.writestr(MANIFEST, manifest.model_dump_json(indent=1))
        self._zip.close()
        return manifest


class BackupReader:
    """A backup whose manifest was read; `verify` reads all the rest."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, manifest: Manifest) -> None:
        self.path, self._zip, self.manifest = path, archive, manifest

    def verify(self) -> None:
        """
        Raises:
            BackupUnusable: a part is missing, damaged or unheard of.
        """
        names = set(self._zip.namelist()) - {MANIFEST}
        if names != self.manifest.parts.keys():
            one = min(names ^ self.manifest.parts.keys())
            raise BackupUnusable(f"{self.path} is damaged: {one} is not where its manifest says")
        for name, part in self.manifest.parts.items():
            if not _PART.fullmatch(name):
                raise BackupUnusable(f"{self.path} is no backup of Slotcar: it has a part {name!r}")
            digest = hashlib.sha256()
            for data in self.read(name):
                digest.update(data)
            if digest.hexdigest() != part.sha256:
                raise BackupUnusable(f"{self.path} is damaged: {name} is not what was written there")

    def read(self, name: str) -> Iterator[bytes]:
        """A part, in pieces.

        Raises:
            BackupUnusable: it is damaged.
        """
        try:
            with self._zip.open(name) as stream:
                while data := stream.read(CHUNK_BYTES):
                    yield data
        except _DAMAGED as error:
            raise BackupUnusable(f"{self.path} is damaged: {name} cannot be read") from error


@contextmanager
def opened(path: Path) -> Iterator[BackupReader]:
    """
    Raises:
        BackupUnusable: it is no whole backup, or one of a newer Slotcar's form.
    """
    try:
        require_regular(path.stat(), path)
        file = path.open("rb")
    except OSError as error:
        raise BackupUnusable(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from error
    with file:
        try:
            archive = zipfile.ZipFile(file)
        except _DAMAGED as error:
            raise BackupUnusable(f"{path} is no backup, or one that was cut off or damaged") from error
        with archive:
            yield BackupReader(path, archive, _manifest(path, archive))


def _manifest(path: Path, archive: zipfile.ZipFile) -> Manifest:
    try:
        if archive.getinfo(MANIFEST).file_size > _LARGEST_MANIFEST_BYTES:
            raise ValueError("too large")
        manifest = Manifest.model_validate_json(archive.read(MANIFEST))
    except (*_DAMAGED, ValidationError) as error:
        raise BackupUnusable(f"{path} is no backup of Slotcar, or one of another form than {FORMAT}") from error
    if manifest.format != FORMAT:
        raise BackupUnusable(
            f"{path} has the form {manifest.format}, of Slotcar {manifest.slotcar}; this one reads {FORMAT}"
        )
    return manifest
