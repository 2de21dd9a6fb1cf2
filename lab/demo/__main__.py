"""`python -m lab.demo`."""

import sys

from lab.demo.run import main

sys.exit(main())
