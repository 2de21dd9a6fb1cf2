"""Files that somebody named: what is no regular file is refused in words, and nobody waits for it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slotcar.auth.tokens import TokenStore
from slotcar.base.files import read_regular_file
from slotcar.base.problems import InvalidInput, SlotcarError
from slotcar.base.settings import Settings
from slotcar.cli.place import Declined
from slotcar.cli.remote import remote
from slotcar.network.reading import read_inventory
from slotcar.notify.errors import SecretUnusable
from slotcar.notify.signing import keys_at
from slotcar.planning.plan_file import contents_of, read_plan
from slotcar.reservation import load_files
from tests.support.patience import PATIENCE_S

NOW = datetime(2027, 3, 1, tzinfo=UTC)
GARNET = Path(__file__).resolve().parents[2] / "inventories" / "garnet"
#: A reader that waits for a FIFO waits for ever; one that does not answers at once, also on a busy machine.


def database_password(file: Path) -> None:
    Settings(database_url="postgresql://u@h/n", database_password_file=file).ledger_url()


def api_token(file: Path) -> None:
    with remote("http://127.0.0.1:1", file):
        pass


def plan_file(file: Path) -> None:
    assert read_plan(contents_of([file])) is None
    load_files([file], NOW)


#: Everything that reads a file whose name an operator or a caller gives.
READERS: dict[str, Callable[[Path], object]] = {
    "webhook secret": lambda file: keys_at(f"file:{file}"),
    "tokens file": lambda file: TokenStore(file).tokens(),
    "database password": database_password,
    "token of the CLI": api_token,
    "plan file": plan_file,
    "reservation file": lambda file: load_files([file], NOW),
    "inventory file": lambda file: read_inventory(file),
    "vault password": lambda file: read_inventory(GARNET, file),
}
every_reader = pytest.mark.parametrize("reader", READERS.values(), ids=READERS)


@contextmanager
def refused(reader: Callable[[Path], object], file: Path) -> Iterator[list[str]]:
    """What the reader says of the file; the reader is let go where it waits for a writer, and the test fails."""
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(reader, file)
        try:
            error = reading.exception(PATIENCE_S)
        finally:
            with suppress(OSError):
                os.close(os.open(file, os.O_WRONLY | os.O_NONBLOCK))
    assert isinstance(error, SlotcarError | OSError), error
    yield [str(error)]


@every_reader
def test_a_fifo_is_refused_and_not_waited_for(reader: Callable[[Path], object], tmp_path: Path) -> None:
    file = tmp_path / "named.json"
    os.mkfifo(file, 0o600)
    with refused(reader, file) as (words,):
        assert "is a fifo, not a regular file" in words.lower()
        assert "Errno" not in words


@every_reader
def test_a_link_to_itself_is_refused(reader: Callable[[Path], object], tmp_path: Path) -> None:
    file = tmp_path / "named.json"
    file.symlink_to(file)
    with refused(reader, file) as (words,):
        assert any(part in words for part in ("oo many levels of symbolic links", "there is no such inventory"))


def test_a_fifo_in_the_folder_of_an_inventory_is_named(tmp_path: Path) -> None:
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "hosts.yml").write_text("all:\n")
    file = tmp_path / "group_vars" / "all.yml"
    os.mkfifo(file)
    with refused(lambda _: read_inventory(tmp_path), file) as (words,):
        assert words == f"{file}: is a FIFO, not a regular file"


@pytest.mark.parametrize(("path", "kind"), [("/dev/zero", "a character device"), ("/", "a directory")])
def test_what_never_ends_is_not_read(path: str, kind: str) -> None:
    with pytest.raises(OSError, match=f"is {kind}, not a regular file"):
        read_regular_file(Path(path), 10)


def test_a_socket_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(file))
        with pytest.raises(OSError):  # noqa: PT011 - the system's own words
            read_regular_file(file, 10)


def test_the_size_has_a_limit(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 10)
    assert read_regular_file(file, 10) == b"x" * 10
    with pytest.raises(OSError, match="is larger than 9 bytes"):
        read_regular_file(file, 9)


@pytest.mark.parametrize(
    ("reader", "error"),
    [("webhook secret", SecretUnusable), ("database password", InvalidInput), ("token of the CLI", Declined)],
)
def test_a_secret_named_by_mistake_is_not_read_whole(reader: str, error: type[SlotcarError], tmp_path: Path) -> None:
    file = tmp_path / "large"
    with file.open("wb") as stream:
        stream.truncate(10**12)  # takes no room on the disk; whoever reads it whole has no memory left
    with pytest.raises(error, match="is larger than"):
        READERS[reader](file)


def test_a_webhooks_secret_may_have_any_name_that_a_caller_thinks_of() -> None:
    with pytest.raises(SecretUnusable, match="no file can have this name"):
        keys_at("file:/a\0b")
