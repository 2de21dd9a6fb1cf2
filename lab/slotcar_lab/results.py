"""`python -m slotcar_lab.results`: keeps in `docs/results` what the last experiments and benchmarks showed, with tables."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from slotcar_lab.errors import LabError
from slotcar_lab.experiments.catalogue import NAMES

HOME = Path(__file__).resolve().parents[2]
KEPT = HOME / "docs" / "results"
REPORT = HOME / "var" / "lab-report"
MEASURED = HOME / "benchmarks" / "out"
VERDICTS, EXPERIMENTS, BENCHMARKS, PAGE = "verdicts.json", "experiments", "benchmarks", "README.md"
#: With these a run is no measurement.
SHORTENED = ("--real-time", "--smoke")
#: What reports that are kept together have in common.
SAME = ("commit", "scale", "accelerator", "machine", "kernel", "versions")
INTRODUCTION = """# What the lab and the benchmarks showed last

Written by `make results` out of the files in `experiments/` and `benchmarks/`, which hold the same for programs: one for
each, of the last time that it ran. How to make the figures again, and how to read a row:
[the lab's report](../howto/lab-report.md).
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="slotcar_lab.results", description=__doc__)
    parser.add_argument(
        "--report",
        type=Path,
        action="append",
        metavar="FOLDER",
        help="folder of the experiments' last report; again for one that has, of the same commit, what this one lacks",
    )
    parser.add_argument("--benchmarks", type=Path, default=MEASURED, help="folder of the benchmarks' last figures")
    parser.add_argument("--into", type=Path, default=KEPT, help="where they are kept")
    chosen = parser.parse_args()
    try:
        kept = keep(chosen.report or [REPORT], chosen.benchmarks, chosen.into)
    except LabError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stdout.write("".join(f"kept {file}\n" for file in kept))
    return 0


def keep(reports: Sequence[Path], benchmarks: Path, into: Path) -> list[Path]:
    """Copies what was measured last over what was kept before; what was not measured anew stays. Gives what was written.

    Experiments are kept all together: they are evidence of one commit, or of nothing.

    Args:
        reports: folders; of an experiment that several have the last one counts.

    Raises:
        LabError: nothing was measured, the reports are not whole together, or a file cannot be read.
    """
    documents: dict[Path, dict[str, Any]] = {}
    if written := [report / VERDICTS for report in reports if (report / VERDICTS).exists()]:
        verdicts = [_read(file) for file in written]
        if lacks := "; ".join(gaps(verdicts)):
            raise LabError(f"{', '.join(map(str, written))}: not kept: {lacks}")
        for name, document in _by_experiment(verdicts).items():
            documents[into / EXPERIMENTS / f"{name}.json"] = document
    for file in sorted(benchmarks.glob("*.json")):
        documents[into / BENCHMARKS / file.name] = _read(file)
    if not documents:
        looked_for = ", ".join(str(report / VERDICTS) for report in reports)
        raise LabError(f"nothing was measured: neither {looked_for} nor {benchmarks}/*.json exists")
    for file, document in documents.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (into / PAGE).write_text(page(into), encoding="utf-8")
    return [*documents, into / PAGE]


