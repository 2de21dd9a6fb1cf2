"""A backup that was cut off or damaged anywhere is refused, or gives exactly what was written."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slotcar.recovery.backup_file import FORMAT, MANIFEST, BackupUnusable, BackupWriter, TableRows
from slotcar.recovery.restoring import usable

PARTS = {
    "ledger/head.copy": b"1\t2\t3\n",
    "state/known-good/r1/after.txt": b"qdisc\n" * 40,
    "state/tokens.json": b"{}",
}


def written() -> bytes:
    file = io.BytesIO()
    writer = BackupWriter(file)
    for name, data in PARTS.items():
        writer.add(name, data)
    table = TableRows(name="head", columns=("id", "sequence", "event"), rows=1)
    writer.finish("0017", datetime(2026, 1, 1, tzinfo=UTC), (table,))
    return file.getvalue()


def content(file: Path) -> dict[str, bytes]:
    with usable(file) as backup:
        return {name: b"".join(backup.read(name)) for name in backup.manifest.parts}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "whole"
    file.write_bytes(written())
    assert content(file) == PARTS


def test_one_that_was_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    whole, file = written(), tmp_path / "cut"
    for length in range(0, len(whole), 4):
        file.write_bytes(whole[:length])
        with pytest.raises(BackupUnusable):
            content(file)


def test_a_damaged_byte_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    """A zip has bytes that say nothing of its parts, such as their times."""
    whole, file = written(), tmp_path / "damaged"
    refused = 0
    for place in range(0, len(whole), 2):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x15]) + whole[place + 1 :])
        try:
            assert content(file) == PARTS, place
        except BackupUnusable:
            refused += 1
    assert refused > len(whole) / 4


def rewritten(change: Callable[[dict[str, object]], None], **parts: bytes) -> bytes:
    """A backup with another manifest, and with other parts beside."""
    with zipfile.ZipFile(io.BytesIO(written())) as old:
        manifest = json.loads(old.read(MANIFEST))
        change(manifest)
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as new:
            for name, data in (PARTS | parts).items():
                new.writestr(name, data)
            new.writestr(MANIFEST, json.dumps(manifest))
    return file.getvalue()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda manifest: manifest.update(revision="9000"), "is of a newer schema (9000, Slotcar"),
        (lambda manifest: manifest.update(format="slotcar-backup/7"), "has the form slotcar-backup/7, of Slotcar"),
        (
            lambda manifest: manifest["parts"].pop("state/tokens.json"),
            "state/tokens.json is not where its manifest says",
        ),
        (lambda manifest: manifest.update(parts=7), f"or one of another form than {FORMAT}"),
        (lambda manifest: manifest["tables"][0].update(name="pg_authid"), "it has pg_authid"),
    ],
    ids=["newer-schema", "newer-form", "unnamed-part", "no-manifest", "no-table-of-ours"],
)
def test_what_this_version_does_not_know_is_named(
    tmp_path: Path, change: Callable[[dict[str, object]], None], words: str
) -> None:
    file = tmp_path / "other"
    file.write_bytes(rewritten(change))
    with pytest.raises(BackupUnusable, match=words.replace("(", r"\(")):
        content(file)


@pytest.mark.parametrize("name", ["state/../../etc/passwd", "/etc/passwd", "state/known-good//x", "state/ssh/key"])
def test_a_part_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / "strange"
    one = {"bytes": 2, "sha256": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}  # of `{}`

    def change(manifest: dict[str, object]) -> None:
        manifest["parts"][name] = one  # type: ignore[index]

    file.write_bytes(rewritten(change, **{name: b"{}"}))
    with pytest.raises(BackupUnusable, match="is no backup of"):
        content(file)


def test_what_is_no_backup_is_said_to_be_none(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme", "hello")
    (tmp_path / "text").write_text("hello")
    for name, words in {
        "other.zip": "is no backup of Slotcar", "text": "is no backup, or one that was cut off",
        "none": "cannot be read: no such file", ".": "cannot be read: is a directory, not a regular file",
    }.items():  # fmt: skip
        with pytest.raises(BackupUnusable, match=words):
            content(tmp_path / name)
