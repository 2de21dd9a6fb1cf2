"""The command line over HTTP, with a requester's token: the same verbs as on the controller's machine, and its rights."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotcar.book.rules.roles import Role
from slotcar.cli.place import choose_context
from slotcar.views.documents import reservation_document, reservation_of
from tests.integration.api.conftest import GARNET, START, As, Body, Serve, body
from tests.integration.api.test_access import group
from tests.support.command_line import Cli, Done, in_this_process

FLOW = (
    "--source",
    "anl-premium",
    "--destination",
    "lbnl-premium:5001",
    "--protocol",
    "udp",
    "--service",
    "ip-premium",
)
HOURS = ("--start", START.isoformat(), "--duration", "2 h")


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Cli:
    """`slotcar …` in a folder with nothing in it: no inventory, no ledger, no settings."""
    for name in ("SLOTCAR_API", "SLOTCAR_TOKEN", "SLOTCAR_DATABASE_URL", "SLOTCAR_INVENTORY", "SLOTCAR_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("SLOTCAR_STATE_DIR", str(tmp_path / "none"))
    monkeypatch.chdir(home)
    return in_this_process(monkeypatch, capfd)


def token_of(client: httpx.Client) -> str:
    return client.headers["Authorization"].removeprefix("Bearer ")


@pytest.fixture
def hep(as_: As, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> httpx.Client:
    """A requester, whose address and token the environment has."""
    client = as_("cms", Role.REQUESTER)
    monkeypatch.setenv("SLOTCAR_API", str(client.base_url))
    monkeypatch.setenv("SLOTCAR_TOKEN", token_of(client))
    return client


def test_a_requester_reserves_changes_and_gives_back(cli: Cli, hep: httpx.Client) -> None:
    assert cli("whoami", "-f", "json").data == hep.get("/v1/whoami").json()
    assert "cms: requester for owner hep at http://127.0.0.1:" in cli("whoami").out
    assert "lbnl-premium" in cli("endpoints").out
    assert "ip-premium" in cli("services").out
    assert cli("limits", "-f", "json").data["owner"] == "hep"
    enquiry = cli("enquire", *FLOW, *HOURS, "-f", "json").data
    assert {one["direction"] for one in enquiry["directions"]} == {"forward", "reverse"}
    held = cli("create", "--name", "cms", "--rate", "10 Mbit/s", *FLOW, *HOURS, "--hold", "default", "-f", "json")
    assert (held.code, held.data["state"], held.data["reservation"]["owner"]) == (0, "held", "hep")
    assert cli("extend", "hep/cms", "--by", "20 min", "--if-version", "1").code == 0
    assert "is at version" in cli("commit", "hep/cms", "--if-version", "1").err
    assert cli("commit", "hep/cms", "-f", "json").data["state"] == "committed"
    assert "5 Mbit/s" in cli("modify", "hep/cms", "--rate", "5 Mbit/s").out
    explained = cli("explain", "hep/cms", "-f", "json").data
    assert [one["value"] for one in explained["numbers"][:1]] == [5_000_000]
    assert explained["devices"] == []  # the routers' lines are for operators and auditors
    assert cli("bind", "hep/cms", "--source-port", "4000", "-f", "json").data["reservation"]["source"]["port"] == 4000
    assert cli("status", "hep/cms", "-f", "json").data == hep.get(f"/v1/reservations/{held.data['handle']}").json()
    assert "hep/cms" in cli("status", "--newest", "--name", "cms").out
    assert "+hep/cms" in cli("timeline").out
    kinds = [one["kind"] for one in cli("events", "--reservation", "hep/cms", "-f", "json").items]
    assert kinds[0] == "reservation.held"
    assert [one["kind"] for one in cli("events", "--newest", "-f", "json").items] == kinds[::-1]
    assert "can be added" in cli("enquire", "--add", "hep/cms").out
    added = cli("enquire", "--add", "hep/cms", "-f", "json").data
    assert added == hep.get(f"/v1/reservations/{held.data['handle']}/addable").json()
    assert "cancelled" in cli("cancel", "hep/cms", "--yes", "--reason", "done").out
    assert cli("status").out == "No reservations.\n"


def test_groups_are_listed_and_not_their_members(cli: Cli, hep: httpx.Client, as_: As) -> None:
    documents = [group(owner, name) for owner, name in (("hep", "first"), ("hep", "second"), ("astro", "theirs"))]
    operator = as_("ops", Role.OPERATOR)
    handles = [operator.post("/v1/groups", json=one).raise_for_status().json()["handle"] for one in documents]
    assert [one["handle"] for one in cli("status", "--groups", "--newest", "-f", "json").items] == [
        handles[1],
        handles[0],
    ]
    assert [one["handle"] for one in hep.get("/v1/groups", params={"limit": 1}).json()["items"]] == handles[:1]
    assert [one["handle"] for one in operator.get("/v1/groups").json()["items"]] == handles
    assert hep.get("/v1/groups", params={"owner": "astro"}).json() == {"items": [], "next": None}
    shown = cli("status", "--groups", "--limit", "1")
    assert shown.code == 0, shown.err
    out = shown.out
    assert out.splitlines()[-1] == "1 shown, the first; there are more: --limit 10 shows them."
    document = cli("status", "--groups", "--limit", "1", "-f", "json").data
    address = str(hep.base_url)
    assert (len(document["items"]), document["next"], document["answered_by"]) == (1, "--limit 10", address)
    assert ("hep/first" in out, "hep/second" in out, "ip-premium" in out) == (True, False, True), out
    cli("cancel", handles[0], "--yes")
    assert [one["handle"] for one in cli("status", "--groups", "-f", "json").items] == [handles[1]]
    assert len(cli("status", "--groups", "--all", "-f", "json").items) == 2
    assert cli("status", "--groups", "--name", "first").code == 2
    for handle in handles[1:]:
        operator.post(f"/v1/groups/{handle}/cancel").raise_for_status()


def test_groups_of_a_file_are_reserved_together_or_not_at_all(cli: Cli, hep: httpx.Client, tmp_path: Path) -> None:
    def reserve(*rates: str) -> Done:
        groups = [group("hep", f"group{number}", rate=rate) for number, rate in enumerate(rates)]
        for number, one in enumerate(groups):
            one["members"][0]["network"]["destination"] = f"lbnl-premium:{5001 + number}"
        (tmp_path / "groups.json").write_text(json.dumps({"version": 1, "together": groups}))
        return cli("reserve", tmp_path / "groups.json", "-f", "json")

    refused = reserve("1 Mbit/s", "900 Mbit/s")
    assert (refused.code, refused.out) == (3, "")
    assert "nothing of it was applied: hep/group1.line" in refused.err
    assert cli("status", "--groups", "--all", "-f", "json").items == []
    reserved = reserve("1 Mbit/s", "2 Mbit/s").data
    assert [one["name"] for one in reserved] == ["group0", "group1"]
    for one in reserved:
        hep.post(f"/v1/groups/{one['handle']}/cancel").raise_for_status()


def test_refusals_end_as_they_do_on_the_controllers_machine(cli: Cli, hep: httpx.Client, as_: As) -> None:
    refused = cli("create", "--name", "cms", "--rate", "900 Mbit/s", *FLOW, *HOURS)
    assert (refused.code, "the highest payload rate that fits" in refused.err) == (3, True)
    astro = as_("astro", Role.REQUESTER, "astro")
    astro.post("/v1/reservations", json=body("theirs", owner=None)).raise_for_status()
    for verb in (("status",), ("enquire", "--add")):
        theirs = cli(*verb, "astro/theirs")
        last = theirs.err.splitlines()[-1]
        assert (theirs.code, last) == (1, "there is no reservation astro/theirs; there is none yet")
    taken = cli("create", "--name", "cms", "--rate", "1 Mbit/s", *FLOW, *HOURS)
    assert (taken.code, "another owner's reservation" in taken.err) == (3, True)
    assert "only an operator or an auditor may" in cli("render").err
    for verb in (("diff",), ("drift",)):
        refused = cli(*verb)
        assert (refused.code, "only an operator or an auditor may" in refused.err) == (1, True), verb
    for verb in (("push", "--yes"), ("drift", "--repair"), ("policy", "diff", "policies")):
        refused = cli(*verb)
        assert (refused.code, "--context local" in refused.err) == (1, True), verb
    assert "has an inventory of its own" in cli("status", "-i", "somewhere").err


@pytest.mark.slow
def test_files_are_planned_and_applied(cli: Cli, hep: httpx.Client, tmp_path: Path) -> None:
    file = tmp_path / "run.yml"
    wanted = [body(), body("large", rate="900 Mbit/s", destination="lbnl-premium:5002")]
    file.write_text(json.dumps({"version": 1, "reservations": wanted}))
    refused = cli("plan", file)
    assert refused.code == 3
    assert "+ hep/cms" in refused.out
    assert "! hep/large: refused" in refused.out
    file.write_text(json.dumps({"version": 1, "defaults": {"owner": "hep"}, "reservations": [body(owner=None)]}))
    planned = cli("plan", file, "-o", tmp_path / "plan.json")
    assert (planned.code, "1 to create" in planned.out) == (0, True)
    assert "1 created" in cli("apply", tmp_path / "plan.json").out
    file.write_text(json.dumps({"version": 1, "reservations": [body("other", destination="lbnl-premium:5009")]}))
    changed = cli("apply", file, "--yes", "--set", "run.yml")
    assert (changed.code, "1 created" in changed.out) == (0, True), changed
    wrong = tmp_path / "wrong.yml"
    wrong.write_text("version: 1\nreservations:\n- name: cms\n  rate: 10 mb\n")
    assert f"{wrong}:4: reservations[0].rate" in cli("plan", wrong).err


@pytest.mark.slow
def test_an_operator_sees_devices_and_webhooks(
    cli: Cli, serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SLOTCAR_API", str(serve(approval_rate_bps="20 Mbit/s").base_url))
    file = tmp_path / "run.yml"
    file.write_text(json.dumps({"version": 1, "reservations": [body(rate="21 Mbit/s"), body("b", owner="astro",
                    destination="lbnl-premium:5002")]}))  # fmt: skip
    shown = cli("plan", file)
    assert "anl-7507-1" in shown.out, "an operator's plan has the devices' differences"
    assert cli("apply", file, "--yes").code == 0
    assert cli("approve", "hep/cms", "--yes", "-f", "json").data["state"] == "committed"
    assert "# anl-7507-1 (cisco-car)" in cli("render", "--at", START.isoformat(), "-d", "anl-7507-1").out
    unread = cli("diff", "-d", "anl-7507-1", "-f", "json")
    assert (unread.code, unread.data["different"], unread.data["equal"]) == (1, [], [])
    assert [one["device"] for one in unread.data["failed"]] == ["anl-7507-1"], "nobody answers at its address"
    assert "anl-7507-1  unknown" in cli("drift", "-d", "anl-7507-1").out
    nowhere = cli("diff", "-d", "anl-7507-9")
    assert (nowhere.code, "did you mean `anl-7507-" in nowhere.err) == (1, True), nowhere.err
    hook = cli("webhook", "add", "https://example.net/", "-f", "json").data
    assert hook["id"] in cli("webhook", "list").out
    assert cli("webhook", "remove", hook["id"], "--yes").out == f"{hook['id']} gets nothing any more.\n"


def test_an_operator_holds_and_releases_routers(
    cli: Cli, hep: httpx.Client, as_: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    for verb in ("hold", "release"):
        assert "only an operator or an auditor may" in cli(verb, "anl-7507-1", "--yes").err
    operator = as_("ops", Role.OPERATOR)
    monkeypatch.setenv("SLOTCAR_TOKEN", token_of(operator))
    unknown = cli("hold", "anl-7507-1", "anl-7507-9", "--yes")
    assert (unknown.code, "did you mean `anl-7507-" in unknown.err) == (1, True), unknown
    assert "say --yes" in cli("hold", "anl-7507-1").err
    assert operator.get("/v1/holds").json()["items"] == []
    held = cli("hold", "anl-7507-1", "--until", "now + 2 h", "--reason", "a new line card", "--yes")
    assert (held.code, "a new line card; held by ops until 20" in held.out) == (0, True), held
    others = cli("release", "anl-7507-1", "anl-7507-2", "--yes")
    assert (others.code, "anl-7507-2 is not held; nothing was done" in others.err) == (1, True), others
    assert [one["device"] for one in operator.get("/v1/holds").json()["items"]] == ["anl-7507-1"]
    released = cli("release", "anl-7507-1", "--yes")
    assert (released.code, released.out.splitlines()[-1]) == (0, "Released: anl-7507-1."), released
    assert operator.get("/v1/holds").json()["items"] == []


@pytest.mark.slow
def test_what_is_done_on_this_machine_says_so(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where the verbs go, while another controller is named."""
    monkeypatch.setenv("SLOTCAR_INVENTORY", str(GARNET))
    note = "note: SLOTCAR_API names the controller at http://127.0.0.1:9; this is done with this machine's "
    for verb, what in (
        (("rollback",), "archive and routers"),
        (("rollback", "--to", "baseline", "--list"), "archive and routers"),
        (("token", "revoke", "nobody"), "tokens"),
        (("db", "stop"), "database"),
    ):
        assert note not in cli(*verb).err, verb
        monkeypatch.setenv("SLOTCAR_API", "http://127.0.0.1:9")
        assert f"{note}{what}\n" in cli(*verb).err, verb
        monkeypatch.delenv("SLOTCAR_API")


