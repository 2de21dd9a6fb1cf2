"""One table of exit codes: the help, the reference and every document say what the code does."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from slotcar.api.listening import CannotListen, PortInUse, bound, bound_for_datagrams
from slotcar.base.problems import SlotcarError
from slotcar.cli.exit_codes import ExitCode
from slotcar.cli.failures import exit_code
from slotcar.desk.problems import wire_problem
from slotcar.domains.errors import ConnectionRefused, ConnectionUndecided
from slotcar.platforms.model import Unrenderable
from tests.support.checkout import PYTHONPATH
from tests.support.command_line import in_this_process

ROOT = Path(__file__).resolve().parents[3]
REFERENCE = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
#: `exit code 3`, `ends with 7`, `5: it failed`: numbers that a document or a help text gives.
_NUMBER = re.compile(r"(?:[Ee]xit(?:ed|s)?(?: is| with)?|[Ee]xit code(?: is)?|[Ee]nds? with|end with) (\d+)")


def test_the_reference_has_each_code_with_its_meaning() -> None:
    listed = re.findall(r"^\| (\d+) \| (.+) \|$", REFERENCE, re.MULTILINE)
    assert [(int(number), meaning) for number, meaning in listed] == [(code.value, code.meaning) for code in ExitCode]


def test_help_lists_each_code(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    printed = in_this_process(monkeypatch, capfd)("--help").out
    for code in ExitCode:
        assert re.search(rf"^ +{code.value} +{re.escape(code.meaning.split(';')[0][:40])}", printed, re.MULTILINE), (
            code
        )
    assert "|" not in printed


@pytest.mark.parametrize(
    ("file", "words", "code"),
    [
        ("docs/reference/cli.md", "Ends with {} where one differs", ExitCode.DIFFERENT),
        ("docs/reference/cli.md", "Ends with 7 where one differs, {} where one does not answer", ExitCode.ERROR),
        ("docs/reference/cli.md", "end with {} where a device differs", ExitCode.DIFFERENT),
        ("docs/reference/cli.md", "Exit code {}: a push failed and was rolled back", ExitCode.ROLLED_BACK),
        ("docs/reference/cli.md", "; {}: it failed and could not be", ExitCode.NOT_ROLLED_BACK),
        ("docs/reference/cli.md", "refused with numbers (exit code {})", ExitCode.REFUSED),
        ("docs/howto/operate.md", "nothing is done and the exit code is {}", ExitCode.USAGE),
        ("docs/howto/operate.md", "{} a router differs", ExitCode.DIFFERENT),
        ("docs/howto/boundaries.md", "Exit code {}, the event `push.not-rolled-back`", ExitCode.NOT_ROLLED_BACK),
    ],
)
def test_what_a_document_says_of_a_code(file: str, words: str, code: ExitCode) -> None:
    assert words.format(code.value) in " ".join((ROOT / file).read_text(encoding="utf-8").split())


def test_no_document_names_a_code_that_is_none() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        assert {int(number) for number in _NUMBER.findall(document.read_text(encoding="utf-8"))} <= {*ExitCode}, (
            document
        )


@pytest.mark.parametrize("error", [ConnectionRefused("lbnl: no room"), Unrenderable("no queue is left")])
def test_what_is_refused_here_or_by_another_domain_ends_with_the_same_code(error: SlotcarError) -> None:
    assert [exit_code(one) for one in (error, wire_problem(error))] == [ExitCode.REFUSED] * 2


def test_what_may_still_come_about_is_no_refusal() -> None:
    assert exit_code(wire_problem(ConnectionUndecided("anl: the domains have not agreed yet"))) == ExitCode.ERROR


@pytest.mark.slow
def test_a_used_port_is_found_before_anything_is_begun(tmp_path: Path) -> None:
    """The ledger that is named does not answer: it was not asked."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [Path(sys.executable).with_name("slotcar"), "serve", "--port", port],
            env={"SLOTCAR_STATE_DIR": str(tmp_path), "SLOTCAR_OPEN": "true", "PATH": "/usr/bin:/bin",
                 "SLOTCAR_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/x", "PYTHONPATH": PYTHONPATH},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == ExitCode.PORT_IN_USE, done
    assert f"another program listens on 127.0.0.1:{port}" in done.stderr
    assert "serving" not in done.stderr + done.stdout


def test_a_used_port_for_syslog_is_found_and_given_back() -> None:
    with bound_for_datagrams("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse, match=f"listens on 127.0.0.1:{port} .* say another SLOTCAR_SYSLOG_LISTEN"):
            bound_for_datagrams("127.0.0.1", port).__enter__()
    with bound_for_datagrams("127.0.0.1", port):
        pass
    with pytest.raises(CannotListen, match=r"cannot listen on 192\.0\.2\.1:"), bound_for_datagrams("192.0.2.1", port):
        pass


def test_a_name_with_two_addresses_is_bound_at_both() -> None:
    with bound("localhost", 0) as sockets:
        assert {one.getsockname()[0] for one in sockets} <= {"127.0.0.1", "::1"}
    assert all(one.fileno() == -1 for one in sockets)
