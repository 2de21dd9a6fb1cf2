"""`slotcar db backup`, `restore` and `downgrade`: what was kept is there again, and what is there is never replaced."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from sqlalchemy.engine import make_url

from slotcar.recovery import restoring
from slotcar.store import exclusive, open_ledger
from slotcar.store.copying import COPIED, LEFT_OUT
from slotcar.store.exclusive import alone
from slotcar.store.opening import engine_for
from slotcar.store.revisions import NEWEST_REVISION, known_revisions, revision_of
from slotcar.store.schema import metadata
from tests.support.command_line import Cli, Done
from tests.support.patience import PATIENCE_S
from tests.support.postgres import migrate, stop_server

Write = Callable[..., Path]
#: Of text that a row of PostgreSQL's COPY writes with escapes.
STRANGE = "a\tb\\N é\u2028ü"
#: Of the state folder: what a push leaves, as far as a backup looks into it.
STATE = {
    "known-good/anl-edge/after.txt": "qdisc\n", "known-good/anl-edge/ends.json": "[]",
    "revisions/20270101T000000.000000Z-00000000/anl-edge/after.txt": "qdisc\n",
    "revisions/20270101T000000.000000Z-00000000/taken-back": "",
    "forms/r-abc.json": "{}", "unrecorded/20270101T000000.000000Z-anl-edge.json": "{}",
}  # fmt: skip


def says(done: Done, code: int, *words: str) -> None:
    assert done.code == code, done
    assert all(one in done.err for one in words), done.err
    assert "Traceback" not in done.err
    assert "fault in Slotcar" not in done.err


def use(cli: Cli, reservations: Write, tmp_path: Path) -> None:
    """A row in every table, and a file in every part of the state folder."""
    assert cli("apply", reservations({}, {"name": "atlas", "destination": "lbnl-premium:5002"}), "--yes").code == 0
    assert cli("cancel", "hep/atlas", "--yes").code == 0
    assert cli("token", "create", "ops", "--role", "operator").code == 0
    (tmp_path / "secret").write_text("whsec_" + "A" * 44 + "\n")
    add = ("webhook", "add", "http://127.0.0.1:9/", "--secret-file", tmp_path / "secret", "--kinds", "reservation.")
    assert cli(*add).code == 0
    assert cli("hold", "anl-edge", "--reason", STRANGE.replace("\u2028", "").replace("\t", " "), "--yes").code == 0
    for name, text in STATE.items():
        file = tmp_path / "state" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def listed(done: Done) -> Any:
    """A list, whoever gives it."""
    return done.data if isinstance(done.data, list) else {**done.data, "answered_by": ""}


def views(cli: Cli) -> dict[str, Any]:
    questions = {
        "reservations": ("status", "--all"), "events": ("events",), "tokens": ("token", "list"),
        "webhooks": ("webhook", "list"),
    }  # fmt: skip
    shown = {}
    for name, arguments in questions.items():
        done = cli(*arguments, "--format", "json")
        assert done.code == 0, done
        shown[name] = listed(done)
    return shown


def files(state: Path) -> dict[str, tuple[str, int]]:
    """What a state folder has but for its database, with modes."""
    return {
        one.relative_to(state).as_posix(): ("" if one.is_dir() else one.read_text(), stat.S_IMODE(one.stat().st_mode))
        for one in sorted(state.rglob("*"))
        if one.relative_to(state).parts[0] != "postgres" and not one.name.startswith(".")
    }


@pytest.fixture
def another_database(server_url: str) -> Iterator[str]:
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE restored")
        yield make_url(server_url).set(database="restored").render_as_string(hide_password=False)
        connection.execute("DROP DATABASE restored WITH (FORCE)")


@pytest.fixture
def elsewhere(cli: Cli, another_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A machine where nothing is yet: from its call on `cli` works there."""

    def move() -> None:
        monkeypatch.setenv("SLOTCAR_DATABASE_URL", another_database)
        monkeypatch.setenv("SLOTCAR_STATE_DIR", str(tmp_path / "elsewhere"))

    return move


