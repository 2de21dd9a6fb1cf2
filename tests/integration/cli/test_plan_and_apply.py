"""`plan` and `apply` as an operator and a pipeline use them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from slotcar.cli.exit_codes import ExitCode
from tests.support.command_line import Cli, terminal

Write = Callable[..., Path]


def names(cli: Cli) -> list[str]:
    return [entry["reservation"]["name"] for entry in cli("status", "--format", "json").items]


def test_a_plan_needs_no_database_and_shows_each_routers_diff(offline: Cli, reservations: Write) -> None:
    file = reservations()
    done = offline("plan", file, "--offline")
    assert done.code == 0
    assert "+ hep/cms" in done.out
    assert "at 2027-03-01T21:00:00Z" in done.out
    assert "at 2027-03-01T23:00:00Z" in done.out
    for router in ("anl-edge", "lbnl-edge"):
        assert router in done.out
    assert " lines come, " in done.out
    assert "dst_port 5001" not in done.out
    assert "1 to create" in done.out.splitlines()[-1]
    assert "dst_port 5001" in offline("plan", file, "--offline", "--diff").out
    plan = offline("plan", file, "--offline", "--commands", "--format", "json").data
    devices = [device for boundary in plan["boundaries"] for device in boundary["devices"]]
    assert all(device["commands"] for device in devices)
    assert any("dst_port 5001" in line for line in devices[1]["commands"])


@pytest.mark.slow
def test_a_recurrence_is_told_once_and_apply_speaks_json(cli: Cli, reservations: Write) -> None:
    file = reservations({"recurrence": "FREQ=DAILY;COUNT=3"})
    shown = cli("plan", file).out
    assert shown.count("and 2 more with the same changes") == 2
    assert "(+hep/cms begins, 1 of 3)" in shown
    done = cli("apply", file, "--yes", "--format", "json")
    assert (done.data["created"], [entry["state"] for entry in done.data["entries"]]) == (1, ["committed"])
    assert cli("apply", file, "--yes", "--format", "json").data == {
        "created": 0, "changed": 0, "cancelled": 0, "entries": [],
    }  # fmt: skip
    explained = cli("explain", "hep/cms", "--format", "json").data
    assert {one["what"] for one in explained["numbers"]} == {"payload, forward", "policer", "burst", "link"}


def test_apply_then_the_same_again_changes_nothing(cli: Cli, reservations: Write) -> None:
    file = reservations({}, {"name": "atlas", "rate": "4 Mbit/s"})
    assert "Applied: 2 created, 0 changed, 0 cancelled." in cli("apply", file, "--yes").out
    again = cli("apply", file, "--yes")
    assert again.code == 0
    assert "Applied" not in again.out
    assert len(cli("status", "--format", "json").items) == 2


def test_what_changed_in_the_file_changes_and_what_left_it_is_cancelled(cli: Cli, reservations: Write) -> None:
    cli("apply", reservations({}, {"name": "atlas", "rate": "4 Mbit/s"}), "--yes")
    changed = reservations({"rate": "21 Mbit/s"})
    plan = cli("plan", changed)
    assert "~ hep/cms" in plan.out
    assert "rate: 20 Mbit/s -> 21 Mbit/s" in plan.out
    assert "- hep/atlas" in plan.out
    assert "Applied: 0 created, 1 changed, 1 cancelled." in cli("apply", changed, "--yes").out
    assert names(cli) == ["cms"]


def test_a_night_that_a_change_of_clocks_takes_from_a_recurrence_is_said(cli: Cli, reservations: Write) -> None:
    note = "no slot on 2027-03-28: the clocks of Europe/Zurich leave 02:30 out that day"
    file = reservations(
        {"start": "2027-03-27T02:30:00+01:00", "duration": "PT10M", "recurrence": "FREQ=DAILY;COUNT=3",
         "timezone": "Europe/Zurich"}
    )  # fmt: skip
    planned = cli("plan", file)
    assert f"({note})" in planned.out
    (step,) = cli("plan", file, "--format", "json").data["steps"]
    assert step["note"] == note
    assert note in cli("plan", file, "--format", "markdown").out
    assert f"committed; {note}" in cli("apply", file, "--yes").out
    assert f"  note     {note}" in cli("status", "hep/cms").out
    (kept,) = cli("apply", reservations({"name": "usual"}), "--set", "another", "--yes", "-f", "json").data["entries"]
    assert "note" not in cli("status", kept["handle"]).out


def test_a_local_apply_says_what_is_on_the_routers_of_each_slot(cli: Cli, reservations: Write) -> None:
    """As the API does, and `status`."""
    (entry,) = cli("apply", reservations(), "--yes", "--format", "json").data["entries"]
    assert entry["slot"]["state"] == "planned"
    assert entry == cli("status", "hep/cms", "--format", "json").data


def test_nothing_is_applied_if_one_is_refused_and_the_refusal_has_numbers(cli: Cli, reservations: Write) -> None:
    file = reservations({}, {"name": "greedy", "rate": "70 Mbit/s"})
    for command in ("plan", "apply"):
        done = cli(command, file)
        assert done.code == 3
        assert "! hep/greedy" in done.out
        assert "free" in done.out
        assert "Mbit/s" in done.out
    assert cli("status", "--format", "json").items == []


def test_a_reservation_file_that_could_be_a_plan_is_read_once(
    cli: Cli, reservations: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = reservations(name="run.json")
    opened: list[str] = []

    def counted(path: Any, *how: Any, **more: Any) -> int:
        opened.append(os.fspath(path))
        return os_open(path, *how, **more)

    os_open = os.open
    monkeypatch.setattr(os, "open", counted)
    assert "1 created" in cli("apply", file, "--yes").out
    assert opened.count(str(file)) == 1


def test_a_rate_each_way_is_one_text_on_the_command_line(cli: Cli) -> None:
    flow = (
        "create", "--name", "x", "--owner", "hep", "--source", "anl-premium", "--destination", "lbnl-premium:5001",
        "--protocol", "udp", "--start", "2027-03-01T22:00Z", "--duration", "1 h", "--format", "json",
    )  # fmt: skip
    done = cli(*flow, "--rate", "forward=20 Mbit/s, reverse=1 Mbit/s")
    assert done.code == 0, done.err
    reservation = json.loads(done.out)["reservation"]
    assert reservation["direction"] == "both"
    assert [(one["forward_bps"], one["reverse_bps"]) for one in reservation["slots"]] == [(20_000_000, 1_000_000)]
    wrong = cli(*flow, "--rate", "forward=20 Mbit/s, 1 Mbit/s")
    assert wrong.code != 0
    assert "is no rate each way" in wrong.err
    assert "say `forward=20 Mbit/s, reverse=1 Mbit/s`" in wrong.err


@pytest.mark.slow
def test_a_refusal_shows_the_tightest_and_all_where_that_is_asked_for(cli: Cli, reservations: Write) -> None:
    file = reservations({"rate": "70 Mbit/s"})
    once = (
        "create", "--name", "x", "--owner", "hep", "--source", "anl-premium", "--destination", "lbnl-premium:5001",
        "--protocol", "udp", "--rate", "70 Mbit/s", "--start", "2027-03-01T22:00Z", "--duration", "1 h",
    )  # fmt: skip
    for command in (("plan", file), once):
        short, whole = cli(*command), cli(*command, "--verbose")
        assert (short.code, whole.code) == (3, 3)
        lines, every = ((one.out + one.err).splitlines() for one in (short, whole))
        assert sum("free of" in line for line in lines) == 1
        (hint,) = (line for line in lines if "--verbose" in line)
        left = sum("free of" in line for line in every) - 1
        assert left > 1
        assert f"and {left} more; --verbose shows all" in hint
        assert not any("--verbose" in line for line in every)
    data = json.loads(cli("plan", file, "--format", "json").out)
    assert len(data["steps"][0]["refusal"]["shortfalls"]) == left + 1


def test_a_written_plan_is_applied_exactly(cli: Cli, reservations: Write, tmp_path: Path) -> None:
    file, plan = reservations(), tmp_path / "plan.json"
    assert cli("plan", file, "-o", plan).code == 0
    file.unlink()
    assert "Applied: 1 created" in cli("apply", plan).out


def test_a_plan_outlives_a_strangers_change_and_not_one_of_its_own(
    cli: Cli, reservations: Write, tmp_path: Path
) -> None:
    plan, other = tmp_path / "plan.json", {"owner": "astro", "name": "other", "destination": "lbnl-premium:5002"}
    cli("plan", reservations(), "-o", plan)
    cli("apply", reservations(other, name="other.yml"), "--yes")
    assert "Applied: 1 created" in cli("apply", plan).out
    done = cli("apply", plan)
    assert done.code == 1
    assert "the plan is stale: hep/cms is there by now" in done.err
    assert sorted(names(cli)) == ["cms", "other"]


def test_a_plan_file_that_was_edited_to_ask_for_more_is_admitted_anew(
    cli: Cli, reservations: Write, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    cli("plan", reservations(), "-o", plan)
    plan.write_text(plan.read_text().replace("20000000", "90000000"))
    done = cli("apply", plan)
    assert done.code == 3
    assert "hep/cms" in done.err
    assert "free of" in done.err
    assert cli("status", "--format", "json").items == []


@pytest.mark.in_short("json-loads")
@pytest.mark.parametrize(("form", "load"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_data_goes_to_standard_output_alone(
    cli: Cli, reservations: Write, form: str, load: Callable[[str], Any]
) -> None:
    cli("apply", reservations(), "--yes")
    for command in (
        ["plan", reservations({"rate": "5 Mbit/s"})], ["status"], ["status", "hep/cms"], ["events"],
        ["timeline", "--hours", "8000"], ["render", "--device", "anl-edge"],
        ["enquire", "-s", "anl-premium", "-t", "lbnl-premium", "--duration", "1 h"],
    ):  # fmt: skip
        done = cli(*command, "--format", form)
        assert done.code == 0, done.err
        assert load(done.out), command


@pytest.mark.slow
def test_the_rendered_configuration_is_the_plans(offline: Cli, reservations: Write) -> None:
    file = reservations()
    planned = offline("plan", file, "--offline", "--format", "json").data
    lines = {
        (device["device"], line[1:])
        for boundary in planned["boundaries"][:1]
        for device in boundary["devices"]
        for line in device["diff"]
        if line.startswith("+")
    }
    assert lines
    for device, line in lines:
        rendered = offline("render", file, "--at", "2027-03-01T21:00:00Z", "--device", device, "--format", "json").data
        assert line in rendered[0]["lines"]


def test_files_are_applied_only_when_somebody_said_so(
    cli: Cli, reservations: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard input is no terminal here; then it is one."""
    file = reservations()
    done = cli("apply", file)
    assert (done.code, names(cli)) == (2, []), done
    assert "--yes" in done.err
    with terminal(monkeypatch, "n\n"):
        assert cli("apply", file).code == ExitCode.DECLINED
    assert names(cli) == []
    with terminal(monkeypatch, "y\n"):
        assert cli("apply", file).code == 0
    assert names(cli) == ["cms"]
    assert cli("cancel", "hep/cms").code == 2
    with terminal(monkeypatch, "n\n"):
        assert cli("cancel", "hep/cms").code == ExitCode.DECLINED
    assert names(cli) == ["cms"]
    assert cli("cancel", "hep/cms", "--yes").code == 0
    assert names(cli) == []


@pytest.mark.in_short("arguments0")
@pytest.mark.parametrize(
    "arguments",
    [("events", "--device", "anl-egde"), ("timeline", "--device", "anl-egde"), ("diff", "--device", "anl-egde")],
)
def test_an_unknown_device_is_told_with_the_name_that_is_near(cli: Cli, arguments: tuple[str, ...]) -> None:
    done = cli(*arguments)
    assert done.code == 1, done
    assert "no managed device anl-egde; did you mean `anl-edge`?" in done.err
