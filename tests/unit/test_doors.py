"""A verb has one door: what `session.sender()` gives sends it, here or over HTTP, and answers with its document."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.unit.test_layers import names_imported

CLI = Path(__file__).parents[2] / "controller" / "slotcar" / "cli"
#: Modules whose commands open the ledger of this machine beside the desk, with the reason. They may only become fewer.
OPENS_THE_LEDGER = {
    "devices.py": "push: the leader's lease, and the devices, in one command",
    "planning.py": "plan: files are checked against the inventory, and errors name file and line",
    "policies.py": "diff: policies of a folder that is here, asked with what was live",
    "session.py": "it is where the desk is opened",
}
#: Modules of doors that were, each the same verbs again in another form.
OLD_DOORS = {"over_http", "from_documents"}


def opens_the_ledger(source: str) -> bool:
    """Whether it calls `session.desk`."""
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return any(isinstance(one, ast.Name) and one.id == "desk" for one in calls)


def test_commands_send_verbs_but_those_that_are_listed() -> None:
    opening = {path.name for path in CLI.glob("*.py") if opens_the_ledger(path.read_text(encoding="utf-8"))}
    assert opening == OPENS_THE_LEDGER.keys()


def test_there_is_no_old_door() -> None:
    assert OLD_DOORS.isdisjoint(path.stem for path in CLI.glob("*.py"))
    for path in CLI.glob("*.py"):
        named = {name.rpartition(".")[2] for name in names_imported(path.read_text(encoding="utf-8"))}
        assert not named & {"OverHttp", "EntryFilter", "EventFilter", "GroupFilter"} or path.name in (
            "completing.py",  # a shell waits for it: the ledger alone is opened, and no inventory
            "leader.py",
            "session.py",  # near names
        ), path


def test_the_check_sees_a_ledger_that_is_opened() -> None:
    assert opens_the_ledger("def command():\n    with desk(inventory) as opened:\n        pass\n")
    assert not opens_the_ledger("def command():\n    with sender(inventory) as controller:\n        pass\n")
