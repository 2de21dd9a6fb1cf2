"""Becomes a command at an instant, so that what is started at different times begins at one. Standard library only.

at.py SECONDS-SINCE-THE-EPOCH COMMAND [ARGUMENT ...]
"""

from __future__ import annotations

import os
import sys
import time


def main(arguments: list[str]) -> None:
    time.sleep(max(0.0, float(arguments[0]) - time.time()))
    os.execvp(arguments[1], arguments[1:])  # noqa: S606 - a command of the lab itself


if __name__ == "__main__":
    main(sys.argv[1:])
