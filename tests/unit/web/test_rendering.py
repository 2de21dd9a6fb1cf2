"""Templates: every value escaped and visible, every name known; what is vendored is what its makers published."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path

import jinja2
import pytest

from slotcar.admission.resource_id import KINDS, ResourceId
from slotcar.base.timebase import Window
from slotcar.book.rules.roles import Caller, Role
from slotcar.managers.hosts import CPU, STORAGE
from slotcar.views.usage import UsageRow, UsageTable
from slotcar.web.assets import STATIC, address_of
from slotcar.web.navigation import links_for
from slotcar.web.rendering import FOLDER, environment
from slotcar.web.times import Clock
from slotcar.web.usage import csv_of

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
TEMPLATES = sorted(FOLDER.rglob("*.html"))


def shown(source: str, **values: object) -> str:
    return environment().from_string(source).render(clock=Clock("UTC", NOW), **values)


def test_values_are_escaped() -> None:
    assert shown("{{ one }}", one='<b>"&') == "&lt;b&gt;&#34;&amp;"


@pytest.mark.parametrize("hidden", ["\u202e", "\u200b", "\u2066", "\x1b", "\x00", "\r"])
def test_what_would_hide_or_turn_a_text_is_visible(hidden: str) -> None:
    text = shown("{{ one }}", one=f"a{hidden}b")
    assert hidden not in text
    assert text.startswith("a")
    assert text.endswith("b")
    assert len(text) == 3


def test_a_name_that_is_not_known_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        shown("{{ nothing }}")


def test_a_time_is_in_the_sessions_zone_with_its_instant() -> None:
    assert shown("{{ at|when }}", at=NOW) == (
        '<time datetime="2027-03-01T12:00:00Z" title="2027-03-01T12:00:00Z">Mon 2027-03-01 12:00</time>'
    )


@pytest.mark.parametrize(
    ("resource", "amount", "words"),
    [
        ("cpu:lbnl-data", 4000, "4 cores"), ("cpu:lbnl-data", 1000, "1 core"),
        ("storage:lbnl-data:vdb:read", 250_000_000, "250 MB/s"), ("sls:a-b", 4000, "4 kbit/s"),
        ("nobody-manages-it:lbnl-data", 7, "7"),
    ],
)  # fmt: skip
def test_an_amount_is_in_its_resources_unit(resource: str, amount: int, words: str) -> None:
    """Also where a document has the resource's name alone."""
    for one in (resource, ResourceId.parse(resource)):
        assert shown("{{ amount|amount_of(resource) }}", amount=amount, resource=one) == words


def test_the_curve_knows_each_unit() -> None:
    script = (STATIC / "chart.js").read_text()
    units = {kind.unit for kind in KINDS.values()} | {CPU.unit, STORAGE.unit}
    assert {unit for unit in units if f"{unit}:" not in script} == set()


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_templates_escape_and_run_nothing_inline(template: Path) -> None:
    text = template.read_text()
    assert not re.search(r"\|\s*safe|autoescape|Markup", text)
    assert not re.search(r"\son[a-z]+=|style=|<style|javascript:|https?://|hx-on", text)
    assert not re.search(r"<script(?![^>]* src=)", text)
    for element in re.findall(r"<[a-z]+[^>]*hx-(?:get|post)[^>]*>", text):
        assert "hx-target=" in element, f"{element}: what is swapped is said on each element"


def test_every_template_parses() -> None:
    for template in TEMPLATES:
        environment().get_template(str(template.relative_to(FOLDER)))


def test_what_is_vendored_is_as_it_was_published() -> None:
    """`sha256sum --check SHA256SUMS` says the same; each library has its licence beside it."""
    vendor = STATIC / "vendor"
    listed = dict(reversed(line.split("  ")) for line in (vendor / "SHA256SUMS").read_text().splitlines())
    files = {file.name for file in vendor.iterdir()} - {"SHA256SUMS", "README.md"}
    assert set(listed) == files
    for name, digest in listed.items():
        assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == digest, name
    for library in (name for name in files if name.endswith(".js")):
        assert f"{library.split('.')[0]}.LICENSE" in files


def test_an_address_changes_with_its_content() -> None:
    assert re.fullmatch(r"/assets/[0-9a-f]{12}/app\.css", address_of("app.css"))
    with pytest.raises(KeyError):
        address_of("nothing.css")


def test_links_are_those_of_the_role() -> None:
    requester = {link.address for link in links_for(Caller("x", Role.REQUESTER, "hep"), "/reservations/r-1")}
    operator = links_for(Caller("x", Role.OPERATOR), "/reservations/r-1")
    assert {link.address for link in operator} - requester == {
        "/approvals",
        "/connections",
        "/links",
        "/map",
        "/devices",
        "/rollback",
        "/policies",
        "/audits",
    }
    assert [link.address for link in operator if link.here] == ["/reservations"]
    assert len({link.key for link in operator}) == len(operator)


def test_a_file_for_spreadsheets_holds_no_formulas() -> None:
    window = Window(NOW, datetime(2027, 4, 1, tzinfo=UTC))
    rows = tuple(UsageRow(window, name, 8, 1) for name in ("hep", "=1+1", "+x", "-x", "@x"))
    lines = csv_of(UsageTable("owner", (window,), rows)).split("\r\n")
    assert lines[:3] == ["month,owner,bits,reservations", "2027-03,hep,8,1", "2027-03,'=1+1,8,1"]
    assert all(line.split(",")[1][0] not in "=+-@" for line in lines[1:-1])
