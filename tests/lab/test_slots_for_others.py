"""A flow whose reservation stays the same notices no boundary of others, and a dead controller ends slots in its traffic."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lab import traffic
from lab.control import Lab
from tests.lab.conftest import INVENTORY
from tests.support.controllers import Controller, wait_for

pytestmark = pytest.mark.lab
