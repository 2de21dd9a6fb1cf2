"""`slotcar policy` says what the policies of an inventory answer: to cases, of a reservation, and what others would."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slotcar.cli.app import app
from slotcar.cli.exit_codes import ExitCode
from tests.integration.cli.conftest import Cli
from tests.integration.cli.test_backup import Write
from tests.support.revision import LAB

CASES = """
- {who: ann, role: requester, owner: noc, verb: approve, expect: permit}
- {who: cms, role: requester, verb: cancel, of: atlas, expect: forbid}
"""
DUTY = '@id("duty") permit (principal in Group::"duty", action == Action::"approve", resource);'


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "site.yml").write_text("groups: {duty: [ann]}\n")
    (folder / "duty.cedar").write_text(DUTY)
    (tmp_path / "cases.yml").write_text(CASES)
    return tmp_path


def test_cases_are_answered_with_the_policy_or_the_reason(inventory: Path) -> None:
    arguments = ["policy", "test", str(inventory / "cases.yml"), "--format", "json", "--inventory"]
    done = CliRunner().invoke(app, [*arguments, str(inventory)])
    assert done.exit_code == 0, done.output
    first, second = json.loads(done.stdout)
    assert (first["answer"], first["reason"], first["line"]) == ("permit", "duty", 2)
    assert (second["answer"], second["as_expected"]) == ("forbid", True)
    assert second["reason"] == "cms changes reservations of owner cms only, not of atlas"


def test_a_case_that_is_otherwise_ends_with_an_error(inventory: Path) -> None:
    (inventory / "policies" / "site.yml").write_text("groups: {duty: [bob]}\n")
    done = CliRunner().invoke(app, ["policy", "test", str(inventory / "cases.yml"), "--inventory", str(inventory)])
    assert done.exit_code == 1
    assert "NO" in done.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "is no list of cases"),
        ("- {who: a, role: x, verb: hold, expect: permit}", "has the role x; roles are requester, operator, auditor"),
        ("- {who: a, role: operator, verb: hold, expect: maybe}", "expects maybe, which is neither permit nor forbid"),
        ("- {who: 5, role: operator, verb: hold, expect: permit}", "has what is no text"),
        ("- {who: a, verb: hold, expect: permit}", "has no role"),
        ("- {who: a, role: operator, verb: hold, expect: permit, on: b}", "has on, which is not known"),
        ("- {who: a, role: operator, verb: hold, of: b, expect: permit}", "leave `of` out"),
        ("- {who: a, role: requester, verb: cancel, expect: forbid}", "has no `of`: cancel is about an owner's"),
        ("- {who: a, role: requester, verb: reserve, of: a, expect: permit}", "`slotcar policy diff` and `why`"),
        ("- {who: a, role: requester, verb: cancel, of: b, may: cancel, expect: permit}", "needs `delegated_by`"),
        (
            "- {who: a, role: requester, verb: cancel, of: b, delegated_by: b, may: cancle, expect: permit}",
            "may cancle, which is no right to hand on",
        ),
    ],
)
def test_what_is_wrong_in_a_file_of_cases_is_named(inventory: Path, text: str, words: str) -> None:
    (inventory / "cases.yml").write_text(text)
    done = CliRunner().invoke(app, ["policy", "test", str(inventory / "cases.yml"), "--inventory", str(inventory)])
    assert done.exit_code != 0
    assert words in str(done.exception)


def test_why_and_what_other_policies_would_have_decided(cli: Cli, reservations: Write, tmp_path: Path) -> None:
    assert cli("apply", reservations(), "--yes").code == 0
    why = cli("policy", "why", "hep/cms")
    assert why.code == 0, why
    assert "@cli asked for it, which was permitted" in why.out
    assert "operators-do-everything (roles.cedar:3)" in why.out
    assert why.out.count("owner: 1 live, at most 20 Mbit/s at once") == 2
    other = tmp_path / "other"
    other.mkdir()
    same = cli("policy", "diff", other)
    assert (same.code, same.out) == (0, "Of 1 requests none would be decided otherwise.\n")
    (other / "slow.cedar").write_text(
        '@id("slow") @refusal("{who} may have 10 Mbit/s") forbid (principal, action == Action::"reserve", resource)'
        " when { context.totals.owner.peak_bps > 10000000 };"
    )
    differing = cli("policy", "diff", other)
    assert differing.code == ExitCode.DIFFERENT, differing
    assert "would be refused" in differing.out
    assert "@cli may have 10 Mbit/s (the policy slow); they allow up to 10 Mbit/s in its place" in " ".join(
        differing.out.split()
    )
    assert "is no folder of policies" in cli("policy", "diff", tmp_path / "none").err
    (other / "slow.cedar").write_text("permit;")
    assert "slow.cedar:1" in cli("policy", "diff", other).err


def test_a_request_that_was_refused_is_found_by_its_name(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = tmp_path / "lab"
    shutil.copytree(LAB, lab)
    (lab / "policies").mkdir()
    slow = (
        '@id("slow") forbid (principal, action == Action::"reserve", resource) when { context.rate_bps > 10000000 };'
    )
    (lab / "policies" / "slow.cedar").write_text(slow)
    monkeypatch.setenv("SLOTCAR_INVENTORY", str(lab))
    ends = ("--source", "anl-premium", "--destination", "lbnl-premium:5001", "--rate", "20 Mbit/s")
    answer = cli("create", "--name", "cms", "--owner", "hep", *ends, "--start", "now + 1 h", "--duration", "2 h")
    assert answer.code == ExitCode.REFUSED, answer
    why = cli("policy", "why", "hep/cms")
    assert why.code == 0, why
    assert "@cli asked for it, which was refused, by slow" in why.out
    assert "no reservation is named hep/atlas" in cli("policy", "why", "hep/atlas").err


def test_a_verb_that_is_none_is_no_refusal_as_expected(inventory: Path) -> None:
    (inventory / "cases.yml").write_text("- {who: ann, role: requester, verb: aprove, expect: forbid}\n")
    done = CliRunner().invoke(app, ["policy", "test", str(inventory / "cases.yml"), "--inventory", str(inventory)])
    assert done.exit_code != 0
    assert "neither a verb nor a right; perhaps approve" in str(done.exception or "") + done.output
