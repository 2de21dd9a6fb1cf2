"""`slotcar webhook …`, and what docs/reference/webhooks.md tells its reader to do."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from slotcar.store import Ledger, open_ledger
from tests.integration.cli.conftest import ROOT
from tests.integration.notify.conftest import dispatching, tell
from tests.support.command_line import Cli
from tests.support.documents import Command, steps
from tests.support.patience import wait_for
from tests.support.receiver import SECRET, Receiver

DOCUMENT = ROOT / "docs" / "reference" / "webhooks.md"


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    file = tmp_path / "webhook-secret"
    file.write_text(SECRET + "\n")
    return file


def test_from_a_secret_to_dead_letters_and_back(
    cli: Cli, database_url: str, tmp_path: Path, secret_file: Path
) -> None:
    status = [204]
    with Receiver(lambda _got: status[0]) as receiver, open_ledger(database_url, tmp_path) as ledger:
        done = cli(
            "webhook", "add", receiver.url, "--secret-file", secret_file, "--kinds", "push.,reservation.", "-f", "json"
        )
        hook = done.data["id"]
        assert done.data["kinds"] == ["push.", "reservation."]
        assert cli("webhook", "test", hook).out == f"{hook} answered 204.\n"
        assert receiver.got[0].signed_by(SECRET)
        status[0] = 500
        failed = cli("webhook", "test", hook)
        assert (failed.code, failed.err.splitlines()[-1]) == (1, f"{hook}: answered 500")
        with dispatching(ledger):
            tell(ledger, "r-a")
            wait_for(lambda: dead(ledger, hook) == 1, "it to be given up")
            assert "answered 500" in cli("webhook", "dead-letters", hook).out.splitlines()[1]
            status[0] = 204
            assert cli("webhook", "redeliver", hook, "1").out == f"1 wait again for {hook}.\n"
            wait_for(lambda: not ledger.webhooks.backlogs(), "it to be delivered")
        listed = cli("webhook", "list").out
        assert f"file:{secret_file}" in listed
        assert SECRET not in listed + done.out
        assert cli("webhook", "remove", hook, "--yes").code == 0
        assert cli("webhook", "list").out == "No webhooks.\n"


def dead(ledger: Ledger, hook: str) -> int:
    backlog = ledger.webhooks.backlogs().get(hook)
    return backlog.dead if backlog else 0


def test_wrong_uses_are_named(cli: Cli, secret_file: Path, tmp_path: Path) -> None:
    add = ("webhook", "add", "https://example.net/")
    for arguments, code, words in (
        ((*add, "--secret-file", "x", "--secret-env", "X"), 2, "one of --secret-file and --secret-env"),
        ((*add, "--secret-file", tmp_path / "none"), 1, "cannot be read: No such file"),
        ((*add, "--secret-env", "SLOTCAR_NOWHERE"), 1, "env:SLOTCAR_NOWHERE: the controller has no such variable"),
        ((*add, "--secret-file", secret_file, "--kinds", "psuh."), 1, "no event's kind begins with psuh."),
        (("webhook", "add", "gopher://x", "--secret-file", secret_file), 1, "http and https only"),
        (("webhook", "remove", "wh-0", "--yes"), 1, "there is no webhook wh-0"),
        (("webhook", "redeliver", "wh-0", "seven"), 2, "Invalid value"),
    ):
        done = cli(*arguments)
        assert done.code == code, arguments
        assert words in " ".join(done.err.replace("│", " ").split())
    assert cli("webhook", "list").out == "No webhooks.\n"


@pytest.mark.parametrize(
    ("url", "warns"),
    [("http://receiver.example.net/", True), ("https://receiver.example.net/", False), ("http://[::1]:9/", False)],
)
def test_events_that_others_could_read_on_the_way_are_said(cli: Cli, secret_file: Path, url: str, warns: bool) -> None:
    done = cli("webhook", "add", url, "--secret-file", secret_file)
    assert done.code == 0
    assert ("note: http is not encrypted" in done.err) is warns
    assert "gets every event from now on" in done.out


def test_what_the_document_tells_to_do(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for step in steps(DOCUMENT):
        assert isinstance(step, Command)
        if step.line.startswith("slotcar "):
            assert cli(*step.line.split()[1:]).code == step.code, step.line
        else:
            subprocess.run(["bash", "-c", step.line], check=True)
    assert "http://127.0.0.1:9/slotcar" in cli("webhook", "list").out
    assert (tmp_path / "webhook-secret").stat().st_mode & 0o077 == 0


def test_the_documents_receiver_knows_our_signature(cli: Cli, secret_file: Path) -> None:
    program = re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)[0]
    names: dict[str, Callable[..., bool]] = {}
    exec(compile(program, "webhooks.md", "exec"), names)
    with Receiver() as receiver:
        hook = json.loads(cli("webhook", "add", receiver.url, "--secret-file", secret_file, "-f", "json").out)["id"]
        assert cli("webhook", "test", hook).code == 0
    (got,) = receiver.got
    assert names["is_ours"](got.headers, got.body, SECRET)
    assert not names["is_ours"](got.headers, got.body + b" ", SECRET)
