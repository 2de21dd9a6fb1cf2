"""The ledger and the state folder of commit 60bbf796 open with today's code, and answer what that commit answered.

`tests/samples/of_60bbf796` holds both, and its answers: `make.py` there made it in a checkout of that commit, by its own
command line at a clock that stood, from reservations of each kind (a rate, both ways, recurring, varying, a volume by a
deadline, a background share, without a rate), groups, a gate, a change and a group that wait for approval, a hold, one that
was cancelled, a webhook and a token. The state folder has three revisions of its routers, kept without any device.
`views.py` says what is asked, here as there.

What a document had then it has now, with the same value; what has come since may stand beside it. `since.json` says what
was changed on purpose until this test was written, and what is there instead: routers of GARNET say which lists are
Slotcar's (`SLOTCAR-OWNS`); `explain` shows rates as the platform is told; a volume quota counts a background share with
what it can get; a plan numbers new reservations as the ledger will; a rollback says that the earlier configuration comes
back whole, and names all routers that it takes a reservation from. Whoever changes more on purpose adds it there, and says
why in the commit.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from slotcar.base.settings import Settings
from slotcar.network import load_network
from tests.integration.api.conftest import GARNET
from tests.samples.of_60bbf796.views import COMMANDS, MORNING, rollbacks
from tests.support.clocks import stopped_at
from tests.support.command_line import Cli
from tests.support.differing import differences

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "of_60bbf796"
VIEWS = json.loads((SAMPLE / "views.json").read_text())
SINCE = json.loads((SAMPLE / "since.json").read_text())
STATE = json.loads((SAMPLE / "state.json").read_text())


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The state folder as that commit left it."""
    folder = tmp_path / "state"
    for name, number in STATE["files"].items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(STATE["texts"][number])
    return folder


@pytest.fixture
def older(offline: Cli, state: Path, empty_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line over both, after the upgrade that a server's operator says."""
    for name, contents in STATE["reservations"].items():
        (tmp_path / f"{name}.json").write_text(json.dumps(contents))
    for name, value in {
        "SLOTCAR_DATABASE_URL": empty_database_url,
        "SLOTCAR_INVENTORY": str(GARNET),
        "SLOTCAR_APPROVAL_RATE": "10 Mbit/s",
    }.items():
        monkeypatch.setenv(name, value)
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute((SAMPLE / "ledger.sql").read_bytes())
    assert offline("db", "upgrade").code == 0
    return offline


def test_all_views_are_what_they_were(older: Cli, tmp_path: Path) -> None:
    different: dict[str, Any] = {}
    assert [(one["at"], one["command"]) for one in VIEWS["commands"]] == [*COMMANDS]
    for view in VIEWS["commands"]:
        command, document = view["command"], view["document"]
        files = {name: str(tmp_path / f"{name}.json") for name in STATE["reservations"]}
        with stopped_at(datetime.fromisoformat(view["at"])):
            done = older(*(files.get(word, word) for word in command.split()), "--format", "json")
        assert done.code in (0, 3), done
        # A list was nothing else, and has beside it now what comes after it and who answered.
        data = done.data["items"] if isinstance(document, list) and isinstance(done.data, dict) else done.data
        different |= differences(document, data, f"{view['at'][:10]} {command}: ")
    assert different == SINCE["commands"]


def test_rollbacks_would_do_what_they_would_have_done(state: Path) -> None:
    now = datetime.fromisoformat(MORNING).replace(hour=9, minute=5)
    previews = json.loads(
        json.dumps(rollbacks(Settings(state_dir=state, inventory=GARNET), load_network(GARNET, None), now))
    )
    assert dict(differences(VIEWS["rollbacks"], previews, "")) == SINCE["rollbacks"]
