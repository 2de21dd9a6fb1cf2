"""GARA's verbs and the operator's: what the CLI and the API both call. Compose the rooms, decide nothing."""

from controller.verbs.broker import Applied, Broker, Options
from controller.verbs.changes import Modification

__all__ = ["Applied", "Broker", "Modification", "Options"]
