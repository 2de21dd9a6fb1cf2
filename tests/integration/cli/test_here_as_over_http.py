"""Each command on the controller's own machine is the same command over HTTP: what it prints, its JSON, its exit code.

One ledger is filled and copied. Then the same commands run in turn on both, here over the one and over HTTP with an
operator's token over the other, at the same instant. A command that is added is in no list, and fails until it is in one.
"""

from __future__ import annotations

import json
import os
import pwd
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
import typer
from sqlalchemy.engine import make_url

from slotcar.auth.tokens import create_token
from slotcar.base.settings import Settings
from slotcar.book.rules.roles import Role
from slotcar.cli.app import app
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.store import open_ledger
from tests.integration.api.conftest import GARNET, Running
from tests.integration.conftest import copied
from tests.support.clocks import stopped_at
from tests.support.command_line import Cli, Done

NOW = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)
#: Commands that work on this machine alone, or that are about contexts and files, with the reason.
HERE_ONLY = {
    "check": "reads files, and with --devices the routers, without a ledger",
    "completion": "writes a shell's script",
    "context add": "", "context list": "", "context remove": "", "context show": "", "context timezone": "",
    "context use": "",
    "db backup": "", "db downgrade": "", "db restore": "", "db status": "", "db stop": "", "db upgrade": "",
    "host measure": "measures a disk",
    "init": "writes an inventory",
    "policy diff": "reads a folder that is here",
    "policy test": "reads files, without a ledger",
    "push": "the controller's leader does it by itself",
    "rollback": "needs neither controller nor database",
    "run": "runs a command in a control group of this host",
    "schema": "prints a file",
    "serve": "is the controller",
    "token create": "", "token list": "", "token revoke": "",
}  # fmt: skip
#: A controller speaks with its neighbours: tests/integration/domains.
OVER_HTTP_ONLY = {
    f"domains {name}"
    for name in (
        *("end", "key", "list", "modify", "progress", "reserve", "settle", "show", "status"),
        *(f"sls {verb}" for verb in ("change", "end", "list", "open")),
    )
}
#: One signs in to a controller: tests/integration/api/test_provider.py.
OVER_HTTP_ONLY |= {"login", "logout"}
#: Who does it, here and over HTTP.
WHO = f"{pwd.getpwuid(os.getuid()).pw_name}@cli"
#: Drawn at random: handles of reservations and groups, and webhooks' ids.
HANDLE = re.compile(r"\b(?:[rg]-[0-9a-hjkmnp-tv-z]{16}|wh-[0-9a-f]{12})\b")
#: Names options and a command that work here only.
HINT = "\n--diff shows the lines, --commands what the routers are told, `slotcar explain` where a number comes from\n"
#: What a name that is not there is near to is looked for here alone, and said in other words.
NEAR = ("status hep/nobody", "status nowhere")
#: What stands in a case for more words.
SHORT = {
    "LINE": "--source anl-premium --protocol udp --service ip-premium",
    "HOURS": "--start 2027-03-02T08:00:00Z --duration PT2H",
    "ENDS": "--source anl-premium --destination lbnl-premium --protocol udp --service ip-premium"
    " --start 2027-03-02T08:00:00Z --duration PT1H",
}


def reservation(name: str, port: int, **more: Any) -> dict[str, Any]:
    usual = {
        "name": name, "owner": "hep", "source": "anl-premium", "destination": f"lbnl-premium:{port}", "protocol": "udp",
        "service": "ip-premium", "rate": "2 Mbit/s", "start": "2027-03-02T08:00:00Z", "duration": "PT2H",
    }  # fmt: skip
    return {key: value for key, value in (usual | more).items() if value is not None}


def group(name: str, port: int, rate: str) -> dict[str, Any]:
    member = {
        "destination": f"lbnl-premium:{port}",
        "source": "anl-premium",
        "protocol": "udp",
        "service": "ip-premium",
    }
    window = {"start": "2027-03-03T08:00:00Z", "duration": "PT1H"}
    return {"name": name, "owner": "hep", **window, "members": [{"name": "line", "network": member | {"rate": rate}}]}


