"""`slotcar run`: what is run for a slice of systemd's, of a user's, and of none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slotcar.cli.hosts import CommandNotRunnable, in_slice

COMMAND = ["mover", "--fast"]


def scoped(unit: str, *manager: str) -> list[str]:
    return ["systemd-run", *manager, "--quiet", "--scope", "--collect", f"--slice={unit}", "--", *COMMAND]


def test_systemd_runs_it_in_a_scope_of_the_slice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slotcar.slice/slotcar-g_7q2m.slice").mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert in_slice("g-7q2m", COMMAND, tmp_path) == scoped("slotcar-g_7q2m.slice")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(CommandNotRunnable, match="only root may put a process into the slice of g-7q2m"):
        in_slice("g-7q2m", COMMAND, tmp_path)


def test_a_user_has_slices_of_its_own_manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "user.slice/user-1000.slice/user@1000.service/slotcar.slice/slotcar-g_7q2m.slice"
    own.mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert in_slice("g-7q2m", COMMAND, tmp_path) == scoped("slotcar-g_7q2m.slice", "--user")
    monkeypatch.setattr(os, "geteuid", lambda: 1001)
    with pytest.raises(CommandNotRunnable, match="this host has no slice of g-7q2m now"):
        in_slice("g-7q2m", COMMAND, tmp_path)


def test_without_systemd_this_process_is_put_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slotcar/g-7q2m").mkdir(parents=True)
    assert in_slice("g-7q2m", COMMAND, tmp_path) == COMMAND
    assert (tmp_path / "slotcar/g-7q2m/cgroup.procs").read_text() == str(os.getpid())


@pytest.mark.parametrize("group", ["", "..", "g/../..", "."])
def test_what_is_no_handle_is_refused(tmp_path: Path, group: str) -> None:
    with pytest.raises(CommandNotRunnable, match="is not a group's handle"):
        in_slice(group, COMMAND, tmp_path)
