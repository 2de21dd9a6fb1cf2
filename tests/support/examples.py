"""How many random cases a test draws: few where they are the same in every run, many where they are new."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

#: Of `make test` and of `make test-slow`; tests/conftest.py says what they are.
SAME, NEW = "same", "new"


def examples(few: int, many: int, **more: Any) -> settings:
    """For a test whose cases take long: `few` are drawn in `make test`."""
    return settings(max_examples=many if settings.get_current_profile_name() == NEW else few, deadline=None, **more)
