"""Where the files are that are not Python: playbooks, roles, plugins, templates, schemas and example inventories.

A wheel holds them in its package (`setup.py`); in a checkout they stand at its top (ADR 39).
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def shipped() -> Path:
    """The folder with `ansible.cfg`, `playbooks/`, `roles/`, `plugins/`, `templates/`, `schemas/` and `inventories/`."""
    installed = _PACKAGE / "share"
    return installed if installed.is_dir() else _PACKAGE.parents[1]
