"""GARA's verbs over the rooms: create, hold, commit, modify, bind, cancel, approve; plan and apply.

Each verb takes the caller and `now`, checks the right, composes the rooms, and leaves deciding to admission and keeping
to the ledger. It holds no state of its own, so any number of brokers may share one ledger.
"""

from slotcar.broker.broker import Broker
from slotcar.broker.requests import Options

__all__ = ["Broker", "Options"]
