"""`python -m slotcar_lab.demo`."""

import sys

from slotcar_lab.demo.run import main

sys.exit(main())
