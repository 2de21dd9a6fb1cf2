"""Virtual time of the lab's guest: how QEMU is started, how time is held and told, and what is kept back while it runs."""

from __future__ import annotations

import mmap
import os
import select
import signal
import socket
import struct
from pathlib import Path

import pytest

from slotcar_lab.agent import hold, wire
from slotcar_lab.agent.outbox import Outboxes
from slotcar_lab.client import AgentAddress
from slotcar_lab.clocks import VirtualClock
from slotcar_lab.errors import LabError
from slotcar_lab.guest import machine
from slotcar_lab.wall_clock import compile_clock


def test_a_guest_counts_its_instructions_on_one_processor_and_never_waits() -> None:
    words = " ".join(machine.machine_words("tcg", virtual_time=True))
    for part in ("tcg,thread=single", "-icount shift=0,sleep=off", "-smp 1 ", "-rtc base=utc,clock=vm"):
        assert part in words


def test_a_guest_in_real_time_has_the_machines_clock() -> None:
    words = " ".join(machine.machine_words("tcg"))
    assert "clock=host" in words
    assert "icount" not in words


def test_a_guest_has_as_many_processors_as_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine.PROCESSORS_VARIABLE, "1")
    assert "tcg,thread=single,tb-size=512 -cpu max -smp 1 " in " ".join(machine.machine_words("tcg"))
    monkeypatch.setenv(machine.PROCESSORS_VARIABLE, "3")
    assert "tcg,thread=multi,tb-size=512 -cpu max -smp 3 " in " ".join(machine.machine_words("tcg"))
    for wrong in ("0", "5", "two", "-1"):
        monkeypatch.setenv(machine.PROCESSORS_VARIABLE, wrong)
        with pytest.raises(LabError, match=f"SLOTCAR_LAB_PROCESSORS is {wrong}; a guest has 1 to 4 processors"):
            machine.machine_words("tcg")


def test_a_guests_time_is_nobodys_before_it_tells_it(tmp_path: Path) -> None:
    machine.time_file(tmp_path).write_bytes(b"of an earlier guest")
    words = machine.shared_memory_words(tmp_path)
    assert any(f"mem-path={machine.time_file(tmp_path)},size={hold.PAGE_BYTES}" in word for word in words)
    assert machine.time_file(tmp_path).read_bytes() == bytes(hold.PAGE_BYTES)


def test_a_guests_time_is_readable_by_every_account_whatever_the_umask(tmp_path: Path) -> None:
    """A PostgreSQL server that root starts has an account of its own. With this machine's clock it would keep no controller
    leading that goes by the guest's."""
    folder = tmp_path / "lab"
    before = os.umask(0o077)
    try:
        folder.mkdir()
        machine.shared_memory_words(folder)
        library = compile_clock(folder)
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o711
    assert machine.time_file(folder).stat().st_mode & 0o777 == 0o644
    assert library.stat().st_mode & 0o777 == 0o755


def test_the_holders_loop_ends_with_a_jump_to_its_beginning() -> None:
    code = hold.loop()
    assert code.startswith(hold.RDRAND)
    assert code[-5] == 0xE9
    assert struct.unpack("<i", code[-4:])[0] == -len(code)


def test_the_holders_loop_lets_less_than_a_fiftieth_of_the_emulators_pause_pass() -> None:
    """RDRAND, `mov ecx`, so many times its quick instructions, and the jump back: a nanosecond each."""
    times = struct.unpack("<i", hold.loop()[4:8])[0]
    instructions = 3 + times * (hold.NOPS + 2)
    assert 0 < instructions * 50 <= hold.PAUSE_NS


def device(folder: Path, name: str, vendor: str, number: str) -> None:
    (folder / name).mkdir()
    (folder / name / "vendor").write_text(f"{vendor}\n")
    (folder / name / "device").write_text(f"{number}\n")