def test_every_table_is_copied_or_left_out_on_purpose() -> None:
    assert set(COPIED) | set(LEFT_OUT) == set(metadata.tables)
    assert known_revisions()[-1] == NEWEST_REVISION


def test_what_is_restored_elsewhere_is_what_was_backed_up(
    cli: Cli, elsewhere: Callable[[], None], reservations: Write, tmp_path: Path, database_url: str
) -> None:
    use(cli, reservations, tmp_path)
    with psycopg.connect(database_url, autocommit=True) as raw:
        raw.execute(
            "INSERT INTO community_share VALUES ('hep', 'cms', '{cms}', 1, NULL, '{0}', '{ip-premium}', %s, now())",
            [STRANGE],
        )
        raw.execute("INSERT INTO idempotency VALUES ('tester', %s, 'x', 'r-x', now())", [STRANGE])
        raw.execute("ALTER DATABASE " + str(make_url(database_url).database) + " SET datestyle = 'SQL, DMY'")
        webhook = raw.execute("SELECT id FROM webhook").fetchone()
        assert webhook is not None
        raw.execute(
            "INSERT INTO counted VALUES (1, 'forward', 'ip-premium', 'anl-edge', %s, 300, 0, 1, 1, 1, 1, 1, 1, 1, 1, %s)",
            [STRANGE, [STRANGE]],
        )
        raw.execute("INSERT INTO counter_reading VALUES ('anl-edge', now(), now(), 'x', '[]')")
        for table in ("connection", "nsi_provided", "nsi_requested"):
            raw.execute(
                f"INSERT INTO {table} VALUES ('c-1', 'committed', true, 1, now(), %s, now())",
                [json.dumps({"x": STRANGE})],
            )
        raw.execute("INSERT INTO connection_segment VALUES ('c-1', 'lbnl', 'esnet', now(), '{}')")
        raw.execute("INSERT INTO domain_ticket VALUES ('lbnl', %s, 'c-1', 1, now())", [STRANGE])
        for table, column in (("transfer_sample", "volume_bytes, started_at, ended_at"), ("probe_sample", "at")):
            values = ", ".join(["'x'"] * 5 + ["1"] * column.startswith("volume") + ["now()"] * column.count("at"))
            names = "source, destination, source_domain, destination_domain, tool"
            raw.execute(f"INSERT INTO {table} ({names}, {column}) VALUES ({values})")
        for into in (
            "audit_window VALUES ('x', 'a', %s, 3600, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, '{}', '{}', 1, 1, 1)",
            "agreed_sls (id, name, rests_on, attempt, over, closed) VALUES ('sls:x', %s, '', 'x', false, '')",
        ):
            raw.execute(f"INSERT INTO {into}", [STRANGE])
        raw.execute("INSERT INTO audit_way VALUES ('x', 'a', %s, 1, 'kept')", [STRANGE])
        raw.execute("INSERT INTO webhook_delivery VALUES (%s, 1, 'x', 0, now(), now(), NULL, '')", webhook)
    before, backup = views(cli), tmp_path / "backup"
    done = cli("db", "backup", backup)
    assert done.code == 0, done
    assert "with 2 reservations and" in done.out
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600

    elsewhere()
    restored = cli("db", "restore", backup)
    assert restored.code == 0, restored
    assert "tokens that were revoked since are valid again" in restored.err
    assert views(cli) == before
    closed = files(tmp_path / "elsewhere")
    assert {name: text for name, (text, _) in closed.items() if name in STATE} == STATE
    assert {mode for _, mode in closed.values()} == {0o700, 0o600}
    with psycopg.connect(database_url) as one, psycopg.connect(os.environ["SLOTCAR_DATABASE_URL"]) as other:
        for connection in (one, other):
            connection.execute("SET datestyle = 'ISO, YMD'")
        for table in COPIED:
            rows = f"SELECT {table}::text FROM {table} ORDER BY 1"
            assert one.execute(rows).fetchall() == other.execute(rows).fetchall() != [], table
    for table in ("transfer_sample", "probe_sample", "agreed_sls"):
        with psycopg.connect(os.environ["SLOTCAR_DATABASE_URL"]) as other:
            next_number = "SELECT nextval(pg_get_serial_sequence(%s, 'number')), max(number) FROM "
            (row,) = other.execute(next_number + table, [table]).fetchall()
            assert row == (2, 1), table
    # The next one gets numbers that nobody has.
    assert cli("apply", reservations({"name": "lhcb", "destination": "lbnl-premium:5003"}), "--yes").code == 0


