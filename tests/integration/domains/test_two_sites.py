"""docs/howto/two-sites.md, command by command, as two newcomers type it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.support.controllers import SLOTCAR
from tests.support.documents import Command, File, steps
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.ports import free_port

PAGE = Path(__file__).resolve().parents[3] / "docs" / "howto" / "two-sites.md"
#: What the page calls them; others may have them here.
PORTS = ("8001", "8002", "8441", "8442")


@dataclass
class Sites:
    """Terminals: what each has exported, what runs in their backgrounds, and what the commands printed."""

    folder: Path
    exported: dict[str, dict[str, str]] = field(default_factory=dict)
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)
    printed: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers = {port: str(free_port()) for port in PORTS}
        self._ports = numbers

    def do(self, step: File | Command) -> None:
        if isinstance(step, File):
            file = self.folder / step.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self._here(step.text))
            return
        site, _, line = self._here(step.line).partition("$ ")
        exported = self.exported.setdefault(site, {})
        if line.startswith("export "):
            exported |= dict(one.split("=", 1) for one in line.split()[1:])
        elif line.endswith(" &"):
            self._start(line.removesuffix(" &"), exported)
        else:
            self.printed[f"{site}$ {line}"] = self._run(line, step.code, exported)

    def _here(self, text: str) -> str:
        for port, number in self._ports.items():
            text = text.replace(port, number)
        return text.replace("CONNECTION", self.connection)

    @property
    def connection(self) -> str:
        listed = self.printed.get("lbnl$ slotcar domains list", "")
        return next((line.split()[0] for line in listed.splitlines() if line.startswith("anl-")), "CONNECTION")

    def _environment(self, exported: dict[str, str]) -> dict[str, str]:
        own = {key: value for key, value in os.environ.items() if not key.startswith("SLOTCAR_")}
        return own | exported | {"PATH": os.pathsep.join((str(SLOTCAR.parent), own["PATH"]))}

    def _run(self, line: str, code: int, exported: dict[str, str]) -> str:
        done = subprocess.run(
            ["bash", "-c", line], cwd=self.folder, env=self._environment(exported), capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert done.returncode == code, f"{line}\n{done.stdout}\n{done.stderr}\n{self._logs()}"
        return done.stdout + done.stderr

    def _start(self, line: str, exported: dict[str, str]) -> None:
        with (self.folder / f"{len(self.running)}.log").open("wb") as log:
            self.running.append(
                subprocess.Popen(
                    ["bash", "-c", f"{line.replace('slotcar', 'exec slotcar', 1)}"], cwd=self.folder,
                    env=self._environment(exported), stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                )
            )  # fmt: skip
        port = line.rpartition(" ")[2]
        wait_for(lambda: _answers(port), f"the controller at {port} to answer: {self._logs()}")

    def _logs(self) -> str:
        return "\n".join(file.read_text()[-2000:] for file in sorted(self.folder.glob("*.log")))


def _answers(port: str) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/v1/domains", trust_env=False, timeout=PATIENCE_S).status_code == 200
    except httpx.HTTPError:
        return False


@contextmanager
def terminals(folder: Path) -> Iterator[Sites]:
    sites = Sites(folder)
    try:
        yield sites
    finally:
        for process in sites.running:
            process.terminate()
        for process in sites.running:
            process.wait(PATIENCE_S)


@pytest.mark.slow  # two controllers with a database each, and a dozen commands
def test_two_newcomers_join_and_reserve_over_both(tmp_path: Path) -> None:
    with terminals(tmp_path) as sites:
        for step in steps(PAGE):
            sites.do(step)
        printed = sites.printed
        assert "no trouble" not in printed["anl$ slotcar domains status"]
        assert "lbnl" in printed["anl$ slotcar domains status"]
        status = printed["lbnl$ slotcar status"]
        assert "hep@anl/tonight" in status
        assert "committed" in status
        refused = printed["anl$ slotcar domains reserve more.yml"]
        assert "anl: " in refused
        assert "SLS" in refused or "anl-lbnl" in refused
        assert "50 Mbit/s" in printed[f"lbnl$ slotcar domains show {sites.connection}"]
        assert "cancelled" in printed["lbnl$ slotcar status --all"]