def gaps(reports: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why reports do not tell what all experiments showed of one commit, in words; nothing where they do."""
    reported = {one["name"] for report in reports for one in report["experiments"]}
    missing = [name for name in NAMES if name not in reported]
    settings = [report["setting"] for report in reports]
    words = [word for setting in settings for word in shlex.split(setting["command"])]
    # An earlier version took them abbreviated, too, as far as no other begins so.
    short = [one for one in SHORTENED if any(len(word) > len("--s") and one.startswith(word) for word in words)]
    return [
        *([f"it lacks {', '.join(missing)}"] if missing else []),
        *(
            f"the reports differ in {name}"
            for name in SAME
            if any(one.get(name) != settings[0].get(name) for one in settings)
        ),
        *([] if all(_is_of_a_commit(setting) for setting in settings) else ["it is not of a commit alone"]),
        *([f"it was made with {' and '.join(short)}"] if short else []),
    ]


def _is_of_a_commit(setting: Mapping[str, Any]) -> bool:
    return bool(setting["commit"]) and "," not in setting["commit"]


def page(kept: Path) -> str:
    """The tables of what is kept in the folder, in Markdown.

    Raises:
        LabError: a file cannot be read.
    """
    parts = [INTRODUCTION]
    experiments = [_read(kept / EXPERIMENTS / f"{name}.json") for name in _kept_experiments(kept)]
    if experiments:
        parts.append(_overview(experiments))
    parts += [_experiment(document) for document in experiments]
    parts += [_benchmark(file.stem, _read(file)) for file in sorted((kept / BENCHMARKS).glob("*.json"))]
    return "\n".join(parts)


def _by_experiment(reports: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """A document of one experiment for each of the reports. Plots are not kept: the report makes them again."""
    return {
        one["name"]: {**report, "counts": one["counts"], "experiments": [one], "files": []}
        for report in reports
        for one in report["experiments"]
    }


def _kept_experiments(kept: Path) -> list[str]:
    """In the order in which the report has them."""
    kept_names = {file.stem for file in (kept / EXPERIMENTS).glob("*.json")}
    return [name for name in NAMES if name in kept_names]


def _overview(documents: Sequence[Mapping[str, Any]]) -> str:
    """How many figures of each experiment have which verdict."""
    verdicts = list(documents[0]["counts"])
    rows = [
        (
            one["experiments"][0]["title"],
            *(str(one["counts"][verdict] or "") for verdict in verdicts),
            one["experiments"][0]["began_at"][:10],
        )
        for one in documents
    ]
    sums = ["all", *(str(sum(one["counts"][verdict] for one in documents)) for verdict in verdicts), ""]
    return f"## Experiments of the papers\n\n{_table(('experiment', *verdicts, 'measured'), [*rows, sums])}"


def _experiment(document: Mapping[str, Any]) -> str:
    setting, experiment = document["setting"], document["experiments"][0]
    lines = [
        f"### {experiment['title']}\n",
        f"{experiment['source']}; measured {experiment['began_at']} of commit {setting['commit'] or 'not known'};"
        f" {setting['machine']}; routers of kernel {setting['kernel']}, {setting['accelerator']};"
        f" `{setting['command']}`.\n",
    ]
    rows = [
        (row["figure"], row["paper"], _value(row), row["rule"], row["verdict"], row["note"])
        for row in experiment["rows"]
    ]
    lines.append(_table(("figure", "paper", "ours", "rule", "verdict", "note"), rows))
    return "\n".join(lines)


def _benchmark(name: str, document: Mapping[str, Any]) -> str:
    rows = [
        (one["figure"], f"{_number(one['value'])} {one['unit']}", one["peer"], _number(one["peer_value"]), _times(one))
        for one in document["figures"]
    ]
    about = f"Commit {document['commit'] or 'not known'}; {document['machine']}; measured {document['measured_at']};"
    head = f"## Benchmark {name}\n\n{about} `{document['command']}`.\n"
    return f"{head}\n{_table(('figure', 'value', 'peer', 'value of the peer', 'times better'), rows)}"


def _value(row: Mapping[str, Any]) -> str:
    return f"{_number(row['ours'])} {row['unit']}".strip()


def _times(one: Mapping[str, Any]) -> str:
    return "" if one["ratio"] is None else _number(one["ratio"])


def _number(value: float | str | None) -> str:
    """Four significant digits; text, which a report has for what is infinite, as it is."""
    if value is None:
        return ""
    return value if isinstance(value, str) else f"{value:.4g}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [
        heads,
        ["---"] * len(heads),
        *([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _read(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LabError(f"{file} cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise LabError(f"{file} is of an earlier version: measure again")
    return document


if __name__ == "__main__":
    raise SystemExit(main())
