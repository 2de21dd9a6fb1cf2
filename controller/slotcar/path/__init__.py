"""The path room: what a reservation's traffic crosses, one `Path` for each reserved direction. It knows no time."""

from slotcar.path.errors import NoPath
from slotcar.path.finding import find_paths
from slotcar.path.model import Hop, Path

__all__ = ["Hop", "NoPath", "Path", "find_paths"]
