"""Entry point of the agent: `main.py PLAN` builds and serves, `main.py --teardown PREFIX` removes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

# Started by path with `python -I -S`: no site-packages, no environment, so the package is found from here.
sys.path.insert(0, str(Path(__file__).parents[2]))

from slotcar_lab.agent import builder, server
from slotcar_lab.agent.hold import Hold, shared_memory


def main(arguments: list[str]) -> int:
    if arguments[0] == "--teardown":
        for name in builder.teardown(arguments[1]):
            print(f"removed {name}")
        return 0
    plan = json.loads(Path(arguments[0]).read_text())
    os.environ.update(plan["environment"])
    hold = Hold(shared_memory()) if plan["virtual_time"] else None  # before any thread: it forks
    try:
        entered = builder.build(plan)
    except builder.BuildError as error:
        print(f"slotcar: failed: {error}", flush=True)
        builder.teardown(plan["prefix"])
        return 1
    if hold is not None:
        hold.begin()
    print("slotcar: ready", flush=True)
    try:
        server.Agent(plan, entered, hold).serve()
    finally:
        builder.teardown(plan["prefix"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
