"""The experiments' report, of results that are made up: what it writes, and that it is whole or not there."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest
from lxml import html

from slotcar_lab.errors import LabError
from slotcar_lab.experiments import drawing, report, view
from slotcar_lab.experiments.model import Curve, Plot, Result, Row, Verdict
from slotcar_lab.experiments.running import main_of
from slotcar_lab.experiments.setting import Setting

SCHEMA = Path(__file__).resolve().parents[3] / "schemas" / "verdicts.schema.json"
WHERE = Setting(
    "python -m slotcar_lab.experiments",
    "6.1.0-41-amd64",
    "namespaces",
    "x86_64, 2 cores",
    "f1759c7",
    {"nuttcp": "6.1.2"},
)
ROWS = (
    Row("bandwidth", "25 Mb/s", 6.24712, "Mb/s", "at least 6", Verdict.AS_THE_PAPER),
    Row("loss", "declines", 0.31, "%", "at most 0.2", Verdict.DIFFERS, "<b>half</b> of it & more"),
    Row("delay", "150 ms", None, "ms", "at least 100", Verdict.NOT_SHOWN, "the sender was too slow"),
    Row("gain to loss", "not tried", math.inf, "", "at least 1", Verdict.AS_PROMISED),
)
RATE = Plot(
    "rate",
    "Rate in three stages",
    "seconds",
    "payload, Mb/s",
    (Curve("foreground", (0.0, 0.5, 1.0), (6.25, 4.5, 6.0)), Curve("back, ground", (0.0, 1.0), (0.0, 5.0))),
    ((0.5, "slot begins"),),
)
ONE = Result(
    "emerge-1", "EMERGE 1: a congested pipe", "EMERGE 1", "bandwidth comes back", ROWS, (RATE,),
    {"evl": ("tc qdisc add dev eth1", "tc class <add>"), "aruba": ("tc qdisc",)},
    datetime(2026, 5, 1, 12, tzinfo=UTC), 73.24, "divided by four", "The queue was full.",
)  # fmt: skip
TWO = replace(
    ONE, name="qbss-1", title="QBSS", rows=ROWS[:2], explanation="", began_at=datetime(2026, 5, 2, tzinfo=UTC)
)


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return report.render([ONE, TWO], WHERE)


@pytest.fixture(scope="module")
def page(files: dict[str, bytes]) -> html.HtmlElement:
    return html.document_fromstring(files["index.html"].decode())


def texts(elements: Iterator[html.HtmlElement] | list[html.HtmlElement]) -> list[str]:
    return [" ".join(element.text_content().split()) for element in elements]


def test_the_same_results_give_the_same_bytes(files: dict[str, bytes]) -> None:
    assert report.render([ONE, TWO], WHERE) == files


def test_every_address_of_the_page_is_in_the_report(files: dict[str, bytes], page: html.HtmlElement) -> None:
    links = [link for _, _, link, _ in page.iterlinks()]
    inside = {link[1:] for link in links if link.startswith("#")}
    assert {link for link in links if not link.startswith("#")} == set(files) - {"index.html"}
    assert inside == {"summary", "emerge-1", "qbss-1"} <= set(page.xpath("//@id"))


def test_a_row_is_shown_as_it_is(page: html.HtmlElement) -> None:
    (section,) = page.xpath("//section[@id='emerge-1']")
    shown = [texts(row.xpath("./th|./td")) for row in section.xpath(".//tbody/tr")]
    assert shown == [
        ["bandwidth", "25 Mb/s", "6.247", "Mb/s", "at least 6", "✓ as the paper", ""],
        ["loss", "declines", "0.31", "%", "at most 0.2", "≠ differs", "<b>half</b> of it & more"],
        ["delay", "150 ms", "–", "", "at least 100", "? not shown", "the sender was too slow"],
        ["gain to loss", "not tried", "∞", "", "at least 1", "+ as promised", ""],
    ]
    assert texts(section.xpath(".//thead//th")) == ["figure", "paper", "ours", "unit", "rule", "verdict", "note"]


def test_the_summary_counts_verdicts(page: html.HtmlElement) -> None:
    rows = [texts(row.xpath("./th|./td")) for row in page.xpath("//section[@id='summary']//tbody/tr")]
    assert rows == [
        ["emerge-1", "EMERGE 1", "✓ 1", "+ 1", "≠ 1", "? 1", "1 min 13 s"],
        ["qbss-1", "EMERGE 1", "✓ 1", "0", "≠ 1", "0", "1 min 13 s"],
    ]
    assert [text[:22] for text in texts(page.xpath("//ul[@class='counts']/li"))] == [
        "✓ as the paper 2 of 6:", "+ as promised 1 of 6: ", "≠ differs 2 of 6: our ", "? not shown 1 of 6: no",
    ]  # fmt: skip


def test_the_page_says_how_it_was_made(page: html.HtmlElement) -> None:
    settings = dict(zip(texts(page.xpath("//dl/dt")), texts(page.xpath("//dl/dd")), strict=True))
    assert settings["command"] == "python -m slotcar_lab.experiments"
    assert settings["routers' kernel"] == "6.1.0-41-amd64"
    assert settings["date"].startswith("2026-05-01 12:00:00 UTC")
    assert settings["nuttcp"] == "6.1.2"


def test_a_difference_without_an_explanation_is_told(page: html.HtmlElement) -> None:
    assert "The queue was full." in page.get_element_by_id("emerge-1").text_content()
    assert "nobody knows why" in page.get_element_by_id("qbss-1").text_content()
    assert "nobody knows why" not in page.get_element_by_id("emerge-1").text_content()


def test_the_page_can_be_read_without_seeing_it(page: html.HtmlElement) -> None:
    assert page.get("lang") == "en"
    for image in page.xpath("//img"):
        assert "foreground: 4.5 to 6.25, last 6" in image.get("alt")
        assert "slot begins at 0.5" in image.get("alt")
    for table in page.xpath("//table"):
        assert table.xpath("./caption")
        assert all(heading.get("scope") == "col" for heading in table.xpath("./thead//th"))
        assert all(row.xpath("./th[@scope='row']") for row in table.xpath("./tbody/tr"))


def test_the_configuration_is_there_to_the_letter(page: html.HtmlElement) -> None:
    (section,) = page.xpath("//section[@id='emerge-1']")
    assert [block.text_content() for block in section.xpath(".//details/pre")] == [
        "tc qdisc", "tc qdisc add dev eth1\ntc class <add>",
    ]  # fmt: skip


def test_the_data_has_every_point(files: dict[str, bytes]) -> None:
    rows = list(csv.reader(io.StringIO(files["plots/emerge-1-rate.csv"].decode())))
    assert rows[0] == ["curve", "seconds", "payload, Mb/s"]
    assert [(name, float(x), float(y)) for name, x, y in rows[1:]] == [
        (curve.name, x, y) for curve in RATE.curves for x, y in zip(curve.x, curve.y, strict=True)
    ]


def test_verdicts_are_as_their_schema_has_them(files: dict[str, bytes]) -> None:
    document = json.loads(files["verdicts.json"])
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    assert document["counts"] == {"as the paper": 2, "as promised": 1, "differs": 2, "not shown": 1}
    assert [row["ours"] for row in document["experiments"][0]["rows"]] == [6.24712, 0.31, None, "infinity"]
    assert {*document["files"], "verdicts.json"} == set(files)
    document["experiments"][0]["rows"][0]["verdict"] = "fine"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


@pytest.mark.in_short("True-points")
@pytest.mark.parametrize("style", ["line", "points", "steps", "bars"])
@pytest.mark.parametrize("log", [False, True])
def test_every_style_is_drawn(style: str, log: bool) -> None:
    plain = Plot("p", "P", "x", "y", RATE.curves, RATE.marks, style, log, log)
    png, svg = drawing.draw(plain)
    assert png.startswith(b"\x89PNG")
    assert b"<svg" in svg
    assert png != drawing.draw(replace(plain, curves=RATE.curves[:1]))[0]


def test_a_plot_of_nothing_or_of_infinities_is_drawn() -> None:
    for curves in ((), (Curve("a", (), ()),), (Curve("a", (1.0, 2.0), (math.inf, math.nan)),)):
        assert drawing.draw(replace(RATE, curves=curves, y_log=True))[0].startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_curve_of_many_points_stays_small_as_svg() -> None:
    count = 4 * drawing.MANY
    many = Curve("many", tuple(map(float, range(count))), tuple(math.sin(x) for x in range(count)))
    for style in ("line", "points", "steps"):
        assert len(drawing.draw(replace(RATE, curves=(many,), style=style))[1]) < 40 * count


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"), (math.nan, "–"), (math.inf, "∞"), (0.0, "0"), (6.24712, "6.247"), (152.34, "152.3"),
        (0.0312, "0.0312"), (1234567.0, "1 234 567"), (-3.5, "−3.5"), (1e-6, "1e−06"), (100.0, "100"),
    ],
)  # fmt: skip
def test_figures_are_readable(value: float | None, shown: str) -> None:
    assert view.number(value) == shown


def test_names_are_checked_before_anything_is_written(tmp_path: Path) -> None:
    for name, message in (("../up", "are of a-z"), ("Rate", "are of a-z")):
        with pytest.raises(ValueError, match=message):
            report.write([replace(ONE, plots=(replace(RATE, slug=name),))], tmp_path / "r", WHERE)
    with pytest.raises(ValueError, match="two plots have this name"):
        report.write([ONE, ONE], tmp_path / "r", WHERE)
    with pytest.raises(ValueError, match="there is no style pie"):
        report.write([replace(ONE, plots=(replace(RATE, style="pie"),))], tmp_path / "r", WHERE)
    assert not (tmp_path / "r").exists()


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_report_replaces_the_one_before_and_leaves_other_files_alone(
    tmp_path: Path, files: dict[str, bytes]
) -> None:
    report.write([ONE, TWO], tmp_path / "a" / "report", WHERE)
    folder = tmp_path / "a" / "report"
    assert {name: (folder / name).read_bytes() for name in files_in(folder)} == files
    (folder / "plots" / "mine.txt").write_text("keep")
    (folder / "notes.md").write_text("keep")
    report.write([TWO], folder, WHERE)
    assert files_in(folder) == {*report.render([TWO], WHERE), "plots/mine.txt", "notes.md"}


def test_a_forged_list_removes_nothing_outside(tmp_path: Path) -> None:
    (tmp_path / "precious.csv").write_text("keep")
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "verdicts.json").write_text(json.dumps({"files": ["../precious.csv", "plots/../../precious.csv", 7]}))
    report.write([TWO], folder, WHERE)
    assert (tmp_path / "precious.csv").exists()


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert main_of(["emerge-1"], blocked / "report") == 2
    assert capsys.readouterr() == ("", f"error: cannot write the report into {blocked}/report: Not a directory\n")
    report.write([ONE], tmp_path / "whole", WHERE)
    before = files_in(tmp_path / "whole")
    report.reserve(tmp_path / "whole")
    assert files_in(tmp_path / "whole") == before


def test_what_cannot_be_written_is_told_and_the_old_report_stays(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(LabError, match=rf"cannot write the report into {re.escape(str(blocked))}: (Not|File)"):
        report.write([ONE], blocked, WHERE)
    folder = tmp_path / "report"
    report.write([ONE, TWO], folder, WHERE)
    before = {name: (folder / name).read_bytes() for name in files_in(folder)}
    (folder / ".part").write_text("in the way")
    with pytest.raises(LabError, match="cannot write"):
        report.write([TWO], folder, WHERE)
    (folder / ".part").unlink()
    assert {name: (folder / name).read_bytes() for name in files_in(folder)} == before


def test_a_full_disk_is_told_and_the_old_report_stays(tmp_path: Path) -> None:
    """/dev/full is a disk that is full: a file of the new report that leads there cannot be written."""
    folder = tmp_path / "report"
    report.write([TWO], folder, WHERE)
    (folder / ".part").mkdir()
    (folder / ".part" / "index.html").symlink_to("/dev/full")
    with pytest.raises(LabError, match="No space left on device"):
        report.write([ONE, TWO], folder, WHERE)
    assert files_in(folder) == set(report.render([TWO], WHERE))


def test_nothing_to_report_is_told(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no result to report"):
        report.write([], tmp_path, WHERE)
