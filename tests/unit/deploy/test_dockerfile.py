"""The Dockerfile: what it copies is there, its base is pinned, and its user is the one that docker-compose.yml names."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
#: Its instructions, lines that go on put together, without comments.
TEXT = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
LINES = [line.split() for line in TEXT.splitlines() if line.strip()]
COPIED = sorted(
    {name for word, *rest in LINES if word == "COPY" and not rest[0].startswith("--") for name in rest[:-1]}
)
IGNORED = (ROOT / ".dockerignore").read_text().splitlines()


def after(word: str) -> list[list[str]]:
    return [rest for first, *rest in LINES if first == word]


def test_every_stage_is_from_the_one_pinned_base() -> None:
    assert re.search(r"^ARG BASE=\S+:\d+\.\d+\.\d+\b", TEXT, re.MULTILINE)
    stages = [rest[-1] for rest in after("FROM") if "AS" in rest]
    assert [rest[0] for rest in after("FROM")] == ["${BASE}", "packages", "${BASE}"]
    taken = {option.removeprefix("--from=") for option, *_ in after("COPY") if option.startswith("--from=")}
    assert taken == set(stages) == {"packages", "build"}


@pytest.mark.parametrize("name", COPIED)
def test_what_is_copied_is_there_and_let_through_to_the_build(name: str) -> None:
    assert (ROOT / name).exists()
    assert IGNORED[0] == "*"
    parts = Path(name).parts
    assert any(f"!{'/'.join(parts[:depth])}" in IGNORED for depth in range(1, len(parts) + 1))


def test_the_image_is_built_from_all_that_a_wheel_is_built_from() -> None:
    shipped = re.findall(r'"([\w.]+)"', (ROOT / "setup.py").read_text().split("SHIPPED = (")[1].split(")")[0])
    assert shipped
    assert set(shipped) <= set(COPIED)


def test_it_runs_as_the_user_that_compose_names_and_not_as_root() -> None:
    (user,) = after("USER")[-1]
    ids = re.search(rf"groupadd --gid (\d+) {user}\b.*useradd --uid (\d+) --gid {user} .* {user}\b", TEXT)
    assert ids is not None
    group, number = ids.groups()
    assert int(number) > 0
    controller = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["controller-a"]
    assert controller["user"] == f"{number}:{group}"
    assert LINES[-1] == ["CMD", '["serve"]']
    assert after("ENTRYPOINT") == [['["slotcar"]']], "a shell in between would keep SIGTERM from it"


def test_the_script_that_builds_it_says_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "dirname").symlink_to("/usr/bin/dirname")
    command = ["/bin/bash", str(ROOT / "tools" / "image.sh")]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "slotcar: needs podman (Debian 12: apt-get install podman runc)\n"
