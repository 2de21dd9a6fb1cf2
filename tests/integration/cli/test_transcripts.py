"""A first day and a night shift at the terminal, word for word: `tests/golden/transcripts/NAME-tty.txt` and `-pipe.txt`.

The routers are GARNET's in software. After a wanted change: `UPDATE_GOLDEN=1 .venv/bin/pytest -m slow
tests/integration/cli/test_transcripts.py`, then read the diff: short, true, and each with its next step?
"""

from __future__ import annotations

import os
import pwd
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from slotcar_lab.ios import Routers
from tests.support.cisco import ROOT, CiscoWorld
from tests.support.controllers import Controller
from tests.support.patience import wait_for
from tests.support.transcripts import COLUMNS, Session

GOLDEN = ROOT / "tests" / "golden" / "transcripts"
EDGE = "anl-7507-1"
TONIGHT = """\
version: 1
defaults:
  owner: hep
  source: anl-premium
  protocol: tcp
  service: ip-premium
  duration: PT2H
reservations:
  - name: cms
    destination: lbnl-premium:5001
    rate: 10 Mbit/s
    start: now + 1 s
  - name: atlas
    destination: lbnl-premium:5002
    rate: 5 Mbit/s
    start: now + 3 d
    recurrence: FREQ=DAILY;COUNT=3
"""


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Its name is as long in each run: texts that have it are wrapped by that."""
    with tempfile.TemporaryDirectory(prefix="slotcar-") as name:
        yield Path(name)


@pytest.fixture(params=["tty", "pipe"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Session:
    known = {key: value for key, value in os.environ.items() if not key.startswith(("SLOTCAR_", "COLUMNS"))}
    return Session(known | {"USER": "night"}, tmp_path, request.param == "tty")


def kept(session: Session, name: str) -> None:
    file = GOLDEN / f"{name}-{'tty' if session.tty else 'pipe'}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(session.transcript, encoding="utf-8")
    assert session.transcript == file.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_first_day_and_a_night_shift(session: Session, tmp_path: Path) -> None:
    reservations = tmp_path / "reservations"
    reservations.mkdir()
    with Routers() as routers:
        world = CiscoWorld(routers, tmp_path, ROOT / "inventories" / "garnet")
        state = tmp_path / "state"
        state.mkdir(exist_ok=True)
        session.environment = session.environment | {
            "SLOTCAR_STATE_DIR": str(state), "SLOTCAR_INVENTORY": "inventory",
        }  # fmt: skip
        session.hidden = {f"{tmp_path}/": "", f"{pwd.getpwuid(os.getuid()).pw_name}@cli": "night@cli"}
        first_day(session, world, reservations, state)
        kept(session, "first-day")
        session.shown.clear()
        night_shift(session, world, state)
        kept(session, "night-shift")
    if session.tty:
        for name in ("first-day", "night-shift"):
            lines = (GOLDEN / f"{name}-tty.txt").read_text(encoding="utf-8").splitlines()
            # What asks ends with the question's own words and the answer.
            long = [
                one for one in lines if len(one) > COLUMNS and not one.startswith(("$ ", "# ")) and "[y/N]" not in one
            ]
            assert long == [], name


def first_day(session: Session, world: CiscoWorld, reservations: Path, state: Path) -> None:
    file = reservations / "tonight.yml"
    session.say("the first file, as it comes out of the fingers")
    file.write_text(TONIGHT.replace("10 Mbit/s", "10 mb").replace("anl-premium", "anl-premum"))
    session.run("plan", "reservations", code=1)
    session.say("mended")
    file.write_text(TONIGHT)
    session.run("plan", "reservations")
    with Controller(state, world.inventory, SLOTCAR_ADOPT_ALL="false") as controller:
        session.say("slotcar serve runs in another window, for the first time")
        wait_for(lambda: len(controller.get("/v1/controller")["troubles"]) == len(world.routers), "all to be read")
        session.run("adopt", EDGE, answer="y")
        if not session.tty:
            session.run("adopt", "--yes", code=2)
        session.run("adopt", "--all", answer="y")
        controller.wait_settled()
        session.run("apply", "reservations", answer="y")
        wait_for(lambda: " 10280000 " in world.running()[EDGE], "the slot to be open")
        controller.wait_settled()
        session.run("status")
        session.run("explain", "hep/cms")
        session.run("drift")
        session.run("completion", "fish2", code=2)


def night_shift(session: Session, world: CiscoWorld, state: Path) -> None:
    whole = world.running()
    with Controller(state, world.inventory) as controller:
        controller.wait_settled()
        session.say(f"somebody has taken a line from {EDGE} by hand")
        assert world.routers[EDGE].configure("no access-list rate-limit 61 1") == []
        session.run("drift", code=7)
        session.run("drift", "--repair", answer="y")
        assert world.running() == whole
        session.run("cancel", "hep/csm", answer="y", code=1)
    session.say("the controller has died, and its database does not answer")
    session.environment = session.environment | {"SLOTCAR_DATABASE_URL": "postgresql://slotcar@127.0.0.1:9/slotcar"}
    session.run("status", code=1)
    session.run("rollback", "--reservation", "hep/cms", answer="y")
    session.say("both are back")
    session.environment = {k: v for k, v in session.environment.items() if k != "SLOTCAR_DATABASE_URL"}
    with Controller(state, world.inventory) as controller:
        controller.wait_settled()
        session.run("events", "--kind", "push.rolled-back")
        session.run("cancel", "hep/cms", "--reason", "not needed", answer="y")
        controller.wait_settled()
    session.run("db", "stop")
