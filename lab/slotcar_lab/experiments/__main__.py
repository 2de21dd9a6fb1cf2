"""`python -m slotcar_lab.experiments [NAME ...]`: runs these experiments, by default all, and writes the report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from slotcar_lab.experiments.running import GUESTS, main_of
from slotcar_lab.experiments.running import REPORT as FOLDER
from slotcar_lab.experiments.scale import REPORT, part_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 where all ran, whatever they showed; 2 where one could not run."""
    # The report has the command: `make results` refuses one that was shortened, by the option's name.
    parser = argparse.ArgumentParser(prog="python -m slotcar_lab.experiments", description=__doc__, allow_abbrev=False)
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments, such as emerge-1")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the report (var/lab-report)")
    parser.add_argument("--smoke", action="store_true", help="short: shows that the machinery works, and little else")
    parser.add_argument(
        "--real-time",
        action="store_true",
        help="to watch, not to measure: by this machine's clock, whose other work shows in the figures",
    )
    parser.add_argument(
        "--scale",
        default=str(REPORT),
        metavar="PART",
        help=f"of the papers' rates, such as 1/32; 1 is the papers' own ({REPORT})",
    )
    parser.add_argument("--guests", type=int, default=GUESTS, help=f"labs side by side, in virtual time ({GUESTS})")
    options = parser.parse_args(arguments)
    if options.guests < 1:
        parser.error("--guests: at least 1")
    try:
        part = part_of(options.scale)
    except ValueError as error:
        parser.error(f"--scale: {error}")
    return main_of(
        options.names, options.out, smoke=options.smoke, real_time=options.real_time, part=part, guests=options.guests
    )


if __name__ == "__main__":
    sys.exit(main())
