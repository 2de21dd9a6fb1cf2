"""`systemctl` where systemd is not the first process: starts and stops a unit by what its file says.

    python unit_starter.py daemon-reload|enable|start|stop|is-active [--now] UNIT

What of the file is about sandboxes is not done; that systemd takes the file at all is asked of `systemd-analyze`.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from configparser import RawConfigParser
from pathlib import Path
from typing import NoReturn

UNITS = Path("/etc/systemd/system")
RUN = Path("/run/units")


def service(name: str) -> dict[str, str]:
    parser = RawConfigParser(strict=False, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(UNITS / f"{name}.service")
    return dict(parser["Service"])


def environment(of: dict[str, str]) -> dict[str, str]:
    """Systemd's order: the file's settings win."""
    file = Path(of["EnvironmentFile"].removeprefix("-"))
    pairs = shlex.split(of.get("Environment", ""))
    pairs += [shlex.split(line)[0] for line in file.read_text().splitlines() if "=" in line]
    account = of["User"]
    home = subprocess.run(["getent", "passwd", account], capture_output=True, text=True, check=True).stdout.split(":")[
        5
    ]
    own = {"PATH": "/usr/local/bin:/usr/bin:/bin", "USER": account, "LOGNAME": account, "HOME": home}
    return own | dict(pair.split("=", 1) for pair in pairs)


def start(name: str) -> None:
    of = service(name)
    argv = ["setpriv", "--reuid", of["User"], "--regid", of["Group"], "--init-groups"]
    argv += ["--no-new-privs", "--bounding-set=-all"]
    how = {"cwd": of["WorkingDirectory"], "env": environment(of), "umask": int(of["UMask"], 8)}
    subprocess.run([*argv, *shlex.split(of["ExecStartPre"])], check=True, **how)  # type: ignore[call-overload]
    RUN.mkdir(exist_ok=True)
    with (RUN / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            [*argv, *shlex.split(of["ExecStart"])], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            start_new_session=True, **how,  # type: ignore[call-overload]
        )  # fmt: skip
    (RUN / name).write_text(str(process.pid))


def stop(name: str) -> None:
    pid = int((RUN / name).read_text())
    os.kill(pid, signal.SIGTERM)
    while not has_ended(pid):
        time.sleep(0.1)
    (RUN / name).unlink()


def has_ended(pid: int) -> bool:
    """Whether it is gone, or a zombie whose parent has not asked yet how it ended."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return status.rpartition(")")[2].split()[0] == "Z"


def main() -> NoReturn:
    verb, *rest = [one for one in sys.argv[1:] if one != "--now"]
    if verb == "daemon-reload":
        units = [str(one) for one in UNITS.glob("slotcar*.service")]
        sys.exit(subprocess.run(["systemd-analyze", "verify", *units], check=False).returncode)
    if verb in ("enable", "start"):
        start(*rest)
    elif verb == "stop":
        stop(*rest)
    sys.exit(0 if verb != "is-active" or (RUN / rest[0]).exists() else 3)


if __name__ == "__main__":
    main()
