"""The documents build as a site, strictly: a link that leads nowhere is an error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.wheels import bare_environment

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow  # in short: tests/unit/test_readme.py looks where every link leads
def test_the_site_builds_and_can_be_searched(tmp_path: Path) -> None:
    programs = tmp_path / "venv" / "bin"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    pip = [str(programs / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    pinned = ["--require-hashes", "-r", str(ROOT / "requirements" / "site.txt")]
    subprocess.run([*pip, *pinned], check=True, capture_output=True)
    built = subprocess.run(
        [str(programs / "mkdocs"), "build", "--strict", "-f", str(ROOT / "mkdocs.yml"), "-d", str(tmp_path / "site")],
        env=bare_environment(tmp_path), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    index = json.loads((tmp_path / "site" / "search" / "search_index.json").read_text())
    places = {one["location"].partition("#")[0] for one in index["docs"]}
    assert {"tutorial.html", "howto/emergency-rollback.html", "reference/cli.html"} <= places
