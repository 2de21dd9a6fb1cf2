"""Starts the guest: the host's root read-only over 9p, ports of 127.0.0.1 forwarded to the routers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from slotcar_lab.agent.hold import PAGE_BYTES, PAUSE_NS
from slotcar_lab.errors import LabError
from slotcar_lab.guest import post_mortem
from slotcar_lab.kernel import GuestKernel, cache_dir
from slotcar_lab.keys import base_python
from slotcar_lab.preloaded import compile_library
from slotcar_lab.requirements import which

SECOND = Path(__file__).parent / "second.sh"
PAUSE = Path(__file__).parent / "pause.c"
CODE = Path(__file__).resolve().parents[2]
#: The host's root as the guest sees it, also below /tmp and /run, which in the guest are the guest's own.
INSIDE = "/run/slotcar/host"
MEMORY_MIB = 1536
NICE = -10
KVM_PROBE_S = 5.0
PROCESSORS_VARIABLE = "SLOTCAR_LAB_PROCESSORS"


class Init(StrEnum):
    """The guest's first process: the lab's agent and nothing else, or a systemd that has the agent as a service."""

    AGENT = "agent"
    SYSTEMD = "systemd"


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk of the guest that is as fast as is said here, whatever this machine's is: `vda`, `vdb` and so on.

    Attributes:
        size_bytes: of its file, which has holes until it is written to.
        rate_bytes_per_s: of reading, and again of writing.
    """

    size_bytes: int
    rate_bytes_per_s: int


@dataclass(frozen=True, slots=True)
class Extras:
    """What a guest has beside the routers.

    Attributes:
        virtual_time: its clock counts its instructions, whatever this machine does meanwhile; the agent lets it run.
        clock_at: what its clock shows in the beginning, UTC, such as 2026-01-05T00:00:00; else what this machine's does.
    """

    init: Init = Init.AGENT
    disks: tuple[Disk, ...] = ()
    virtual_time: bool = False
    clock_at: str = ""


PLAIN = Extras()
VIRTUAL_TIME = Extras(virtual_time=True)
#: A host whose cores and disk are reserved, with systemd: the disk `vda` of 256 MB, 20 MB/s each way.
SYSTEMD = Extras(Init.SYSTEMD, (Disk(256_000_000, 20_000_000),))


def start(
    kernel: GuestKernel, plan: Path, ports: list[int], console: Path, *, accel: str, extras: Extras = PLAIN
) -> int:
    """Start the guest and return its process id; it boots on its own from here.

    Args:
        plan: file that the agent reads.
        ports: ports of 127.0.0.1, each forwarded to the same port of the guest.
        console: where the guest's console goes; the files of its disks are beside it.
    """
    forwards = "".join(f",hostfwd=tcp:127.0.0.1:{port}-:{port}" for port in ports)
    words = {
        "slotcar.modules": str(kernel.modules),
        "slotcar.second": str(SECOND.resolve()),
        "slotcar.python": base_python(),
        "slotcar.code": str(CODE),
        "slotcar.plan": str(plan),
        "slotcar.init": extras.init.value,
    }
    spaced = [value for value in words.values() if " " in value]
    if spaced:
        raise LabError(f"the guest cannot reach paths with spaces: {', '.join(spaced)}")
    argv = [
        # Packets are late when the guest is: ahead of the machine's other work where that is allowed.
        *(() if extras.virtual_time else (which("nice") or "nice", "-n", str(NICE))),
        *machine_words(accel, virtual_time=extras.virtual_time, clock_at=extras.clock_at),
        *(shared_memory_words(console.parent) if extras.virtual_time else ()),
        *_kernel(kernel, " ".join(f"{key}={value}" for key, value in words.items())),
        *("-virtfs", "local,path=/,mount_tag=hostroot,security_model=none,readonly=on,multidevs=remap"),
        *("-netdev", f"user,id=lab{forwards}", "-device", "virtio-net-pci,netdev=lab,romfile="),
        *("-object", "rng-random,filename=/dev/urandom,id=rng", "-device", "virtio-rng-pci,rng=rng"),
        *("-serial", f"file:{console}"),
        *post_mortem.monitor_words(console.parent),
        *disk_words(extras.disks, console.parent),
    ]
    console.unlink(missing_ok=True)
    log = console.with_name("qemu.log")
    with log.open("wb") as output:
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, cwd="/",
            env=pausing(Path(argv[0]), console.parent) if extras.virtual_time else None,
        )  # fmt: skip
    if not extras.virtual_time:
        with contextlib.suppress(OSError):
            Path(f"/proc/{child.pid}/autogroup").write_text(str(NICE))
    time.sleep(0.05)
    if child.poll() is not None:
        raise LabError(f"the guest did not start: {log.read_text().strip()}")
    child.returncode = 0  # it outlives this program: nobody waits for it
    return child.pid


def pausing(emulator: Path, folder: Path) -> dict[str, str]:
    """The environment in which QEMU pauses where the guest asks for a random number; what it loads is made in `folder`.

    Raises:
        LabError: this QEMU does not take random numbers from GnuTLS, or the library cannot be compiled.
    """
    if b"gnutls_rnd" not in emulator.read_bytes():
        raise LabError(
            f"virtual time needs a QEMU with random numbers from GnuTLS, such as Debian's; {emulator} has others"
        )
    return os.environ | {"LD_PRELOAD": str(compile_library(PAUSE, folder, PAUSE_NS=PAUSE_NS))}


