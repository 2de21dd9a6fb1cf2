"""`python -m tests.support.dispatcher URL`: delivers webhooks of a database until it is killed."""

from __future__ import annotations

import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

from slotcar.notify.dispatching import Dispatcher
from slotcar.notify.signing import DerivedSecrets
from slotcar.store import open_ledger

if __name__ == "__main__":
    with open_ledger(sys.argv[1], Path()) as opened:
        Dispatcher(opened, lambda: True, lambda: datetime.now(UTC), DerivedSecrets(Path("webhook-key"))).run(
            threading.Event()
        )
