"""Entry point of the agent: `main.py PLAN` builds and serves, `main.py --teardown PREFIX` removes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

# Started by path with `python -I -S`: no site-packages, no environment, so the package is found from here.
sys.path.insert(0, str(Path(__file__).parents[2]))

from slotcar_lab.agent import builder, server


def main(arguments: list[str]) -> int:
    if arguments[0] == "--teardown":
        for name in builder.teardown(arguments[1]):
            print(f"removed {name}")
        return 0
    plan = json.loads(Path(arguments[0]).read_text())
    os.environ.update(plan["environment"])
    try:
        entered = builder.build(plan)
    except builder.BuildError as error:
        print(f"slotcar: failed: {error}", flush=True)
        builder.teardown(plan["prefix"])
        return 1
    print("slotcar: ready", flush=True)
    try:
        server.Agent(plan, entered).serve()
    finally:
        builder.teardown(plan["prefix"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
