"""Where the lab writes, and where it finds what is not in its package."""

from __future__ import annotations

from pathlib import Path

_TOP = Path(__file__).resolve().parents[2]
#: The checkout's top; the current folder where the lab is installed from a wheel.
HOME = _TOP if (_TOP / "lab" / "pyproject.toml").exists() else Path.cwd()
