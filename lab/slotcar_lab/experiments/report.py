"""The report of the experiments: a page, plots as PNG and SVG, their data as CSV, and `verdicts.json`."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from slotcar_lab.errors import LabError
from slotcar_lab.experiments import drawing, setting, view
from slotcar_lab.experiments.model import Result
from slotcar_lab.experiments.setting import Setting

PAGE, VERDICTS = "index.html", "verdicts.json"
TEMPLATES = Path(__file__).parent / "page"
#: New files wait here, inside the report's folder, until all of them are written.
PART = ".part"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def write(results: Sequence[Result], folder: Path, where: Setting | None = None) -> None:
    """Writes the report into the folder, over an earlier one.

    `index.html` comes last and is the first to go: a folder without it holds no whole report. Other files in the folder
    are left alone.

    Args:
        results: in the order of the page.
        folder: made where it is missing.
        where: what the figures were measured on and with; this machine, now, unless given.

    Raises:
        LabError: there is nothing to report, or the folder cannot be written: an earlier report in it is still whole
            where the new one could not be written at all.
    """
    if not results:
        raise LabError("there is no result to report; run at least one experiment")
    files = render(results, where or setting.here())
    try:
        _replace(files, folder)
    except OSError as error:
        raise _unwritable(folder, error) from error


def reserve(folder: Path) -> None:
    """Sees to it that a report can be written there, before minutes are spent on what it is to tell.

    Raises:
        LabError: it cannot.
    """
    try:
        (folder / PART).mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder / PART)
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> LabError:
    return LabError(f"cannot write the report into {folder}: {error.strerror or error}")


def render(results: Sequence[Result], where: Setting) -> dict[str, bytes]:
    """All files of the report by their names relative to its folder: the same for the same results.

    Raises:
        ValueError: a name cannot stand in a file's name, or stands for two things.
    """
    files: dict[str, bytes] = {}
    for result in results:
        for plot in result.plots:
            stem = view.stem(result, plot)
            if not (NAME.fullmatch(result.name) and NAME.fullmatch(plot.slug)):
                raise ValueError(f"{stem}: names of experiments and plots are of a-z, 0-9 and hyphens")
            if f"{stem}.png" in files:
                raise ValueError(f"{stem}: two plots have this name")
            files[f"{stem}.png"], files[f"{stem}.svg"] = drawing.draw(plot)
            files[f"{stem}.csv"] = view.data(plot).encode()
    files[VERDICTS] = view.verdicts(results, where, [*files, PAGE]).encode()
    files[PAGE] = _page(results, where).encode()
    return files


def _page(results: Sequence[Result], where: Setting) -> str:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html.j2").render(page=view.page(results, where))


def _replace(files: Mapping[str, bytes], folder: Path) -> None:
    part = folder / PART
    try:
        for name, content in files.items():
            path = part / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        old = _written_before(folder)
        (folder / view.FOLDER).mkdir(exist_ok=True)
        (folder / PAGE).unlink(missing_ok=True)
        for name in sorted(files, key=lambda name: name == PAGE):
            (part / name).replace(folder / name)
        _remove(folder, old - set(files))
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _written_before(folder: Path) -> set[str]:
    """The files that an earlier report says are its own; only such as a report has."""
    try:
        listed = json.loads((folder / VERDICTS).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    own = re.compile(rf"{view.FOLDER}/[a-z0-9-]+\.(png|svg|csv)")
    return {name for name in listed if isinstance(name, str) and own.fullmatch(name)}


def _remove(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)
