"""The path room: what a reservation's traffic crosses, one `Path` for each reserved direction. It knows no time."""

from controller.path.errors import NoPath
from controller.path.finding import find_paths
from controller.path.model import Hop, Path

__all__ = ["Hop", "NoPath", "Path", "find_paths"]
