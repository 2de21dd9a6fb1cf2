"""The embedded server comes back from whatever ended it, for whoever asks next."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from sqlalchemy.engine import make_url

from slotcar.book.errors import LedgerUnavailable
from slotcar.store import Ledger, embedded, open_ledger
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.postgres import stop_server
from tests.support.requests import T0


@pytest.fixture
def state_dir(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    stop_server(tmp_path / "postgres")


def runs(process: psutil.Process) -> bool:
    """A process that nobody has waited for is not one that runs."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def postmaster(folder: Path) -> psutil.Process:
    return psutil.Process(int((folder / "postmaster.pid").read_text().split("\n", 1)[0]))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_it_is_started_again_though_somebody_is_connected(state_dir: Path, how: str) -> None:
    """Told to stop, it would wait for the connection and let nobody in: that looked like a database that is gone."""
    folder = state_dir / "postgres"
    with contextlib.closing(psycopg.connect(embedded.start(folder))) as connection:
        first = end(folder, how)
        with contextlib.closing(psycopg.connect(embedded.start(folder))) as again:
            assert again.execute("SELECT 1").fetchone() == (1,)
        assert postmaster(folder).pid != first.pid
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


def accounts_without_the_servers(folder: Path) -> None:
    """What `useradd` reads and writes of /etc; others of the run have the account, and add to the whole at any time."""
    folder.mkdir(mode=0o755)
    for name in ("passwd", "group", "shadow", "gshadow"):
        if (file := Path("/etc") / name).exists():
            lines = [one for one in file.read_text().splitlines(keepends=True) if not one.startswith("pgserver:")]
            (folder / name).write_text("".join(lines))
            (folder / name).chmod(stat.S_IMODE(file.stat().st_mode))
    for name in ("login.defs", "nsswitch.conf", "default/useradd"):
        if (file := Path("/etc") / name).exists():
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(file, folder / name)
    for file in sorted(Path("/etc/pam.d").glob("*")):
        (folder / "pam.d").mkdir(exist_ok=True)
        shutil.copy(file, folder / "pam.d" / file.name)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs an account for the server, and makes it")
def test_processes_that_start_at_once_on_a_fresh_machine_make_one_account(tmp_path: Path) -> None:
    """Two `useradd` at once both succeed, and the later one's number is not the one that the first process uses."""
    accounts_without_the_servers(tmp_path / "etc")
    make = (
        "import os, sys, time, slotcar.store.embedded_server as e\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.001)\n"
        "e._make_account(); os.write(1, b'%d\\n' % e.pwd.getpwnam('pgserver').pw_uid)"
    )
    script = (
        'mount --bind "$1/etc" /etc; for n in 1 2 3 4; do "$2" -c "$3" "$1/go" & done; sleep 2; touch "$1/go"; wait'
    )
    arguments = ("unshare", "--mount", "sh", "-c", script, "sh", str(tmp_path), sys.executable, make)
    numbers = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.split()
    assert len(numbers) == 4
    assert len(set(numbers)) == 1


