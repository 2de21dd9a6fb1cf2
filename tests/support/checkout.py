"""Where this checkout's packages are imported from, for a Python that a test starts with an environment of its own."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHONPATH = os.pathsep.join(str(ROOT / folder) for folder in ("controller", "client", "lab", ""))
