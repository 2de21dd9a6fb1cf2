"""Juniper's YANG, where somebody brought it: it is in no package, and none of it is in this repository.

`SLOTCAR_JUNIPER_YANG` names a folder with what github.com/Juniper/yang has of one release and the family `junos` in
`RELEASE/native/conf-and-rpcs/junos/conf/models/` and `.../common/models/`. Its `junos-conf-class-of-service` has a
backslash before `*` in double quotes, which is no string of YANG (RFC 7950 §6.1.3); copies that say it with two are used.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

VARIABLE = "SLOTCAR_JUNIPER_YANG"
MODULES = ("junos-conf-root", "junos-conf-firewall", "junos-conf-class-of-service", "junos-conf-interfaces")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NO_ESCAPE = re.compile(r'\\([^nt"\\])')


def folder() -> Path | None:
    named = os.environ.get(VARIABLE)
    return Path(named) if named else None


def why_not() -> str:
    """Why nothing can be checked; empty where it can."""
    named = folder()
    if named is None:
        return f"{VARIABLE} names no folder with Juniper's YANG, which is in no package"
    missing = [module for module in MODULES if not list(named.glob(f"{module}@*.yang"))]
    return f"{named} has no {missing[0]}@*.yang" if missing else ""


def mended(target: Path) -> Path:
    """A folder with copies of which yanglint and netconfd can read all."""
    source = folder()
    assert source is not None
    target.mkdir(parents=True, exist_ok=True)
    for file in source.glob("*.yang"):
        text = _QUOTED.sub(lambda quoted: _NO_ESCAPE.sub(r"\\\\\1", quoted[0]), file.read_text(encoding="utf-8"))
        (target / file.name).write_text(text, encoding="utf-8")
    return target


def files(models: Path) -> list[str]:
    return [str(next(models.glob(f"{module}@*.yang"))) for module in MODULES]
