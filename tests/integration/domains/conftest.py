"""Three domains on one server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.domains.three import World, make_template, three


@pytest.fixture(scope="session")
def template(server_url: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_template(server_url, tmp_path_factory.mktemp("template"))


@pytest.fixture
def world(server_url: str, template: str, tmp_path: Path) -> Iterator[World]:
    with three(server_url, template, tmp_path) as domains:
        yield domains
