"""Holds the time of a guest whose clock counts its own instructions, and lets it run where the agent is asked to.

Such a guest leaps: when it has nothing to do, its clock runs to its next timer at once, be it minutes away, also while it
only waits for an answer of this machine. So a process of the lowest priority always has something to do: an instruction at
which the emulator pauses (RDRAND, `guest/pause.c`), and after it as many quick ones as let a fiftieth of this machine's
time pass. Stopped, it lets time run to where the guest sleeps. Standard library only.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

#: So long the emulator pauses at RDRAND (`guest/pause.c`), in nanoseconds of this machine.
PAUSE_NS = 500_000
#: Instructions after it, each a nanosecond of the guest's. With more, time that is held passes by how busy this machine is;
#: with fewer, whoever waits for a timer of the guest waits longer here (a login waits for some 20 ms of them).
QUICK = PAUSE_NS // 51
RDRAND, NOP = bytes.fromhex("0fc7f0"), b"\x90"
#: `dec ecx`, `jnz` and these are executed again and again.
NOPS = 98
#: QEMU's shared memory (ivshmem), in which the guest tells this machine its time.
SHARED_MEMORY = (0x1AF4, 0x1110)
MEMORY_BAR = "resource2"
PAGE_BYTES = 4096
#: Nanoseconds since the epoch, by the guest's clock.
TIME = struct.Struct("q")
#: The guest tells its time so often, in its own seconds.
TELL_S = 0.002
SECOND_NS = 10**9
#: So often the wall clock is set: each time by what the call itself took the last time.
ALIGNMENTS = 3


def loop() -> bytes:
    """x86-64 machine code without an end."""
    again = NOP * NOPS + bytes.fromhex("ffc9")
    again += bytes.fromhex("0f85") + struct.pack("<i", -(len(again) + 6))
    body = RDRAND + b"\xb9" + struct.pack("<i", QUICK // (NOPS + 2)) + again
    return body + b"\xe9" + struct.pack("<i", -(len(body) + 5))


def shared_memory(devices: Path = Path("/sys/bus/pci/devices")) -> Path:
    """Where the guest tells its time.

    Raises:
        OSError: it has no such device.
    """
    for device in sorted(devices.glob("*")):
        ids = tuple(int((device / name).read_text(), 16) for name in ("vendor", "device"))
        if ids == SHARED_MEMORY:
            return device / MEMORY_BAR
    raise OSError("the guest has no shared memory (ivshmem)")


class Hold:
    """The holder, a process of this one's; it holds nothing until `begin`. It forks, so there must be no threads yet."""

    def __init__(self, memory: Path) -> None:
        with memory.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), PAGE_BYTES)
        self._lock = threading.Lock()
        #: Called with False before time runs, and with True when it is held again.
        self.held: Callable[[bool], None] = lambda held: None
        self.pid = os.fork()
        if self.pid == 0:
            _hold(self._page)
        os.waitpid(self.pid, os.WUNTRACED)

    def begin(self) -> None:
        align()
        tell(self._page)
        os.kill(self.pid, signal.SIGCONT)

    def run_until(self, until_ns: int) -> int:
        """Let time run to an instant, nanoseconds since the epoch; gives how late it was held again, in nanoseconds."""
        with self._lock:
            self.held(False)
            os.kill(self.pid, signal.SIGSTOP)
            try:
                while (left_ns := until_ns - time.time_ns()) > 0:
                    time.sleep(left_ns / 1e9)
                over_ns = time.time_ns() - until_ns
            finally:
                os.kill(self.pid, signal.SIGCONT)
                tell(self._page)
                self.held(True)
            return over_ns


def align() -> None:
    """Let the wall clock's seconds begin when those of the clock do that nobody sets.

    The kernel's ticks go by that one: what begins at a whole second is then at the same place between two ticks after each
    boot.
    """
    late_ns = 0
    for _ in range(ALIGNMENTS):
        steady_ns = time.monotonic_ns()
        whole_s = round((time.time_ns() - steady_ns) / SECOND_NS)
        time.clock_settime_ns(time.CLOCK_REALTIME, time.monotonic_ns() + whole_s * SECOND_NS + late_ns)
        steady_ns = time.monotonic_ns()
        late_ns += (whole_s * SECOND_NS) - (time.time_ns() - steady_ns)


def tell(page: mmap.mmap) -> None:
    # In one go: `pack_into` writes a zero first, and who reads it then takes it for no time at all.
    memoryview(page).cast("q")[0] = time.time_ns()


def _hold(page: mmap.mmap) -> None:
    """Never returns."""
    try:
        os.kill(os.getpid(), signal.SIGSTOP)
        teller = threading.Thread(target=_tell, args=(page,), daemon=True)
        teller.start()
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        code = mmap.mmap(-1, PAGE_BYTES, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        code.write(loop())
        ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
    except BaseException as error:
        print(f"slotcar: failed: time cannot be held: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(1)


def _tell(page: mmap.mmap) -> None:
    """Ahead of what else the guest does, so that this machine's programs read it while the guest is at work, too."""
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    while True:
        tell(page)
        time.sleep(TELL_S)
