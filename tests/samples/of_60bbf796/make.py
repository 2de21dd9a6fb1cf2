"""Makes the sample again, in a checkout of commit 60bbf796 and with that checkout's own environment:

    PYTHONPATH=controller:client .venv/bin/python .../make.py DATABASE-URL EMPTY-FOLDER

DATABASE-URL is an empty database. It leaves the ledger's rows as `ledger.sql`, the state folder as `state.json`, and what
that commit answers as `views.json` beside this file. The state folder has the revisions of three boundaries, kept as if
routers with timers of their own had passed them (`Pusher.acted`), so that no device is needed.
"""

# ruff: noqa: I001 - the modules of that commit, of which some are elsewhere now
from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from slotcar.broker import Broker
from slotcar.cli import session
from slotcar.ledger import open_ledger
from slotcar.network import load_network
from slotcar.rollout.wanted import wanted_for
from slotcar.timeline import active_at
from slotcar.timeline.shares import BackgroundShares
from slotcar.wiring import pusher_for

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from views import COMMANDS, NOON, rollbacks  # noqa: E402

#: Where that commit has them.
Settings, Window = import_module("slotcar.settings").Settings, import_module("slotcar.timebase").Window
ROOT = Path.cwd()
INVENTORY = ROOT / "inventories" / "garnet"
LINE = {"source": "anl-premium", "protocol": "udp", "service": "ip-premium"}
CLOCK = [datetime.fromisoformat(NOON) - timedelta(hours=1)]
BOUNDARIES = ("2027-03-02T07:30:00+00:00", "2027-03-02T08:00:00+00:00", "2027-03-02T09:00:00+00:00")


def reservation(name: str, port: int, **more: Any) -> dict[str, Any]:
    usual = {
        "name": name, "owner": "hep", **LINE, "destination": f"lbnl-premium:{port}", "rate": "2 Mbit/s",
        "start": "2027-03-02T08:00:00Z", "duration": "PT2H",
    }  # fmt: skip
    return {key: value for key, value in (usual | more).items() if value is not None}


def group(name: str, port: int, rate: str) -> dict[str, Any]:
    member = {"name": "line", "network": LINE | {"destination": f"lbnl-premium:{port}", "rate": rate}}
    return {"name": name, "owner": "hep", "start": "2027-03-03T08:00:00Z", "duration": "PT1H", "members": [member]}


SCHEDULE = [
    {"start": "2027-03-02T08:00:00Z", "duration": "1 h", "rate": "1 Mbit/s"},
    {"start": "2027-03-02T09:00:00Z", "duration": "1 h", "rate": "2 Mbit/s"},
]
FILES = {
    "FILE": {
        "version": 1,
        "reservations": [
            reservation("cms", 5001, labels={"run": "7"}),
            reservation("both", 5002, direction="both", rate={"forward": "3 Mbit/s", "reverse": "1 Mbit/s"}),
            reservation("nightly", 5003, recurrence="FREQ=DAILY;COUNT=3", timezone="Europe/Zurich"),
            reservation("varying", 5004, start=None, duration=None, rate=None, schedule=SCHEDULE),
            reservation("bulk", 5005, rate=None, duration=None, volume="2 GB", by="2027-03-02T12:00:00Z"),
            reservation("rest", 5006, rate=None, share={"weight": 2, "at_least": "1 Mbit/s", "at_most": "4 Mbit/s"}),
            reservation("large", 5007, rate="12 Mbit/s"),
            reservation("theirs", 5008, owner="astro"),
            reservation("scavenger", 5009, rate=None, service="qbss"),
        ],
        "together": [group("job", 6001, "1 Mbit/s"), group("grand", 6002, "11 Mbit/s")],
    },
    "OTHERS": {"version": 1, "reservations": [reservation("cms", 5001, rate="3 Mbit/s"), reservation("new", 5010)]},
}
FILL = (
    "apply FILE --set all --yes",
    "create --name held --owner hep --rate 1Mbit/s LINE:7100 --hold 10h",
    "create --name gone --owner hep --rate 1Mbit/s LINE:7101",
    "cancel hep/gone --yes --reason a-trial",
    "modify hep/cms --rate 11Mbit/s",
    "modify hep/both --rate 2Mbit/s",
    "webhook add https://example.net/hook --secret-file SECRET --kinds reservation.held",
    "token create ops --role operator",
)