def test_nothing_that_is_there_is_replaced(
    cli: Cli, elsewhere: Callable[[], None], reservations: Write, tmp_path: Path
) -> None:
    use(cli, reservations, tmp_path)
    backup = tmp_path / "backup"
    assert cli("db", "backup", backup).code == 0
    says(cli("db", "backup", backup), 1, f"{backup} is there already: name a new file")
    says(cli("db", "restore", backup), 1, "known-good is there already", "--ledger-only")
    says(cli("db", "restore", backup, "--ledger-only"), 1, "the ledger is not empty", "entry, flow, occupancy, event")
    elsewhere()
    kept = tmp_path / "elsewhere" / "known-good" / "r1"
    kept.mkdir(parents=True)
    says(cli("db", "restore", backup), 1, "known-good is there already")
    assert cli("db", "upgrade").code == 0  # tables without a row are as good as none
    done = cli("db", "restore", backup, "--ledger-only")
    assert done.code == 0, done
    assert kept.exists()
    assert set(files(tmp_path / "elsewhere")) == {"known-good", "known-good/r1"}


def test_what_came_while_the_ledger_was_filled_is_not_replaced(
    cli: Cli, elsewhere: Callable[[], None], reservations: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a token that somebody makes during a restore of minutes."""
    use(cli, reservations, tmp_path)
    assert cli("db", "backup", tmp_path / "backup").code == 0
    elsewhere()
    fill, tokens = restoring._fill, tmp_path / "elsewhere" / "tokens.json"

    def fill_slowly(*arguments: Any) -> None:
        fill(*arguments)
        tokens.write_text("{}")

    monkeypatch.setattr(restoring, "_fill", fill_slowly)
    says(cli("db", "restore", tmp_path / "backup"), 1, "tokens.json is there already")
    assert {name: text for name, (text, _) in files(tmp_path / "elsewhere").items()} == {"tokens.json": "{}"}
    says(cli("status"), 1, "the database has no ledger yet")


@contextmanager
def leading(url: str, folder: Path) -> Iterator[None]:
    with open_ledger(url, folder) as ledger, ledger.try_lead() as lease:  # type: ignore[union-attr]
        assert lease is not None
        yield


@contextmanager
def connected(url: str, _folder: Path) -> Iterator[None]:
    with psycopg.connect(url, application_name="slotcar"):
        yield


@pytest.mark.parametrize(
    ("somebody", "words"),
    [
        (leading, "a controller leads with this database: stop every"),
        (connected, "is used by slotcar (the server's"),
    ],
    ids=["leads", "is-connected"],
)
def test_beside_a_controller_nothing_is_restored_and_nothing_taken_back(
    cli: Cli, elsewhere: Callable[[], None], another_database: str, tmp_path: Path, somebody: Any, words: str
) -> None:
    backup = tmp_path / "backup"
    assert cli("db", "backup", backup).code == 0
    elsewhere()
    assert cli("db", "upgrade").code == 0
    with somebody(another_database, tmp_path):
        says(cli("db", "restore", backup), 1, words)
        says(cli("db", "downgrade", "0012", "--yes"), 1, words)
        assert cli("db", "backup", tmp_path / "beside").code == 0
    assert cli("db", "status", "--format", "json").data["revision"] == NEWEST_REVISION
    assert files(tmp_path / "elsewhere") == {}


def test_a_command_that_has_just_ended_is_in_nobodys_way(
    empty_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection is closed, and the server lists it until its process has ended."""
    engine, other = engine_for(empty_database_url, tmp_path), psycopg.connect(empty_database_url)
    closing = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _pause_s: other.close())
    monkeypatch.setattr(exclusive, "time", closing)
    monkeypatch.setattr(exclusive, "LEAVING_S", PATIENCE_S)
    try:
        with alone(engine) as connection:
            assert revision_of(connection) == ""
    finally:
        other.close()
        engine.dispose()


