"""The path room: what a reservation's traffic crosses, one `Path` for each reserved direction. It knows no time."""

from slotcar.network.path.errors import NoPath
from slotcar.network.path.finding import find_paths
from slotcar.network.path.model import Hop, Path

__all__ = ["Hop", "NoPath", "Path", "find_paths"]