def test_one_that_was_left_running_is_ended_when_nobody_uses_it(state_dir: Path) -> None:
    folder = state_dir / "postgres"
    assert not embedded.end(folder)
    script = (
        "import sys, pathlib; from slotcar.store import embedded;"
        "embedded.start(pathlib.Path(sys.argv[1])); print(1, flush=True); input()"
    )
    user = subprocess.Popen([sys.executable, "-c", script, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert user.stdout is not None
    assert user.stdout.readline() == b"1\n"
    with pytest.raises(LedgerUnavailable, match=f"is used by .* \\(process {user.pid}\\)"):
        embedded.end(folder)
    server = postmaster(folder)
    user.kill()
    user.communicate()
    assert runs(server)
    assert embedded.users(folder) == []
    assert embedded.end(folder)
    wait_for(lambda: not runs(server), "it to end")


def a_file(folder: Path) -> None:
    folder.write_text("lost")


def a_pid_file(content: bytes) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        folder.mkdir()
        (folder / "postmaster.pid").write_bytes(content)

    return make


#: The file of a server that was killed, whose number another process has by now.
OF_ANOTHER = f"{os.getpid()}\n/data\n1712346200\n5432\n/data\n\n8826964 65536\nready\n".encode()
LEFT = {
    "a-file": a_file,
    "empty-pid-file": a_pid_file(b""),
    "cut-off-pid-file": a_pid_file(b"12\n/da"),
    "pid-file-of-zeros": a_pid_file(bytes(80)),
    "pid-file-no-text": a_pid_file(b"\xff" * 80),
    "pid-of-another": a_pid_file(OF_ANOTHER),
}


@pytest.mark.parametrize("left", LEFT.values(), ids=LEFT)
def test_whatever_a_lost_database_left_no_server_runs_there(tmp_path: Path, left: Callable[[Path], None]) -> None:
    """`slotcar serve` asks before it starts the database, `slotcar db stop` to end it, and a rollback needs none."""
    folder = tmp_path / "postgres"
    left(folder)
    assert embedded.users(folder) == []
    assert not embedded.left_running(folder)
    assert not embedded.end(folder)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_a_controller_that_lives_on_brings_its_own_server_back(state_dir: Path, how: str) -> None:
    with open_ledger(None, state_dir) as ledger:
        ledger.append_event("controller.leading", T0)
        end(state_dir / "postgres", how)
        wait_for(lambda: answers(ledger), "the database to answer again")
        assert [event.kind for event in ledger.events()] == ["controller.leading"]
        ledger.append_event("controller.leading", T0)


@pytest.mark.slow
def test_files_that_a_dead_server_and_a_full_disk_left_keep_nobody_from_starting_it(
    state_dir: Path, server_url: str
) -> None:
    folder = state_dir / "postgres"
    (elsewhere,) = make_url(server_url).query.values()
    another = postmaster(Path(str(elsewhere)))
    for pid_file in ("", "{another}\n{folder}\n"):
        embedded.start(folder)
        end(folder, "kill")
        (folder / "postmaster.pid").write_text(pid_file.format(another=another.pid, folder=folder))
        (folder / ".handle_pids.json").write_text("[12")
        with contextlib.closing(psycopg.connect(embedded.start(folder))) as again:
            assert again.execute("SELECT 1").fetchone() == (1,)
        assert postmaster(folder).pid != another.pid
    assert another.is_running()


@pytest.fixture(params=["short", "long"])
def path_of_data(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Where every account may pass, as below /var; so long a path that a socket there has none, or a short one."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o711)
        state = Path(folder) / ("state" * (1 if request.param == "short" else 20))
        yield state / "postgres"
        if state.exists():
            embedded.stop(state / "postgres")


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another account for a moment")
def test_no_other_account_can_connect(path_of_data: Path) -> None:
    url = embedded.start(path_of_data)
    with psycopg.connect(url) as own:
        assert own.execute("SELECT current_user").fetchone() == ("postgres",)
    (socket_folder,) = make_url(url).query.values()
    for folder in (path_of_data, Path(str(socket_folder))):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert refused_as_nobody(url) == "Permission denied"
    # Also where it gets as far as the socket: the server asks the kernel who it is.
    for folder in (path_of_data.parent, path_of_data, Path(str(socket_folder))):
        folder.chmod(0o755)
    next(Path(str(socket_folder)).glob(".s.PGSQL.????")).chmod(0o777)
    assert "Peer authentication failed" in refused_as_nobody(url)


@pytest.mark.in_short("short")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another account for a moment")
def test_a_database_of_an_earlier_version_that_trusts_everybody_is_closed(path_of_data: Path) -> None:
    embedded.start(path_of_data)
    hba = path_of_data / "pg_hba.conf"
    hba.write_text("local all all trust\n")
    assert embedded.start(path_of_data)
    assert "trust" not in hba.read_text()


def refused_as_nobody(url: str) -> str:
    """Why another account cannot connect; empty where it can."""
    program = (
        "import os, sys, psycopg\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try: psycopg.connect(sys.argv[1])\n"
        "except psycopg.OperationalError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, url], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    return "Permission denied" if "Permission denied" in done.stdout else done.stdout


def end(folder: Path, how: str) -> psutil.Process:
    server = postmaster(folder)
    getattr(server, how)()
    if how == "kill":
        server.wait(PATIENCE_S)
    else:
        wait_for(lambda: is_stopping(folder), "the server to hear it")
    return server


def is_stopping(folder: Path) -> bool:
    file = folder / "postmaster.pid"
    return not file.exists() or "stopping" in file.read_text()


def answers(ledger: Ledger) -> bool:
    """A server that was told to stop goes on serving those that are connected."""
    try:
        ledger.last_event()
    except LedgerUnavailable:
        return False
    return True


def test_the_last_that_lives_stops_it_though_another_was_killed(state_dir: Path) -> None:
    """A process that is killed does not take its number from the list of those that use the server."""
    folder = state_dir / "postgres"
    embedded.start(folder)
    server = postmaster(folder)
    program = f"from pathlib import Path; from slotcar.store import embedded; embedded.start(Path({str(folder)!r}))"
    with subprocess.Popen(
        [sys.executable, "-c", f"{program}; print('started', flush=True); input()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "started\n"
        other.kill()
    assert runs(server)
    embedded.stop(folder)
    assert not runs(server)