def command(text: str, folder: Path) -> str:
    """What a command line prints."""
    text = re.sub(
        r"LINE:(\d+)",
        r"--source anl-premium --protocol udp --service ip-premium --destination lbnl-premium:\1"
        " --start 2027-03-02T08:00:00Z --duration PT2H",
        text,
    )
    text = re.sub("|".join(FILES), lambda match: str(folder / f"{match[0]}.json"), text)
    sys.argv = ["slotcar", *text.replace("SECRET", str(folder / "secret")).split()]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            from slotcar.cli import main

            main()
        except SystemExit as ended:
            if ended.code not in (0, 3):
                raise RuntimeError(f"{text} ended with {ended.code}") from ended
    return out.getvalue()


def push(state_dir: Path, url: str, network: Any) -> None:
    """Keeps what the routers have at each of the boundaries, and records it."""
    with open_ledger(url, state_dir) as ledger:
        settings = Settings(state_dir=state_dir, inventory=INVENTORY)
        Broker(ledger, network, settings)  # which tells the ledger the network
        configure = wanted_for(network)
        pusher = pusher_for(network, settings, None)
        before = configure((), datetime.fromisoformat(NOON)).wanted
        for text in BOUNDARIES:
            at = datetime.fromisoformat(text)
            live = BackgroundShares(network)(ledger.live_between(at), Window(at, at + timedelta(hours=1)))
            now = configure(active_at(live, at), at).wanted
            changed = {name: one for name, one in now.items() if one.reservations != before[name].reservations}
            some = changed or {name: now[name] for name in ("anl-7507-1", "lbnl-7507")}
            revision, before = pusher.acted(before, some, at), now
            for name in sorted(some):
                details = {"revision": revision, "activate_at": text, "lines": 3}
                ledger.append_event("push.verified", at, device=name, details=details)


def main(url: str, folder: Path) -> None:
    os.environ |= {
        "SLOTCAR_DATABASE_URL": url, "SLOTCAR_STATE_DIR": str(folder / "state"), "SLOTCAR_INVENTORY": str(INVENTORY),
        "SLOTCAR_APPROVAL_RATE": "10 Mbit/s", "USER": "tester", "COLUMNS": "200",
    }  # fmt: skip
    (folder / "secret").write_text("whsec_" + "A" * 44 + "\n")
    for name, contents in FILES.items():
        (folder / f"{name}.json").write_text(json.dumps(contents))
    network = load_network(INVENTORY, None)
    session.now = lambda: CLOCK[0]
    session.network_of = lambda _settings: network
    command("db upgrade", folder)
    for text in FILL:
        CLOCK[0] += timedelta(minutes=5)
        command(text, folder)
    push(folder / "state", url, network)
    dump = subprocess.run(
        ["pg_dump", "--inserts", "--no-owner", "--dbname", url], capture_output=True, text=True, check=True
    )
    # Lines for psql alone, which is not asked, and settings that not every server knows.
    kept = [line for line in dump.stdout.splitlines() if line and not line.startswith(("--", "\\", "SET "))]
    (HERE / "ledger.sql").write_text("\n".join(kept).replace(str(folder), "/nowhere") + "\n")
    state = folder / "state"
    files = {one.relative_to(state).as_posix(): one.read_text() for one in sorted(state.rglob("*")) if one.is_file()}
    # Nobody signs in by the sample: its token is known by nothing that is one.
    files["tokens.json"] = re.sub(r'("sha256": ")[0-9a-f]{64}', rf"\g<1>{'0' * 64}", files["tokens.json"])
    texts = sorted(set(files.values()))
    places = {name: texts.index(text) for name, text in files.items()}  # many have the same text
    (HERE / "state.json").write_text(
        json.dumps({"texts": texts, "files": places, "reservations": FILES}, indent=0) + "\n"
    )
    views: dict[str, Any] = {"commands": []}
    for at, text in COMMANDS:
        CLOCK[0] = datetime.fromisoformat(at)
        out = command(f"{text} --format json", folder)
        views["commands"].append({"at": at, "command": text, "document": json.loads(out)})
    settings = Settings(state_dir=state, inventory=INVENTORY)
    views["rollbacks"] = rollbacks(settings, network, datetime.fromisoformat(BOUNDARIES[2]) + timedelta(minutes=5))
    lines = ",\n".join(json.dumps(one) for one in views["commands"])
    text = f'{{"commands": [\n{lines}\n],\n"rollbacks": {json.dumps(views["rollbacks"])}}}\n'
    (HERE / "views.json").write_text(text.replace(str(folder), "/nowhere"))
    for name in ("ledger.sql", "state.json", "views.json"):
        (HERE / name).chmod(0o644)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
