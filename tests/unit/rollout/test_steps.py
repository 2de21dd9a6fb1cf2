"""The steps of a push, over a transport that keeps a configuration in memory; and what a Linux router is told by them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slotcar.rollout import play_clock, steps
from slotcar.rollout.archive import Archive
from slotcar.rollout.device_folder import AFTER, BEFORE, DeviceFolder, ReplacedProgram
from slotcar.rollout.linux.shell import ShellAnswer
from slotcar.rollout.linux.transport import LinuxTransport
from slotcar.rollout.slot_ends import EndsUnknown
from slotcar.rollout.transport import DeviceError, Order, Transport
from tests.support.networks import line_network
from tests.support.requests import T0
from tests.unit.rollout.support import NETWORK, active, revision

CISCO = line_network(platform="cisco-mqc")
ROUTER = "r1"


class InMemory(Transport):
    """A router whose configuration is a text. `broken`: so many changes are refused before one is taken."""

    def __init__(self, folder: DeviceFolder, *, checks_itself: bool = False, broken: int = 0) -> None:
        self.checks_itself = checks_itself
        self._folder, self._broken = folder, broken
        self.text = "".join(f"{line}\n" for line in folder.lines(BEFORE))
        self.calls: list[str] = []

    async def close(self) -> None: ...

    async def read(self, commands: Sequence[str]) -> dict[str, str]:
        self.calls.append("read")
        return dict.fromkeys(commands, f"interface Loopback0\n!\n{self.text}")

    async def stage(self, apply: Sequence[str], undo: Sequence[str]) -> None:
        self.calls.append("stage")

    async def stage_program(self, folder: DeviceFolder) -> None:
        self.calls.append("stage_program")

    async def arm_revert(self, apply: Sequence[str], minutes: int) -> bool:
        self.calls.append(f"arm_revert {minutes}")
        return bool(minutes)

    async def activate(self, apply: Sequence[str]) -> bool:
        self.calls.append("activate")
        self.text = "".join(f"{line}\n" for line in self._folder.lines(AFTER))
        return True

    async def change(self, lines: Sequence[str]) -> None:
        self.calls.append("change")
        self._broken -= 1
        if self._broken >= 0:
            raise DeviceError("refused")
        self.text = "".join(f"{line}\n" for line in self._folder.lines(BEFORE))


@pytest.fixture
def folder(tmp_path: Path) -> DeviceFolder:
    pushed = revision(T0, active(1, 10, network=CISCO), network=CISCO)
    return DeviceFolder(Archive(tmp_path).write(pushed) / ROUTER)


def test_a_push_reads_before_it_stages_and_before_it_changes(folder: DeviceFolder) -> None:
    router, order = InMemory(folder), Order(folder)
    asyncio.run(steps.stage(router, order))
    assert router.calls == ["read", "stage_program", "stage"]
    assert asyncio.run(steps.activate(router, order)).changed
    assert router.calls[3:] == ["read", "arm_revert 5", "activate"]
    assert folder.compared_s() is None
    before_s = play_clock.monotonic_s()
    asyncio.run(steps.verify(router, order))
    assert before_s <= (folder.compared_s() or 0) <= play_clock.monotonic_s(), (
        "so the watch knows what the comparison covers"
    )
    assert not asyncio.run(steps.activate(router, order)).changed, "it has all of it"


def test_a_router_that_checks_itself_is_not_read_before_its_change(folder: DeviceFolder) -> None:
    router, order = InMemory(folder, checks_itself=True), Order(folder)
    asyncio.run(steps.stage(router, order))
    asyncio.run(steps.activate(router, order))
    assert router.calls == ["stage_program", "arm_revert 5", "activate"]


def test_a_router_that_was_changed_since_it_was_read_is_staged_with_nothing(folder: DeviceFolder) -> None:
    router = InMemory(folder)
    router.text = "".join(f"{line}\n" for line in folder.lines(AFTER)[1:])
    with pytest.raises(DeviceError, match="it was changed since it was read:\n--- device"):
        asyncio.run(steps.stage(router, Order(folder)))
    with pytest.raises(DeviceError, match="does not have what is wanted"):
        asyncio.run(steps.verify(router, Order(folder)))
    assert router.calls == ["read", "read"]


def test_looking_changes_nothing(folder: DeviceFolder) -> None:
    router, order = InMemory(folder), Order(folder, only_look=True)
    assert asyncio.run(steps.activate(router, order)).changed
    asyncio.run(steps.stage(router, order))
    asyncio.run(steps.restore(router, Order(folder, BEFORE, only_look=True)))
    assert set(router.calls) == {"read"}


@pytest.mark.parametrize(("checks_itself", "broken", "tried"), [(True, 2, 3), (True, 3, 3), (False, 1, 1)])
def test_a_restore_is_tried_again_only_where_the_router_may_have_acted_meanwhile(
    folder: DeviceFolder, checks_itself: bool, broken: int, tried: int
) -> None:
    router, order = InMemory(folder, checks_itself=checks_itself, broken=broken), Order(folder, BEFORE)
    router.text = "".join(f"{line}\n" for line in folder.lines(AFTER))
    if broken < tried:
        assert asyncio.run(steps.restore(router, order)).changed
        assert router.text == ""
    else:
        with pytest.raises(DeviceError, match="refused"):
            asyncio.run(steps.restore(router, order))
    assert router.calls.count("change") == tried


class BoundaryPasses(InMemory):
    """A boundary passes while the router is read: from then on, what it is to be given is another file."""

    async def file_to_restore(self, order: Order) -> str | None:
        return BEFORE if "read" in self.calls else AFTER


def test_what_ends_while_a_router_is_read_does_not_come_back(folder: DeviceFolder) -> None:
    router = BoundaryPasses(folder)
    router.text = "".join(f"{line}\n" for line in folder.lines(AFTER))
    done = asyncio.run(steps.restore(router, Order(folder, AFTER)))
    assert (done.changed, done.after, router.text) == (True, "", "")


# -- what a Linux router is told ---------------------------------------------------------------------------------------


class AnsweringShell:
    """A shell that answers what it is to, and notes the verbs of `device.sh` that it is given."""

    def __init__(self, **present: bool) -> None:
        self.verbs: list[str] = []
        self._present = present

    def run(self, command: str, text: str = "") -> ShellAnswer:
        if command.startswith("if ["):
            name = "previous" if "previous" in command else "device" if "device.sh" in command else "revision"
            return ShellAnswer(0, "yes\n" if self._present.get(name, True) else "no\n", "")
        self.verbs.append(command.partition("device.sh ")[2].partition(" ")[2] or command)
        return ShellAnswer(0, "100 200\n" if command.endswith("clock") else "", "")


def linux_folder(tmp_path: Path, replaced: Sequence[float] = ()) -> DeviceFolder:
    """Of a revision whose slots end ten and twenty minutes from T0; `replaced`: seconds from now, of what was armed."""
    folder = DeviceFolder(Archive(tmp_path).write(revision(T0, active(1, 10), active(2, 20))) / ROUTER)
    if replaced:
        ids = tuple(str(number) for number in range(len(replaced) + 1))
        now_s = datetime.now(UTC).timestamp()
        folder.write_replaced(ReplacedProgram(tuple(now_s + one for one in replaced), ids), [("x",)] * len(replaced))
    return folder


def restored(shell: AnsweringShell, order: Order) -> str | None:
    """The file that is restored; what the router is told stands in the shell."""
    transport = LinuxTransport(shell, NETWORK.devices[ROUTER])

    async def take() -> str | None:
        file = await transport.file_to_restore(order)
        if file is not None:
            await transport.change(())
        return file

    return asyncio.run(take())


@pytest.mark.parametrize(
    ("minutes", "file", "taken"), [(5, "after.txt", "0"), (15, "after-1.txt", "1"), (25, "after-2.txt", "2")]
)
def test_what_the_program_has_done_by_now_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minutes: int, file: str, taken: str
) -> None:
    monkeypatch.setattr(time, "time", lambda: (T0 + timedelta(minutes=minutes)).timestamp())
    shell, folder = AnsweringShell(), linux_folder(tmp_path)
    assert restored(shell, Order(folder, AFTER)) == file
    assert shell.verbs[-1].split() == ["keep", folder.program().name, shell.verbs[-1].split()[2], taken]


@pytest.mark.parametrize(
    ("present", "order", "expected"),
    [
        ({}, {"target": BEFORE}, ("before-1.txt", "return {} - 1")),
        ({}, {"target": BEFORE, "fence": 7}, ("before-1.txt", "return {} 7 1")),
        ({"previous": False}, {"target": BEFORE, "fence": 7}, (None, "")),
        ({"previous": False}, {"target": BEFORE}, ("before-1.txt", "return {} - 1")),
        ({}, {"target": ""}, ("", "disarm")),
        ({"device": False}, {"target": ""}, ("", "tc -batch -")),
    ],
)
def test_a_way_back_is_one_command(
    tmp_path: Path, present: Mapping[str, bool], order: Mapping[str, object], expected: tuple[str | None, str]
) -> None:
    shell, folder = AnsweringShell(**present), linux_folder(tmp_path, replaced=(-60, 60))
    assert restored(shell, Order(folder, **order)) == expected[0]  # type: ignore[arg-type]
    assert shell.verbs == ([expected[1].format(folder.program().name)] if expected[1] else [])


def test_a_router_refuses_what_was_read_before_it_acted_but_not_at_the_last_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slotcar.rollout.linux.transport.state_of", lambda *_: ("what-is-to-come", None))
    shell, order = AnsweringShell(), Order(linux_folder(tmp_path, replaced=(-60, 60)), BEFORE)
    transport = LinuxTransport(shell, NETWORK.devices[ROUTER])

    async def take() -> None:
        await transport.file_to_restore(order)
        await transport.read(())
        await transport.change(())

    for _ in range(steps.TRIES):
        asyncio.run(take())
    return_words = [verb.split()[3:] for verb in shell.verbs if verb.startswith("return")]
    assert return_words == [["1", "what-is-to-come"]] * 2 + [["1"]]


def test_where_nobody_knows_the_ends_nothing_is_given_back(tmp_path: Path) -> None:
    folder = linux_folder(tmp_path)
    (folder.path / BEFORE).write_text("a slot\n")
    (folder.path / "ends.json").unlink()
    with pytest.raises(EndsUnknown):
        restored(AnsweringShell(), Order(folder, BEFORE))
    assert restored(AnsweringShell(), Order(folder, BEFORE, unknown_ends=True)) == BEFORE


def test_a_restore_that_is_refused_says_what_is_left_on_the_router(folder: DeviceFolder) -> None:
    router = InMemory(folder, broken=1)
    asyncio.run(steps.activate(router, Order(folder)))
    with pytest.raises(
        DeviceError, match=r"^refused; it still has \d+ lines: `.*SLOTCAR-F2`.* and \d+ more"
    ) as failed:
        asyncio.run(steps.restore(router, Order(folder, BEFORE)))
    assert "lacks" not in str(failed.value)


def test_a_restore_does_not_pass_where_a_name_of_the_revision_stays_unseen(folder: DeviceFolder) -> None:
    """As where a line is read in another section than the router has it in."""

    class Unseen(InMemory):
        async def read(self, commands: Sequence[str]) -> dict[str, str]:
            answers = await super().read(commands)
            stays = "unknown section\n service-policy input SLOTCAR-IN-{}\n"
            name = next(line.split()[-1] for line in folder.lines(AFTER) if "policy-map SLOTCAR-IN-" in line)
            return {key: stays.replace("SLOTCAR-IN-{}", name) + text for key, text in answers.items()}

    before = folder.lines(BEFORE)
    folder.write_lines({BEFORE: ()})
    router = Unseen(folder)
    with pytest.raises(DeviceError, match=r"it still has 1 line: `service-policy input SLOTCAR-IN-"):
        asyncio.run(steps.restore(router, Order(folder, BEFORE)))
    folder.write_lines({BEFORE: before})