def test_the_shared_memory_is_found_among_the_devices(tmp_path: Path) -> None:
    device(tmp_path, "0000:00:01.0", "0x1af4", "0x1009")
    device(tmp_path, "0000:00:02.0", "0x1af4", "0x1110")
    assert hold.shared_memory(tmp_path) == tmp_path / "0000:00:02.0" / "resource2"


def test_a_guest_without_shared_memory_cannot_be_held(tmp_path: Path) -> None:
    device(tmp_path, "0000:00:01.0", "0x1af4", "0x1009")
    with pytest.raises(OSError, match="shared memory"):
        hold.shared_memory(tmp_path)


def test_the_clock_is_what_the_guest_tells(tmp_path: Path) -> None:
    file = tmp_path / "time"
    file.write_bytes(hold.TIME.pack(1_700_000_000_250_000_000) + bytes(hold.PAGE_BYTES - hold.TIME.size))
    clock = VirtualClock(AgentAddress(1, ""), file)
    assert clock.now() == 1_700_000_000.25
    clock.wait_until(1_700_000_000.0)  # over: nobody is asked


def test_while_time_runs_output_is_kept_and_dated_by_when_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    outboxes = Outboxes()
    with ours, theirs, outboxes.new(theirs) as outbox:
        monkeypatch.setattr(wire, "now_us", lambda: 1)
        outbox.put(wire.STDOUT, b"before")
        assert wire.receive(ours) == (wire.STDOUT, 1, b"before")
        outboxes.open_or_close(False)
        monkeypatch.setattr(wire, "now_us", lambda: 2)
        outbox.put(wire.STDOUT, b"meanwhile")
        assert not select.select([ours], [], [], 0)[0]
        assert not outbox.empty
        monkeypatch.setattr(wire, "now_us", lambda: 3)
        outboxes.open_or_close(True)
        assert select.select([outbox.waker], [], [], 0)[0]
        outbox.send()
        assert wire.receive(ours) == (wire.STDOUT, 2, b"meanwhile")
        assert outbox.empty
        assert not select.select([outbox.waker], [], [], 0)[0]


def test_an_outbox_that_is_gone_is_not_woken() -> None:
    ours, theirs = socket.socketpair()
    outboxes = Outboxes()
    with ours, theirs:
        with outboxes.new(theirs) as outbox:
            waker = outbox.waker
        with pytest.raises(OSError, match="descriptor"):
            os.fstat(waker)
        outboxes.open_or_close(True)


class GuestClocks:
    """A guest's two clocks: to read one takes 300 ns, and to set the wall clock 5,000."""

    CLOCK_REALTIME = 0

    def __init__(self, wall_ahead_ns: int) -> None:
        self.steady_ns, self.wall_ahead_ns = 1_000_000, wall_ahead_ns

    def monotonic_ns(self) -> int:
        self.steady_ns += 300
        return self.steady_ns

    def time_ns(self) -> int:
        return self.monotonic_ns() + self.wall_ahead_ns

    def clock_settime_ns(self, _: int, wall_ns: int) -> None:
        self.steady_ns += 5_000
        self.wall_ahead_ns = wall_ns - self.steady_ns


def test_the_wall_clocks_seconds_begin_with_those_that_nobody_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = GuestClocks(1_700_000_000_437_000_000)
    monkeypatch.setattr(hold, "time", clocks)
    hold.align()
    assert clocks.wall_ahead_ns == pytest.approx(1_700_000_000 * 10**9, abs=1_000)


def test_who_reads_the_guests_time_while_it_is_written_has_the_one_before_or_this_one() -> None:
    with mmap.mmap(-1, hold.PAGE_BYTES) as page:
        hold.tell(page)
        pid = os.fork()
        if pid == 0:
            while True:
                hold.tell(page)
        try:
            read = [hold.TIME.unpack_from(page)[0] for _ in range(300_000)]
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    assert min(read) > 0
