"""Three domains on one server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.domains.three import World, three


@pytest.fixture
def world(server_url: str, migrated: str, tmp_path: Path) -> Iterator[World]:
    with three(server_url, migrated, tmp_path) as domains:
        yield domains