@pytest.mark.in_short("0012")
@pytest.mark.parametrize("revision", ["0004", "0012", "0016"])
def test_a_backup_of_an_older_version_is_upgraded(
    cli: Cli, elsewhere: Callable[[], None], reservations: Write, tmp_path: Path, database_url: str, revision: str
) -> None:
    """And the way back: the tables as the older version has them, and forward again."""
    assert cli("apply", reservations(), "--yes").code == 0
    before, backup = listed(cli("status", "--all", "--format", "json")), tmp_path / "backup"
    done = cli("db", "downgrade", revision, "--yes")
    assert (done.code, done.out) == (0, f"Taken back from {NEWEST_REVISION} to {revision}.\n"), done
    says(cli("status"), 1, "is of an older version: run slotcar db upgrade")
    assert cli("db", "backup", backup).code == 0
    elsewhere()
    assert cli("db", "restore", backup).code == 0
    assert cli("db", "status", "--format", "json").data["schema"] == "current"
    assert listed(cli("status", "--all", "--format", "json")) == before
    migrate(database_url, "head")


def test_the_way_back_says_what_it_loses_and_refuses_what_it_cannot_keep(
    cli: Cli, reservations: Write, database_url: str
) -> None:
    says(cli("db", "downgrade", "0099"), 2, "it can go back to 0001, ")
    says(
        cli("db", "downgrade", "0003"),
        2,
        "This loses who asked for each transfer, as far as policies are asked again by it;"
        " the SLSs that domains have agreed on;"
        " what domains said of their segments, and which tickets were taken; delegations,"
        " and what managers shared out of communities;"
        " what probes measured of SLSs; connections by NSI; sessions of people whom an issuer named;"
        " connections over several domains; what transfers took, and what probes measured;"
        " what devices counted of reservations and links; which reservations are one group;"
        " sessions of browsers; ",
        "--yes",
    )
    says(
        cli("db", "downgrade", "0017"),
        2,
        f"Take the ledger back from revision {NEWEST_REVISION} to 0017? This loses who asked",
    )
    with psycopg.connect(database_url, autocommit=True) as raw:
        assert cli("apply", reservations(), "--yes").code == 0
        raw.execute("UPDATE entry SET deadline_us = end_us")
    says(cli("db", "downgrade", "0004", "--yes"), 1, "1 live reservations are volumes by a deadline")
    assert cli("db", "status", "--format", "json").data["schema"] == "current"


