"""An honest mistake in every input gets its sentence and its exit code, and no traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from slotcar.cli.following import Troubles
from tests.integration.cli.conftest import ROOT
from tests.support.command_line import Cli

Write = Callable[..., Path]
FLOW = ("-s", "anl-premium", "-t", "lbnl-premium", "-n", "cms", "--owner", "hep")
TO_GROUP = ("-s", "anl-premium", "-t", "239.1.2.3:5001", "--receivers", "lbnl-premium", "--duration", "1 h")


def says(done: object, code: int, *words: str) -> None:
    assert done.code == code, done  # type: ignore[attr-defined]
    for word in words:
        assert word in done.err, done  # type: ignore[attr-defined]
    assert "Traceback" not in done.err  # type: ignore[attr-defined]
    assert "fault in Slotcar" not in done.err  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"rate": "36 mb"}, ("reservations[0].rate", "36 mb", "Mbit/s")),
        ({"rate": 36}, ("reservations[0].rate", "has no unit")),
        ({"rate": None}, ("rate", "missing")),
        ({"start": "2027-03-01T22:00:00"}, ("start", "zone")),
        ({"start": "2020-03-01T22:00:00Z"}, ("start", "past")),
        ({"source": "anl-premum"}, ("anl-premum", "did you mean anl-premium")),
        ({"service": "gold"}, ("service", "gold", "ip-premium")),
        ({"duration": None}, ("end", "duration")),
        ({"bandwidth": "3 Mbit/s"}, ("bandwidth",)),
        ({"destination": "lbnl-premium:99999"}, ("destination", "99999")),
    ],
    ids=[
        "wrong-unit", "no-unit", "missing-key", "no-zone", "past-date", "unknown-host", "unknown-service",
        "no-end", "unknown-key", "port-out-of-range",
    ],
)  # fmt: skip
def test_a_mistake_in_a_reservation_file(
    offline: Cli, reservations: Write, entry: dict[str, object], words: tuple[str, ...]
) -> None:
    file = reservations(entry)
    says(offline("plan", file, "--offline"), 1, str(file), *words)


def test_unknown_ends_and_ways_come_in_the_pass_of_all_other_mistakes(offline: Cli, reservations: Write) -> None:
    ends = {"source": "anl-premum", "destination": "10.99.0.1", "via": ["nowhere"]}
    done = offline("plan", reservations({"rate": "20 mb", **ends}, {"name": "atlas", **ends}), "--offline")
    assert done.code == 1
    for words, times in (
        ("there is no end system anl-premum; did you mean anl-premium", 2),
        ("10.99.0.1 is behind no edge interface of this network", 2),
        ("via nowhere, and there is no such router", 2),
        ("rate: is not a rate", 1),
    ):
        assert done.err.count(words) == times, done.err


def test_all_mistakes_of_all_files_come_in_one_pass(offline: Cli, reservations: Write, tmp_path: Path) -> None:
    reservations({"rate": "36 mb"}, {"name": "other", "service": "gold"}, name="a.yml")
    reservations({"name": "third", "start": "yesterday"}, name="b.yml")
    done = offline("plan", tmp_path, "--offline")
    says(done, 1, "a.yml", "36 mb", "gold", "b.yml", "yesterday")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("enquire", *FLOW[:4]), ("duration",)),
        (("enquire", *FLOW[:4], "--duration", "1 fortnight"), ("fortnight",)),
        (("enquire", "-s", "anl-premium", "-t", "nowhere", "--duration", "1 h"), ("nowhere",)),
        (("enquire", "-s", "anl-premium", "--duration", "1 h"), ("--destination", "--add")),
        (("enquire", *TO_GROUP, "--protocol", "tcp"), ("multicast group", "udp")),
        (("enquire", *TO_GROUP, "--direction", "both"), ("multicast group", "forward")),
        (("enquire", "--add", "hep/nothing"), ("hep/nothing",)),
        (("enquire", "--add", "hep/nothing", "--duration", "1 h"), ("--duration", "cannot be combined with --add")),
        (("enquire", "--add", "hep/nothing", "--offline"), ("--offline", "empty ledger")),
        (("create", *FLOW, "-r", "10 Mb", "--duration", "1 h"), ("10 Mb", "Mbit/s")),
        (("create", *FLOW, "-r", "10 Mbit/s", "--duration", "1 h", "--hold", "soon"), ("soon",)),
        (("status", "hep/nothing"), ("hep/nothing",)),
        (("modify", "hep/nothing", "-r", "1 Mbit/s"), ("hep/nothing",)),
        (("cancel", "0000"), ("0000",)),
        (("render", "--device", "anl-egde"), ("anl-egde", "anl-edge")),
        (("render", "--at", "tomorrowish"), ("tomorrowish",)),
        (("events", "--reservation", "hep/nothing"), ("hep/nothing",)),
        (("apply", "no-such-file.yml"), ("no-such-file.yml",)),
    ],
    ids=lambda value: " ".join(value[:2]) if len(value) > 1 else "",
)
def test_a_mistake_in_an_argument(cli: Cli, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    done = cli(*arguments)
    assert done.code in (1, 2)
    says(done, done.code, *words)


def test_an_unknown_reservation_suggests_those_that_are_near(cli: Cli, reservations: Write) -> None:
    """What is near for each way to write a name: `tests/unit/views/test_naming.py`."""
    assert cli("apply", reservations(), "--yes").code == 0
    for verb, which in (("cancel", "nope"), ("status", "cns"), ("modify", "hep/csm"), ("approve", "r-zz")):
        near = "did you mean hep/cms (r-" if which in ("cns", "hep/csm") else "there is hep/cms"
        kind = "is named" if "/" in which else "has the handle"
        says(cli(verb, which), 1, f"no reservation {kind} {which}; {near}")


@pytest.mark.parametrize(
    "verb", ["timeline", "render", "events", "diff", "drift", "push", "rollback --to baseline", "rollback --list"]
)
def test_an_unknown_device_is_an_error_that_names_those_there_are(cli: Cli, verb: str) -> None:
    says(cli(*verb.split(), "--device", "nosuch"), 1, "no managed device nosuch; there is anl-border, anl-edge")


@pytest.mark.parametrize(
    "arguments",
    [("plan",), ("bogus",), ("enquire", "--sorce", "a"), ("schema", "rservation"), ("status", "--limit", "0")],
    ids=lambda arguments: " ".join(arguments),
)
def test_a_wrong_use_ends_with_2(offline: Cli, arguments: tuple[str, ...]) -> None:
    says(offline(*arguments), 2)


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("SLOTCAR_INVENTORY", "", ("no inventory", "--inventory")),
        ("SLOTCAR_INVENTORY", "/nowhere/inventory", ("/nowhere/inventory",)),
        ("SLOTCAR_DATABASE_URL", "mysql://root@127.0.0.1/x", ("SLOTCAR_DATABASE_URL", "PostgreSQL")),
        ("SLOTCAR_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/x", ("127.0.0.1", "SLOTCAR_DATABASE_URL")),
        ("SLOTCAR_HOLD", "15", ("SLOTCAR_HOLD", "15")),
        ("SLOTCAR_LISTEN_PORT", "http", ("SLOTCAR_LISTEN_PORT",)),
        ("SLOTCAR_DATABASE_PASSWORD_FILE", "/nowhere/password", ("SLOTCAR_DATABASE_PASSWORD_FILE",)),
    ],
    ids=["no-inventory", "no-such-inventory", "mysql", "no-database", "no-unit", "no-port", "no-password-file"],
)
def test_a_mistake_in_a_setting(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv(variable, value)
    says(cli("status", "--all"), 1, *words)


def test_a_database_without_tables_says_what_makes_them(
    offline: Cli, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOTCAR_DATABASE_URL", empty_database_url)
    says(offline("status"), 1, "slotcar db upgrade")


def test_a_state_folder_that_cannot_be_written(offline: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SLOTCAR_STATE_DIR", str(tmp_path / "file" / "state"))
    says(offline("status"), 1, str(tmp_path / "file"))


def test_a_full_disk_under_the_plan_file(offline: Cli, reservations: Write) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    says(offline("plan", reservations(), "--offline", "-o", "/dev/full"), 1, "/dev/full", "No space left")


def test_a_program_that_reads_only_the_first_lines_is_no_error(offline: Cli) -> None:
    assert offline("schema", "reservation").code == 0


@pytest.mark.parametrize("name", ["garnet", "lab", "datagrid"])
def test_each_inventory_answers_what_it_has_room_for(offline: Cli, name: str) -> None:
    ends = {"garnet": ("anl-premium", "lbnl-premium"), "lab": ("anl-premium", "lbnl-premium"),
            "datagrid": ("cern-se", "ral-se")}[name]  # fmt: skip
    done = offline(
        "enquire", "-s", ends[0], "-t", ends[1], "--duration", "2 h", "--offline", "-i", ROOT / "inventories" / name,
        "--format", "json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert [one["direction"] for one in done.data["directions"]] == ["forward", "reverse"]
    assert all(one["highest_rate_bps"] > 1_000_000 for one in done.data["directions"])


def test_the_tab_key_offers_what_lives(cli: Cli, reservations: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    from slotcar.cli import completing

    monkeypatch.setattr(completing, "PATIENCE_S", 60.0)
    assert cli("apply", reservations(), "--yes").code == 0
    ((name, beside),) = completing.reservations("hep/")
    assert (name, beside.split()[0]) == ("hep/cms", "committed")
    assert completing.reservations("r-") == [(beside.split()[1], "hep/cms")]


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("SLOTCAR_PATHS", "many", ("SLOTCAR_PATHS: is not a whole number", "many")),
        ("SLOTCAR_INVENTORY", "nowhere", ("nowhere: there is no such inventory", "SLOTCAR_INVENTORY")),
        ("SLOTCAR_INVENTORY", "/etc/hosts", ("invalid structure, it should be a dictionary; ", "inventories/lab")),
    ],
)
def test_a_mistake_in_a_setting_says_what_would_be_right(
    offline: Cli,
    reservations: Write,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    words: tuple[str, ...],
) -> None:
    monkeypatch.setenv(variable, value)
    done = offline("plan", reservations(), "--offline")
    says(done, 1, *words)
    assert "<class" not in done.err


@pytest.mark.parametrize(
    ("folder", "words"), [("/proc/slotcar", "cannot be written"), ("/etc/hosts", "is not a folder")]
)
def test_a_state_folder_that_cannot_be_is_said_with_the_setting(
    offline: Cli, monkeypatch: pytest.MonkeyPatch, folder: str, words: str
) -> None:
    monkeypatch.setenv("SLOTCAR_STATE_DIR", folder)
    says(offline("status"), 1, folder, words, "SLOTCAR_STATE_DIR")


def test_a_database_that_does_not_answer_is_said_once(offline: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOTCAR_DATABASE_URL", "postgresql://127.0.0.1:9/none")
    done = offline("status")
    says(done, 1, "the ledger's database does not answer", "is SLOTCAR_DATABASE_URL right, and does the server run?")
    assert "Is the server running" not in done.err


def test_a_router_that_is_dead_is_said_in_few_words_with_what_can_be_done(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At ports of its own: the lab's routers may be up for another test."""
    monkeypatch.setenv("SLOTCAR_LAB_PORT_BASE", "1")
    done = cli("push", "--device", "anl-edge", "--yes")
    says(done, 1, "anl-edge: it cannot be reached over ssh: connect to host 127.0.0.1", "nothing was pushed")
    assert "Task failed" not in done.err


def test_a_follower_says_each_trouble_once_until_something_comes(capsys: pytest.CaptureFixture[str]) -> None:
    troubles = Troubles()
    for _ in range(3):
        troubles.tell("the controller does not answer; trying again")
    assert capsys.readouterr().err.count("trying again") == 1
    troubles.over()
    troubles.tell("the controller does not answer; trying again")
    assert capsys.readouterr().err.count("trying again") == 1


@pytest.mark.parametrize(
    "command",
    [
        ("hold", "anl-edge", "--yes", "--reason"),
        ("reject", "hep/cms", "--reason"),
        ("create", *FLOW, "--rate", "1 Mbit/s", "--start", "now + 1 h", "--duration", "1 h", "--idempotency-key"),
        ("create", *FLOW, "--rate", "1 Mbit/s", "--duration", "1 h", "--start"),
    ],
    ids=["hold", "reject", "key", "start"],
)
def test_a_text_that_is_too_long(cli: Cli, command: tuple[str, ...]) -> None:
    assert cli("create", *FLOW, "--rate", "1 Mbit/s", "--start", "now + 1 h", "--duration", "1 h").code == 0
    done = cli(*command, "Qz7" * 1000)
    says(done, 1, "at most ")
    assert "Qz7" * 34 not in done.err
