"""What is kept of the last experiments and benchmarks is of the described format, and its page tells it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from benchmarks.__main__ import BESIDE, document, names
from benchmarks.common import Figure
from slotcar_lab.errors import LabError
from slotcar_lab.experiments.catalogue import NAMES
from slotcar_lab.results import BENCHMARKS, EXPERIMENTS, KEPT, PAGE, VERDICTS, gaps, keep, page

SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"


def valid(instance: object, schema: str) -> None:
    described = json.loads((SCHEMAS / schema).read_text())
    jsonschema.Draft202012Validator(described, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER).validate(
        instance
    )


def test_the_verdicts_that_are_kept_are_of_their_format_and_of_all_experiments_of_one_commit() -> None:
    files = list((KEPT / EXPERIMENTS).glob("*.json"))
    assert {file.stem for file in files} == set(NAMES)
    reports = [json.loads(file.read_text()) for file in files]
    for file, kept in zip(files, reports, strict=True):
        valid(kept, "verdicts.schema.json")
        assert [experiment["name"] for experiment in kept["experiments"]] == [file.stem]
    assert gaps(reports) == []


def test_the_figures_that_are_kept_are_of_their_format_and_of_benchmarks_that_there_are() -> None:
    files = list((KEPT / BENCHMARKS).glob("*.json"))
    assert {file.stem for file in files if not file.stem.startswith(f"{BESIDE}-")} <= {*names()}
    assert files
    for file in files:
        kept = json.loads(file.read_text())
        valid(kept, "benchmark.schema.json")
        assert kept["commit"]


def test_the_page_is_what_the_files_give() -> None:
    assert (KEPT / PAGE).read_text() == page(KEPT)


def test_what_a_benchmark_writes_is_kept_beside_what_was_kept_before(tmp_path: Path) -> None:
    out, into = tmp_path / "out", tmp_path / "kept"
    out.mkdir()
    into.mkdir()
    shutil.copytree(KEPT / EXPERIMENTS, into / EXPERIMENTS)
    result = document("render", [Figure("devices | a second", 12.5, "1/s", "a peer", 5.0)], quick=True)
    valid(result, "benchmark.schema.json")
    (out / "render.json").write_text(json.dumps(result))
    assert keep([tmp_path / "no-report"], out, into) == [into / BENCHMARKS / "render.json", into / PAGE]
    text = (into / PAGE).read_text()
    assert "| devices \\| a second | 12.5 1/s | a peer | 5 | 2.5 |" in text
    assert "## Experiments of the papers" in text
    assert "`python -m benchmarks render --quick`" in text


def whole(
    commit: str = "abcdef0", command: str = "python -m slotcar_lab.experiments", without: str = ""
) -> dict[str, Any]:
    """A report that tells of all experiments what one of those that are kept showed."""
    one = json.loads(next(iter(sorted((KEPT / EXPERIMENTS).glob("*.json")))).read_text())
    (experiment,) = one["experiments"]
    experiments = [{**experiment, "name": name} for name in NAMES if name != without]
    return {**one, "setting": {**one["setting"], "commit": commit, "command": command}, "experiments": experiments}


def test_all_experiments_of_a_report_are_kept_together(tmp_path: Path) -> None:
    report, into = tmp_path / "report", tmp_path / "kept"
    report.mkdir()
    shutil.copytree(KEPT / EXPERIMENTS, into / EXPERIMENTS)
    (report / VERDICTS).write_text(json.dumps(whole()))
    assert len(keep([report], tmp_path / "no-benchmarks", into)) == len(NAMES) + 1
    text = (into / PAGE).read_text()
    assert text.count("abcdef0") == text.count("\n### ") == len(NAMES)


def test_a_report_without_an_experiment_is_kept_with_one_of_the_same_commit_that_has_it(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    (first / VERDICTS).write_text(json.dumps(whole(without="ecn")))
    (second / VERDICTS).write_text(json.dumps(only("ecn", commit="1234567")))
    with pytest.raises(LabError, match="the reports differ in commit"):
        keep([first, second], tmp_path / "no-benchmarks", tmp_path / "kept")
    (second / VERDICTS).write_text(json.dumps(only("ecn", commit="abcdef0")))
    assert len(keep([first, second], tmp_path / "no-benchmarks", tmp_path / "kept")) == len(NAMES) + 1
    kept = json.loads((tmp_path / "kept" / EXPERIMENTS / "ecn.json").read_text())
    assert kept["setting"]["command"] == "python -m slotcar_lab.experiments ecn"


def only(name: str, commit: str) -> dict[str, Any]:
    report = whole(commit, f"python -m slotcar_lab.experiments {name}")
    return {**report, "experiments": [one for one in report["experiments"] if one["name"] == name]}


@pytest.mark.parametrize(
    ("report", "why"),
    [
        (whole(without="ecn"), "it lacks ecn"),
        (whole(commit="abcdef0, with changes"), "it is not of a commit alone"),
        (whole(commit=""), "it is not of a commit alone"),
        (whole(command="python -m slotcar_lab.experiments --smoke"), "it was made with --smoke"),
        (whole(command="slotcar lab run all --real-time"), "it was made with --real-time"),
        (whole(command="python -m slotcar_lab.experiments --smo"), "it was made with --smoke"),
        (whole(command="python -m slotcar_lab.experiments --re --sm"), "it was made with --real-time and --smoke"),
    ],
    ids=["gap", "changes", "no-commit", "smoke", "real-time", "smoke-abbreviated", "both-abbreviated"],
)
def test_a_report_that_is_no_evidence_of_one_commit_is_not_kept(
    report: dict[str, Any], why: str, tmp_path: Path
) -> None:
    (tmp_path / VERDICTS).write_text(json.dumps(report))
    with pytest.raises(LabError, match=why):
        keep([tmp_path], tmp_path / "no-benchmarks", tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_where_nothing_was_measured_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="nothing was measured"):
        keep([tmp_path / "report"], tmp_path / "out", tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("text", ["[]", "{"])
def test_a_file_of_another_form_is_refused_by_its_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "render.json").write_text(text)
    with pytest.raises(LabError, match=r"render\.json"):
        keep([tmp_path / "report"], tmp_path / "out", tmp_path / "kept")