FILE = {
    "version": 1,
    "reservations": [
        reservation("cms", 5001, labels={"run": "7"}),
        reservation("both", 5002, direction="both", rate={"forward": "3 Mbit/s", "reverse": "1 Mbit/s"}),
        reservation("nightly", 5003, recurrence="FREQ=DAILY;COUNT=3", timezone="Europe/Zurich"),
        reservation("varying", 5004, start=None, duration=None, rate=None, schedule=[
            {"start": "2027-03-02T08:00:00Z", "duration": "1 h", "rate": "1 Mbit/s"},
            {"start": "2027-03-02T09:00:00Z", "duration": "1 h", "rate": "2 Mbit/s"},
        ]),
        reservation("bulk", 5005, rate=None, duration=None, volume="2 GB", by="2027-03-02T12:00:00Z"),
        reservation("rest", 5006, rate=None, share={"weight": 2, "at_least": "1 Mbit/s", "at_most": "4 Mbit/s"}),
        reservation("large", 5007, rate="12 Mbit/s"),
        reservation("theirs", 5008, owner="astro"),
        reservation("scavenger", 5009, rate=None, service="qbss"),
        reservation("mover", 5013, protocol="tcp", rate="1 Mbit/s", rtt="20 ms"),
    ],
    "together": [group("job", 6001, "1 Mbit/s"), group("grand", 6002, "11 Mbit/s")],
}  # fmt: skip
OTHERS = {
    "version": 1,
    "reservations": [reservation("cms", 5001, rate="3 Mbit/s"), reservation("new", 5010)],
}
TOO_MUCH = {"version": 1, "reservations": [reservation("small", 5011), reservation("toomuch", 5012, rate="90 Mbit/s")]}
TOGETHER = {"version": 1, "together": [group("job2", 6003, "1 Mbit/s"), group("job3", 6004, "2 Mbit/s")]}
FILES = {"FILE": FILE, "OTHERS": OTHERS, "TOOMUCH": TOO_MUCH, "TOGETHER": TOGETHER}