def test_what_is_no_ledger_is_neither_backed_up_nor_taken_back(
    offline: Cli, empty_database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    backup = tmp_path / "backup"
    says(offline("db", "backup", backup), 1, "there is no ledger in", "SLOTCAR_STATE_DIR or SLOTCAR_DATABASE_URL")
    monkeypatch.setenv("SLOTCAR_DATABASE_URL", empty_database_url)
    says(offline("db", "backup", backup), 1, "there is nothing to back up: the database has no ledger")
    says(offline("db", "downgrade", "0016", "--yes"), 1, "the database has no ledger yet")
    monkeypatch.setenv("SLOTCAR_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/x")
    says(offline("db", "backup", backup), 1, "does not answer", "SLOTCAR_DATABASE_URL")
    assert list(tmp_path.glob("*backup*")) == []


def test_a_file_that_cannot_be_written_or_read_is_named(cli: Cli, tmp_path: Path) -> None:
    says(cli("db", "backup", tmp_path / "no" / "backup"), 1, "cannot be written: no such file or directory")
    says(cli("db", "backup", tmp_path), 1, "is there already")
    says(cli("db", "backup", "/dev/full"), 1, "is there already")
    says(cli("db", "restore", tmp_path / "none"), 1, "cannot be read: no such file or directory")
    says(cli("db", "restore", "/dev/zero"), 1, "cannot be read: is a character device")
    (tmp_path / "text").write_text("hello")
    says(cli("db", "restore", tmp_path / "text"), 1, "is no backup, or one that was cut off or damaged")


@contextmanager
def small_disk(kibibytes: int) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "slotcar-test", folder]
        if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("no file system can be mounted here")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def test_a_full_disk_leaves_nothing(
    cli: Cli, elsewhere: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "state" / "known-good" / "anl-edge"
    folder.mkdir(parents=True)
    (folder / "after.txt").write_bytes(os.urandom(200_000))
    backup = tmp_path / "backup"
    with small_disk(64) as disk:
        says(cli("db", "backup", disk / "backup"), 1, "cannot be written: no space left on device; no backup was made")
        assert list(disk.iterdir()) == []
        assert cli("db", "backup", backup).code == 0
        elsewhere()
        monkeypatch.setenv("SLOTCAR_STATE_DIR", str(disk / "state"))
        says(cli("db", "restore", backup), 1, "MiB free, and 64 are needed")
    says(cli("status"), 1, "the database has no ledger yet")


def test_a_state_folder_that_takes_no_more_leaves_the_ledger_empty(
    cli: Cli, elsewhere: Callable[[], None], reservations: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are placed, then the rows are committed: of one without the other nothing is left."""
    use(cli, reservations, tmp_path)
    assert cli("db", "backup", tmp_path / "backup").code == 0
    elsewhere()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SLOTCAR_TOKENS_FILE", str(tmp_path / "file" / "tokens.json"))
    says(cli("db", "restore", tmp_path / "backup"), 1, "cannot be written: not a directory; nothing was restored")
    assert files(tmp_path / "elsewhere") == {}
    says(cli("status"), 1, "the database has no ledger yet")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can leave what another account cannot read")
def test_root_leaves_nothing_in_another_accounts_state_folder(cli: Cli, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    assert cli("db", "backup", backup).code == 0
    state = tmp_path / "state"
    state.mkdir(exist_ok=True)
    shutil.chown(state, 65534)
    for command in (
        ("token", "create", "ops"), ("token", "revoke", "ops", "--yes"), ("db", "restore", backup),
        ("rollback", "--yes"), ("push", "--yes"),
    ):  # fmt: skip
        says(cli(*command), 1, f"{state} belongs to the account nobody", "sudo -u 'nobody'")
    assert json.dumps([one.name for one in state.iterdir()]) == "[]"


@pytest.mark.slow  # an embedded server is made three times
def test_an_embedded_database_goes_into_a_new_one_and_into_a_server(
    offline: Cli, reservations: Write, tmp_path: Path, another_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = tmp_path / "backup"
    try:
        use(offline, reservations, tmp_path)
        before = views(offline)
        assert offline("db", "backup", backup).code == 0
        monkeypatch.setenv("SLOTCAR_STATE_DIR", str(tmp_path / "second"))
        assert offline("db", "restore", backup).code == 0
        assert views(offline) == before
        monkeypatch.setenv("SLOTCAR_STATE_DIR", str(tmp_path / "third"))
        monkeypatch.setenv("SLOTCAR_DATABASE_URL", another_database)
        assert offline("db", "restore", backup).code == 0
        assert views(offline) == before
    finally:
        for name in ("state", "second"):
            stop_server(tmp_path / name / "postgres")