def disk_words(disks: tuple[Disk, ...], folder: Path) -> list[str]:
    """QEMU's words for the disks, and their files in the folder, empty."""
    words: list[str] = []
    for number, disk in enumerate(disks):
        file = folder / f"disk{number}.raw"
        file.unlink(missing_ok=True)
        with file.open("wb") as image:
            image.truncate(disk.size_bytes)
        rates = ",".join(f"throttling.bps-{way}={disk.rate_bytes_per_s}" for way in ("read", "write"))
        words += ["-drive", f"file={file},format=raw,if=none,id=disk{number},{rates}"]
        words += ["-device", f"virtio-blk-pci,drive=disk{number}"]
    return words


def prefer_timers(pid: int) -> None:
    """Let the guest's timers go off on time, once it has booted, where that is allowed.

    Its first thread keeps the clock; the others run the guest. A scheduler that is fair to all three has the clock
    wait for milliseconds while packets that a queue holds back for microseconds wait for it. Its threads that exist
    by now stay as they are.
    """
    with contextlib.suppress(OSError):
        os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(1))


def choose_accel(kernel: GuestKernel) -> str:
    """`kvm` where a guest has really booted with it, else `tcg`. Remembered until this machine boots again."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    memory = cache_dir() / "kvm-probe.json"
    with contextlib.suppress(OSError, ValueError):
        remembered = json.loads(memory.read_text())
        if remembered["boot"] == boot:
            return str(remembered["accel"])
    accel = "kvm" if _boots(kernel, "kvm") else "tcg"
    memory.write_text(json.dumps({"boot": boot, "accel": accel}))
    return accel


def _boots(kernel: GuestKernel, accel: str) -> bool:
    """/dev/kvm may be there and still hang a guest in the BIOS: only a kernel that speaks counts."""
    argv = [*machine_words(accel), *_kernel(kernel, "slotcar.probe=1"), "-serial", "stdio"]
    child = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        output, _ = child.communicate(timeout=KVM_PROBE_S)
    except subprocess.TimeoutExpired:
        return False
    finally:
        if child.poll() is None:
            child.kill()
            child.communicate()
    return b"slotcar: kernel runs" in output


def time_file(folder: Path) -> Path:
    """Where a guest in virtual time tells its time: nanoseconds since the epoch, a 64-bit integer."""
    return folder / "time"


def shared_memory_words(folder: Path) -> list[str]:
    """QEMU's words for the memory that a guest tells its time in, and its file in the folder, for every account to read."""
    file = time_file(folder)
    file.unlink(missing_ok=True)
    with file.open("wb") as image:
        image.truncate(PAGE_BYTES)
    file.chmod(0o644)
    folder.chmod(folder.stat().st_mode | 0o011)  # by its name; what else is there is not listed
    backend = f"memory-backend-file,id=time,share=on,mem-path={file},size={PAGE_BYTES}"
    return ["-object", backend, "-device", "ivshmem-plain,memdev=time"]


def processors() -> int:
    """As many as `SLOTCAR_LAB_PROCESSORS` says, else as this machine has, but two to four.

    Raises:
        LabError: the variable is no such number.
    """
    given = os.environ.get(PROCESSORS_VARIABLE) or str(max(2, min(4, os.cpu_count() or 2)))
    if given not in ("1", "2", "3", "4"):
        raise LabError(f"{PROCESSORS_VARIABLE} is {given}; a guest has 1 to 4 processors")
    return int(given)


def machine_words(accel: str, *, virtual_time: bool = False, clock_at: str = "") -> list[str]:
    """QEMU's words for the machine. In virtual time an instruction takes a nanosecond, and a guest that has nothing to do
    does not wait (`sleep=off`); QEMU counts so for one processor alone."""
    cpus = 1 if virtual_time else processors()
    tcg = f"tcg,thread={'single' if cpus == 1 else 'multi'},tb-size=512"
    clock = ["-rtc", f"base={clock_at or 'utc'},clock={'vm' if virtual_time else 'host'}"]
    clock += ["-icount", "shift=0,sleep=off"] if virtual_time else []
    return [
        which("qemu-system-x86_64") or "qemu-system-x86_64",
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
        *("-machine", "q35,usb=off,vmport=off", "-accel", tcg if accel == "tcg" else accel),
        *("-cpu", "max" if accel == "tcg" else "host"),
        *("-smp", str(cpus), "-m", str(MEMORY_MIB), *clock),
    ]


#: What an emulated processor is slow at. Code at addresses that change from one process to the next is translated anew for
#: each; huge pages are cleared word by word for processes that need little of them. Both together halve what it takes to
#: start a process. Without tsc=reliable the guest falls back to the HPET, whose every reading leaves the translated code.
#: no_timer_check: a booting kernel counts the timer's ticks for a moment, and panics where a busy machine gave none.
EMULATED = "no_timer_check nokaslr norandmaps transparent_hugepage=never tsc=reliable"


def _kernel(kernel: GuestKernel, words: str) -> list[str]:
    base = "console=ttyS0 quiet loglevel=4 rdinit=/init panic=-1 mitigations=off random.trust_cpu=on"
    append = f"{base} {EMULATED} {post_mortem.KERNEL_WORDS} {words}"
    return ["-kernel", str(kernel.image), "-initrd", str(kernel.initramfs), "-append", append]


def stop(pid: int) -> None:
    """End the guest. It keeps nothing, so there is nothing to shut down in order."""
    for sent, grace_s in ((signal.SIGTERM, 3.0), (signal.SIGKILL, 3.0)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sent)
        deadline = time.monotonic() + grace_s
        while time.monotonic() < deadline:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            if not Path(f"/proc/{pid}").exists():
                return
            time.sleep(0.02)