PAIR = "--from anl-premium --to lbnl-premium --volume 1GB"
#: What reads, in the form that people read.
TEXTS = (
    "status", "status hep/both", "status hep/nightly", "status hep/bulk", "status hep/rest", "status hep/job.line",
    "status --name cms", "status --groups", "status GROUP", "status hep/nobody", "status nowhere", "timeline --hours 72",
    "timeline --hours 72 --limit 2", "events --newest --limit 3", "events --reservation hep/cms", "events --long --limit 5",
    "endpoints", "services", "limits", "enquire --add hep/cms", "enquire ENDS", "drift --device anl-7507-9",
    "diff --device anl-7507-9", "render --at 2027-03-02T08:30:00Z --device anl-7507-1", "webhook list",
    "plan FILE --set all", "plan OTHERS --set all --diff --all", "plan TOOMUCH", "whoami", f"costs {PAIR}", "estimates",
    "audit", "audit nobody", "audit anl-esnet-ip-premium --report 2027-02",
    "usage --unused", "usage --by owner", "usage hep/cms", "policy why hep/cms",
    "explain hep/cms", "explain hep/scavenger",
    "costs --from anl-premium --to nowhere --volume 1G", "closest --file f=anl-premium --ce lbnl-premium",
    "gather anl-premium=1GB --ce lbnl-premium", "host tuning lbnl-premium", "host tuning nowhere",
)  # fmt: skip
#: What reads, as documents.
DOCUMENTS = (
    "status --all", "status hep/cms", "status --owner astro", "status --label run=7", "status --newest --limit 2",
    "status --since 2027-03-02T09:30:00Z --until 2027-03-02T10:00:00Z", "status --groups --all", "status hep/large",
    "status hep/gone", "status hep/varying",
    "timeline --since 2027-03-02T00:00:00Z --until 2027-03-04T00:00:00Z --owner hep",
    "timeline --hours 72 --device anl-7507-1", "timeline --hours 72 --reservation hep/cms", "events",
    "events --kind reservation.held", "events --after 3 --limit 2", "endpoints", "services", "limits --owner hep",
    "enquire ENDS", "enquire --add hep/cms", "render --at 2027-03-02T08:30:00Z", "webhook list",
    "webhook dead-letters HOOK", "plan OTHERS --set all", "plan TOOMUCH", f"costs {PAIR}", "estimates",
    "host tuning anl-premium", "explain hep/both", "explain hep/rest",
)  # fmt: skip
#: What changes something, in this order.
CHANGES = (
    "create --name c1 RATE:1 LINE:7001 HOURS", "create --name c1 RATE:1 LINE:7001 HOURS -f json",
    "create --name c2 RATE:90 LINE:7002 HOURS", "create --name c3 RATE:1 LINE:7003 HOURS --hold default -f json",
    "create --name c4 RATE:15 LINE:7004 --start 2027-03-09T08:00:00Z --duration PT1H",
    "create --name c5 --profile transactions RATE:1 --source anl-premium --destination lbnl-premium:7005 HOURS",
    "create --name c6 --profile test RATE:1 --source anl-premium --destination lbnl-premium:7006 HOURS",
    "extend hep/c3 --by 20min", "extend hep/c1 --by 20min", "commit hep/c3 --if-version 1", "commit hep/c3 -f json",
    "modify hep/c3 --rate 2Mbit/s", "modify hep/c3 --rate 90Mbit/s", "modify hep/c3 --duration PT3H -f json",
    "modify hep/bulk --remaining 1GB", "bind hep/c3 --source-port 4000 -f json", "bind hep/c3",
    "approve hep/large --yes -f json", "approve hep/large --yes", "reject hep/c4 --reason no -f json", "reject hep/c1",
    "cancel hep/c1 --yes --reason over", "cancel hep/c1 --yes", "cancel hep/c3 --yes -f json",
    "reserve TOGETHER", "reserve TOGETHER -f json", "approve GROUP --yes", "cancel GROUP --yes -f json",
    "delegate hep/both --to bob --may modify,bind --until 2027-03-02T09:00:00Z", "delegations", "delegations -f json",
    "delegate hep/both --to bob --may approve --until 2027-03-02T09:00:00Z", "withdraw hep/both bob -f json",
    "withdraw hep/both bob", "share give lhc cms --rate 5Mbit/s", "share withdraw lhc cms", "share list -f json",
    "hold anl-7507-1 --until 2027-03-02T12:00:00Z --reason card --yes", "hold anl-7507-9 --yes",
    "adopt anl-7507-9 --yes", "adopt --yes",
    "release anl-7507-2 --yes", "release anl-7507-1 --yes", "release anl-7507-1 --yes",
    "webhook add https://example.net/other -f json", "webhook add ftp://example.net/", "webhook redeliver HOOK",
    "webhook test nowhere", "webhook remove HOOK --yes", "apply OTHERS --set all --yes", "apply TOOMUCH --yes",
    f"record transfer {PAIR} --start 2027-03-01T11:00:00Z --end 2027-03-01T11:00:20Z",
    "record probe --from anl-premium --to lbnl-premium --tool iperf3 --rtt 2ms -f json",
    "record probe --from anl-premium --to lbnl-premium --tool iperf3", f"costs {PAIR}",
    "apply FILE --set all --yes -f json", "status --all -f json", "events --newest -f json",
)  # fmt: skip


def test_every_command_is_tried_or_works_here_only() -> None:
    known = {*commands()}
    tried = {name for case in (*TEXTS, *DOCUMENTS, *CHANGES) for name in known if f"{case} ".startswith(f"{name} ")}
    assert known - tried == {*HERE_ONLY} | OVER_HTTP_ONLY


def commands(command: Any = None, *path: str) -> Iterator[str]:
    """All commands without those that other distributions add."""
    command = command or typer.main.get_command(app)
    if not hasattr(command, "commands"):
        yield " ".join(path)
        return
    for name, one in command.commands.items():
        yield from commands(one, *path, name)


#: By which the two ways know the same account.
PROOF = re.compile(
    r"account \S+ \(uid \d+\) of the controller's host(?:; SUDO_USER says .*, which nobody checked)?|token \S+@cli"
)


@dataclass
class Side:
    """One of the two ways.

    Attributes:
        environment: of its commands. where: in its words, where it asks.
        handles: that it has shown, each with what stands for it here: they are drawn at random.
    """

    environment: dict[str, str]
    where: str
    handles: dict[str, str] = field(default_factory=dict)

    def known(self, done: Done) -> tuple[int, str, str]:
        """What a command answered, without what each of the two ways has of its own: a token has an owner, too."""
        errors = [line for line in done.err.splitlines() if not line.startswith("asking ")]
        out = done.out.replace(HINT, "").replace(self.where, "there").replace(f" for owner {WHO}", "")
        out = PROOF.sub("the proof", out)
        out = re.sub(r'("(?:answered_by|signing_secret)": )"[^"]*"', r'\1"…"', out)
        return done.code, self._named(out), self._named("\n".join(errors))

    def _named(self, text: str) -> str:
        return HANDLE.sub(lambda match: self.handles.setdefault(match[0], f"handle-{len(self.handles)}"), text)


