"""One version for all that a release publishes, and a tag that says the same."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def test_everything_that_is_published_has_one_version() -> None:
    for folder in ("client", "lab", "mover"):
        assert (
            tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
            == VERSION
        )
    assert yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["version"] == VERSION
    assert f"image: slotcar:{VERSION}\n" in (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    assert f"ARG VERSION={VERSION}\n" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)


def test_a_tag_of_this_commit_says_the_version() -> None:
    """A release is tagged with what it says of itself; a commit without a tag, or a copy without Git, is none."""
    done = subprocess.run(
        ["git", "-C", str(ROOT), "tag", "--points-at", "HEAD", "--list", "v*"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert set(done.stdout.split()) <= {f"v{VERSION}"}
