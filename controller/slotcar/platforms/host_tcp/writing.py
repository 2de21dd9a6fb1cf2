"""The program that a host runs to make a change: all of it, or none."""

from __future__ import annotations

import shlex
from pathlib import Path

from slotcar.platforms.host_tcp.change import TuningChange, kept_text
from slotcar.platforms.host_tcp.state import HostState

READ = Path(__file__).with_name("read.sh")
#: Where a host keeps what was before. What is set lasts until the host starts anew, and so does this.
PLACE = "/run/slotcar/tuning"


def program_of(change: TuningChange, host: HostState, place: str = PLACE) -> str:
    """First what leads back is noted, then each command is run; where one fails, those before it are undone."""
    kept = f"{place}/kept"
    noted = f"printf '%s' {shlex.quote(kept_text(host.kept))} >{kept}" if host.kept else f"rm -f {kept}"
    undo = [*change.undo_commands(host), noted]
    lines = [
        f"mkdir -p {place} && chmod 0700 {place} || exit 1",
        "undo() {",
        *(f"    {command} || true" for command in undo),
        "}",
        f"printf '%s' {shlex.quote(kept_text(change.kept))} >{kept} || exit 1",
    ]
    for command in change.commands(host):
        lines.append(f"{{ {command}; }} || {{ echo {shlex.quote('this failed: ' + command)} >&2; undo; exit 1; }}")
    if not change.kept:
        lines.append(f"rm -f {kept}; rmdir {place} 2>/dev/null || true")
    return "\n".join([*lines, ""])
