"""The controller's image in podman, as far as this machine's kernel runs containers."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
NAME = f"slotcar:{VERSION}"
#: As docker-compose.yml closes a controller.
CLOSED = ("--read-only", "--tmpfs=/tmp", "--cap-drop=all", "--security-opt=no-new-privileges")
_ENVIRONMENT = os.environ | {"PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
#: Debian 12's crun refuses control groups of both versions, runc does not.
_RUNTIMES = ((), ("--runtime", "runc"))
BASE_LABEL = "org.opencontainers.image.base.name"


def podman(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["podman", *arguments], env=_ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=timeout, check=False,
    )  # fmt: skip


def output_of(*arguments: str) -> str:
    """Standard output of a podman that must end well."""
    done = podman(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def _limits() -> Iterator[str]:
    """Enough, and not more than this process has: podman's own defaults are more than a root without CAP_SYS_RESOURCE
    may give."""
    for name, kind, enough in (("nofile", resource.RLIMIT_NOFILE, 8192), ("nproc", resource.RLIMIT_NPROC, 4096)):
        _, hard = resource.getrlimit(kind)
        most = enough if hard == resource.RLIM_INFINITY else min(enough, hard)
        yield f"--ulimit={name}={most}:{most}"


def image() -> tuple[str, ...]:
    """Builds this checkout's image on the base and packages of one that is there, and tells how podman runs it here.

    The test that asks is skipped where there is no podman, where no image was ever built (that takes ten minutes, and
    packages from outside), and where the kernel runs no container.
    """
    if shutil.which("podman") is None:
        pytest.skip("there is no podman here (Debian 12: apt-get install podman runc)")
    if podman("image", "exists", NAME).returncode:
        pytest.skip(
            f"there is no image {NAME}: `make image` builds it, `make image BASE=debootstrap` without a registry"
        )
    (described,) = json.loads(output_of("image", "inspect", NAME))
    base = described["Labels"][BASE_LABEL]
    options = tuple(_limits())
    for runtime in _RUNTIMES:
        tried = podman(*runtime, "run", "--rm", *options, "--entrypoint=true", NAME)
        if tried.returncode == 0:
            break
    else:
        pytest.skip(f"no container runs here: {tried.stderr.strip().splitlines()[-1]}")
    built = subprocess.run(
        [str(ROOT / "tools" / "image.sh")],
        env=_ENVIRONMENT | {"BASE": base},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr[-4000:]
    return (*runtime, "run", *options)


@dataclass(frozen=True)
class Container:
    """One that runs until the `with` of `started` ends."""

    name: str

    def output_of(self, *command: str) -> str:
        return output_of("exec", self.name, *command)

    def log(self) -> str:
        done = podman("logs", self.name)
        return done.stdout + done.stderr

    def stop(self, seconds: int) -> int:
        """Sends SIGTERM and waits; the container's exit status, which is 137 where it had to be killed."""
        done = podman("stop", f"--time={seconds}", self.name, timeout=seconds + 60)
        assert done.returncode == 0, done.stderr
        return int(output_of("inspect", "--format={{.State.ExitCode}}", self.name))


@contextmanager
def started(run: tuple[str, ...], name: str, *arguments: str) -> Iterator[Container]:
    output_of(*run, "--detach", f"--name={name}", *CLOSED, *arguments)
    try:
        yield Container(name)
    finally:
        podman("rm", "--force", "--time=1", name)
