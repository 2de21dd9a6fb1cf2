"""Which system commands the lab needs, which Debian package brings each, and how to get what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

from slotcar_lab.errors import LabError


class Backend(StrEnum):
    """Where the namespaces are: on this kernel, or inside a guest that has the schedulers that this kernel lacks."""

    NAMESPACES = "namespaces"
    GUEST = "guest"


#: So long another installation on this machine is waited for.
LOCK_TIMEOUT_S = 600
SEARCH_PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"))

#: Command → package (the same name in Debian and Ubuntu).
EVERYWHERE = {
    "ip": "iproute2",
    "tc": "iproute2",
    "sshd": "openssh-server",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "nuttcp": "nuttcp",
    "iperf3": "iperf3",
    "ethtool": "ethtool",
    "ping": "iputils-ping",
    "tcpdump": "tcpdump",
}
FOR_THE_GUEST = {
    "qemu-system-x86_64": "qemu-system-x86",
    "tcc": "tcc",
    "busybox": "busybox-static",
    "cpio": "cpio",
    "modprobe": "kmod",
    "depmod": "kmod",
    "dpkg-deb": "dpkg",
}
#: What the tests of NETCONF talk to and check with.
FOR_NETCONF = {
    "sshd": "openssh-server",
    "ssh-keygen": "openssh-client",
    "netconfd": "netconfd",
    "netconf-subsystem": "netconfd",
    "yanglint": "libyang-tools",
}

#: What the tests of the page drive. Ubuntu has it as a snap alone.
FOR_THE_BROWSER = {"chromium": "chromium"}
#: What the alert rules and the dashboard are asked of in a test.
FOR_PROMETHEUS = {
    "prometheus": "prometheus",
    "promtool": "prometheus",
}
#: What `slotcar transfer` takes files from in its tests, what it drives, and what forwards a group on the lab's routers.
FOR_TRANSFERS = {
    "nginx": "nginx-light",
    "xrootd": "xrootd-server",
    "rclone": "rclone",
    "uftp": "uftp",
    "smcrouted": "smcroute",
}

#: What the tests of sign-in fetch and run an OpenID provider with.
FOR_SIGN_IN = {"npm": "npm"}

#: What a guest with systemd runs: it is this machine's own, which is not started here.
FOR_SYSTEMD = {"systemctl": "systemd"}

#: What chaos breaks a controller's machine with: a disk that can be filled, and a clock that can be set.
FOR_CHAOS = {
    "mount": "mount",
    "umount": "mount",
    "tcc": "tcc",
}


def which(command: str) -> str | None:
    """Full path of a command, also where it is in a directory for administrators."""
    return shutil.which(command, path=SEARCH_PATH)


def missing(backend: Backend) -> tuple[str, ...]:
    """Packages that the backend needs and this machine has not."""
    return _absent(EVERYWHERE | (FOR_THE_GUEST if backend is Backend.GUEST else {}))


def _absent(needed: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted({package for command, package in needed.items() if which(command) is None}))


def as_root() -> list[str] | None:
    """What to put before a command to run it as root: nothing, `sudo -n`, or None where that is impossible."""
    if os.geteuid() == 0:
        return []
    if which("sudo") and subprocess.run(["sudo", "-n", "true"], check=False, capture_output=True).returncode == 0:
        return ["sudo", "-n"]
    return None


def ensure(backend: Backend, progress: Callable[[str], None], *, install: bool = True) -> None:
    """Install what is missing where that is possible without a password.

    Raises:
        LabError: something is missing and cannot be installed from here; names the packages.
    """
    _ensure(f"the lab ({backend})", lambda: missing(backend), progress, install=install)


#: What else tests need, by what that is for.
FOR_TESTS = {
    "a guest with systemd": FOR_SYSTEMD,
    "chaos": FOR_CHAOS,
    "a NETCONF server": FOR_NETCONF,
    "the tests in a browser": FOR_THE_BROWSER,
    "the tests of sign-in": FOR_SIGN_IN,
    "a Prometheus": FOR_PROMETHEUS,
    "the tests of transfers": FOR_TRANSFERS,
}


def ensure_for(what: str, progress: Callable[[str], None], *, install: bool = True) -> None:
    """The same for one of `FOR_TESTS`.

    Raises:
        LabError: something is missing and cannot be installed from here; names the packages.
    """
    _ensure(what, lambda: _absent(FOR_TESTS[what]), progress, install=install)


def _ensure(
    what: str, absent: Callable[[], tuple[str, ...]], progress: Callable[[str], None], *, install: bool
) -> None:
    packages = absent()
    if not packages:
        return
    root = as_root()
    if not install or root is None or which("apt-get") is None:
        raise LabError(
            f"{what} needs packages that this machine lacks: {' '.join(packages)}; "
            f"install them (Debian, Ubuntu: sudo apt-get install {' '.join(packages)}) and try again"
        )
    progress(f"installing {', '.join(packages)}")
    _apt(root, ["update", "-qq"], fatal=False)
    _apt(root, ["install", "-y", "-qq", "--no-install-recommends", *packages])
    left = absent()
    if left:
        raise LabError(f"installed, but commands of these packages are still missing: {' '.join(left)}")


def _apt(root: Iterable[str], words: list[str], *, fatal: bool = True) -> None:
    lock = ["-o", f"DPkg::Lock::Timeout={LOCK_TIMEOUT_S}"]
    argv = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *lock, *words]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if fatal and done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise LabError(f"apt-get {words[0]} failed: {lines[-1] if lines else f'exit status {done.returncode}'}")