@pytest.fixture
def at_noon() -> Iterator[None]:
    with stopped_at(NOW):
        yield


def fill(cli: Cli, folder: Path) -> None:
    for name, contents in FILES.items():
        (folder / f"{name}.json").write_text(json.dumps(contents))
    for case in (
        "apply FILE --set all --yes",
        "create --name held RATE:1 LINE:7100 HOURS --hold 10h",
        "create --name gone RATE:1 LINE:7101 HOURS",
        "cancel hep/gone --yes --reason a-trial",
        "modify hep/cms --rate 11Mbit/s",
        "webhook add https://example.net/hook --kinds reservation.held",
    ):
        done = cli(*in_full(case, folder))
        assert done.code == 0, (case, done)


@pytest.fixture
def both(
    cli: Cli, database_url: str, server_url: str, network: Network, tmp_path: Path, at_noon: None,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[str], tuple[Any, Any]]]:  # fmt: skip
    """Runs a command in both ways; what each answered."""
    monkeypatch.setenv("SLOTCAR_INVENTORY", str(GARNET))
    monkeypatch.setenv("SLOTCAR_APPROVAL_RATE", "10 Mbit/s")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    fill(cli, tmp_path)
    far_dir = tmp_path / "far"
    far_dir.mkdir()
    token = create_token(far_dir / "tokens.json", WHO, Role.OPERATOR, WHO, NOW)
    settings = Settings(state_dir=far_dir, inventory=GARNET, approval_rate_bps="10 Mbit/s")
    hook = cli("webhook", "list", "-f", "json").data[0]["id"]
    group_handle = cli("status", "--groups", "-f", "json").items[0]["handle"]
    running = Running()
    with ExitStack() as stack:
        url = stack.enter_context(copied(server_url, make_url(database_url).database or ""))
        ledger = stack.enter_context(open_ledger(url, far_dir))
        stack.callback(running.stop)
        address = str(running.start(ledger, network, settings).base_url).rstrip("/")
        here = Side({}, "at this machine's ledger")
        far = Side({"SLOTCAR_API": address, "SLOTCAR_TOKEN": token}, f"at {address}")

        def run(words: Sequence[str], side: Side) -> tuple[int, str, str]:
            with monkeypatch.context() as patched:
                if side is far:
                    patched.delenv("SLOTCAR_INVENTORY")
                    patched.delenv("SLOTCAR_DATABASE_URL")
                for name, value in side.environment.items():
                    patched.setenv(name, value)
                return side.known(cli(*words))

        def run_both(case: str) -> tuple[Any, Any]:
            words = in_full(case.replace("HOOK", hook).replace("GROUP", group_handle), tmp_path)
            return run(words, here), run(words, far)

        yield run_both


def in_full(case: str, folder: Path) -> list[str]:
    """The words of a case: what is in capitals stands for more."""
    case = re.sub(r"LINE:(\d+)", r"--destination lbnl-premium:\1 LINE", case)
    case = re.sub(r"RATE:(\d+)", r"--owner hep --rate \1Mbit/s", case)
    case = re.sub("|".join(FILES), lambda match: str(folder / f"{match[0]}.json"), case)
    for short, words in SHORT.items():
        case = case.replace(short, words)
    return case.split()


@pytest.mark.parametrize(
    "cases",
    [TEXTS, [f"{one} -f json" for one in DOCUMENTS], CHANGES],
    ids=["texts", "documents", "changes"],
)
def test_each_command_is_the_same_here_and_over_http(
    both: Callable[[str], tuple[Any, Any]], cases: Sequence[str]
) -> None:
    different = {}
    for case in cases:
        here, far = both(case)
        if case in NEAR:
            assert here[0] == far[0] == 1, case
            assert here[1] == far[1] == "", case
        elif here != far:
            different[case] = [*unified_diff(text_of(here), text_of(far), "here", "over HTTP", lineterm="", n=0)]
    assert different == {}


def text_of(answer: tuple[int, str, str]) -> list[str]:
    code, out, errors = answer
    return [f"exit code {code}", *out.splitlines(), *errors.splitlines()]


@pytest.fixture(scope="session")
def network() -> Network:
    return load_network(GARNET, None)
