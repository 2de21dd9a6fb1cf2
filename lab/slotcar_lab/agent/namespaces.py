"""A thread for each network namespace that entered it for good: the processes that it starts are there from the beginning.

`ip netns exec` makes a mount table for each command anew, which takes an emulated router more than the command itself.
Namespaces are a thread's own, and its children have them.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

NETNS = Path("/run/netns")
ETC_NETNS = Path("/etc/netns")
#: linux/sched.h, linux/mount.h.
CLONE_NEWNS, CLONE_NEWNET = 0x0002_0000, 0x4000_0000
MS_BIND, MS_REC, MS_SLAVE = 0x1000, 0x4000, 0x8_0000
MNT_DETACH = 2
Created = TypeVar("Created")
_libc = ctypes.CDLL(None, use_errno=True)


class Namespace:
    """A named network namespace, from inside, as `ip netns exec` shows it: its own /sys, and /etc/netns/NAME over /etc.

    Raises:
        OSError: it is not there, or this process may not enter it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._thread.submit(_enter, name).result()

    def start(self, make: Callable[[], Created]) -> Created:
        """What `make` gives, called inside; it must not wait, because all others wait for it."""
        return self._thread.submit(make).result()


def _enter(name: str) -> None:
    """As iproute2's netns_switch does it, for the calling thread."""
    end = os.open(NETNS / name, os.O_RDONLY)
    try:
        _call("setns", end, CLONE_NEWNET)
    finally:
        os.close(end)
    cgroups = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    _call("unshare", CLONE_NEWNS)
    _call("mount", b"none", b"/", None, MS_SLAVE | MS_REC, None)
    _libc.umount2(b"/sys", MNT_DETACH)  # where nothing was mounted there, nothing is in the way
    _call("mount", name.encode(), b"/sys", b"sysfs", 0, None)
    if cgroups:  # those of the kernel, which all nodes have in common
        _call("mount", b"cgroup2", b"/sys/fs/cgroup", b"cgroup2", 0, None)
    own = ETC_NETNS / name
    for file in sorted(own.iterdir()) if own.is_dir() else ():
        _call("mount", bytes(file), bytes(Path("/etc") / file.name), b"none", MS_BIND, None)


def _call(function: str, *arguments: object) -> None:
    words = [ctypes.c_ulong(one) if isinstance(one, int) else one for one in arguments]
    if getattr(_libc, function)(*words):
        number = ctypes.get_errno()
        raise OSError(number, f"{function} failed: {os.strerror(number)}")
