"""Prints docs/reference/profiles.md: each kind of application, what it asks of the network, and what does not go with it.

Usage: `python tools/profile_table.py`. `make generate` writes it; a test compares it.
"""

from __future__ import annotations

import sys

from slotcar.reservation.profiles import KINDS

INTRODUCTION = """\
# Kinds of applications

A reservation may say what it is for, and leave service, burst and bounds to that: D7.3 §3.1 groups applications in four
kinds. What it says itself holds, where it goes with the kind; `delay: null` takes a bound of the kind back. This page is
written by `make generate`.

```yaml
version: 1
reservations:
  - name: consultation
    owner: wp10
    profile: interactive
    source: anl-premium
    destination: lbnl-premium:5004
    protocol: udp
    rate: 164 kbit/s
    start: now
    duration: 1 h
```

On the command line `slotcar create --profile interactive`, on the page "Application", for a program a key of the
reservation."""
NOTES = """\
The reference gives the PHBs and no numbers. The bounds of `interactive` are class 0 of ITU-T Y.1541; how a bound is
promised, and on which platforms, says [Promising a delay](../howto/delay.md). `rtt` gives the policers' bursts: what one
TCP connection needs behind a policer that drops is 400 ms of its rate (D7.3 Figure 2), and what is short never fills it.
`bulk` is asked for by a deadline (`volume`, `by`), by a rate (`rate`), or by what others leave (`share`)."""


def page() -> str:
    lines = [
        INTRODUCTION,
        "",
        "| profile | for | service | PHB there | where it is not said |",
        "|---|---|---|---|---|",
    ]
    for name, kind in KINDS.items():
        usual = ", ".join(f"`{key}: {value}`" for key, value in kind.usual.items()) or "nothing more"
        lines.append(f"| `{name.value}` | {kind.applications} | `{kind.service.value}` | {kind.phb} | {usual} |")
    lines += ["", NOTES, "", "## What does not go together", "", "| profile | key | why |", "|---|---|---|"]
    for name, kind in KINDS.items():
        whys = dict.fromkeys(kind.refused.values())
        for why in whys:
            keys = ", ".join(f"`{key.replace('=', ': ')}`" for key, one in kind.refused.items() if one == why)
            lines.append(f"| `{name.value}` | {keys} | {why} |")
        lines.append(f"| `{name.value}` | another `service` | it is `{kind.service.value}` |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