def test_reservations_are_the_same_there_and_back(serve: Serve) -> None:
    api = serve(approval_rate_bps="20 Mbit/s")
    api.post("/v1/reservations", json=body(labels={"run": "7"}, direction="both")).raise_for_status()
    later = (START + timedelta(hours=1)).isoformat()
    schedule = [{"start": START.isoformat(), "end": later, "rate": "1 Mbit/s"},
                {"start": later, "duration": "1 h", "rate": "2 Mbit/s"}]  # fmt: skip
    flow = {"rate": None, "start": None, "duration": None, "destination": "lbnl-premium:5002"}
    varying: Body = body("varying", **flow) | {"schedule": schedule}
    api.post("/v1/reservations", json=varying).raise_for_status()
    entry = api.get("/v1/reservations", params={"name": "cms"}).json()["items"][0]
    raised = {"rate": "21 Mbit/s"}
    api.patch(f"/v1/reservations/{entry['handle']}", json=raised, headers={"If-Match": "*"}).raise_for_status()
    listed = api.get("/v1/reservations").json()["items"]
    assert any(one["proposed"] for one in listed)
    assert [reservation_document(reservation_of(one["reservation"])) for one in listed] == [
        one["reservation"] for one in listed
    ]


def test_contexts_are_added_used_and_forgotten(
    cli: Cli, as_: As, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = as_("cms", Role.REQUESTER)
    (tmp_path / "token").write_text(token_of(one) + "\n")
    api: tuple[Any, ...] = ("--api", str(one.base_url), "--token-file", tmp_path / "token")
    assert cli("context", "list").out.split() == [
        "context", "controller", "times", "in", "*", "local", "this", "machine's", "ledger"
    ]  # fmt: skip
    assert "and in use" in cli("context", "add", "site", *api).out
    kept = tmp_path / "home" / ".config" / "slotcar"
    assert [(kept / name).stat().st_mode & 0o777 for name in ("contexts.json", "tokens/site")] == [0o600, 0o600]
    assert "cms: requester" in cli("whoami").out
    assert cli("whoami").err == f"asking the controller at {one.base_url} (context site)\n"
    assert cli("context", "timezone", "site", "Europe/Nowhere").code == 2
    assert cli("context", "timezone", "site", "Asia/Tokyo").code == 0
    assert "Asia/Tokyo" in cli("context", "list").out
    created = cli("create", "--name", "cms", "--owner", "hep", "--rate", "1 Mbit/s", *FLOW, *HOURS)
    assert "+09:00 to " in created.out, created
    assert "operator at this machine's ledger" in cli("--context", "local", "whoami").out
    assert cli("context", "use", "local").code == 0
    assert cli("context", "show").out == "this machine's ledger\n"
    assert "cms: requester" in cli("--context", "site", "whoami").out
    monkeypatch.setenv("SLOTCAR_CONTEXT", "site")
    assert cli("context", "show").out == f"{one.base_url} (site)\n"
    assert cli("context", "add", "local", *api).code == 1
    assert "those are site" in cli("context", "use", "nowhere").err
    assert cli("context", "remove", "site", "--yes").code == 0
    assert "there is no context site" in cli("whoami").err
    assert not (kept / "tokens" / "site").exists()


@pytest.fixture(autouse=True)
def no_context_stays() -> Any:
    yield
    choose_context(None)
