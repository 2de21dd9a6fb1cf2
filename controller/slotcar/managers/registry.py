"""The managers that are installed, found by entry point."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from pydantic import ValidationError

from slotcar.base.problems import SlotcarError
from slotcar.managers.model import CallOuts, Request, ResourceManager

#: The group of the entry points: `KIND = "MODULE:MANAGER"`.
GROUP = "slotcar.resources"


class BadManager(SlotcarError):
    """An installed resource manager cannot be used; the message names its package and says why."""


@cache
def managers() -> Mapping[str, ResourceManager]:
    """The installed resource managers, by kind.

    Raises:
        BadManager: one cannot be loaded, or is none; or two have the same kind.
    """
    by_kind: dict[str, ResourceManager] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        package = point.dist.name if point.dist else point.value
        try:
            manager = point.load()
        except (ImportError, AttributeError) as error:
            raise BadManager(f"the resource manager {point.name} of {package} cannot be loaded: {error}") from error
        if not isinstance(manager, ResourceManager) or manager.kind != point.name:
            raise BadManager(f"{point.value} of {package} is not a resource manager of the kind {point.name}")
        if manager.platform is None and not isinstance(manager, CallOuts):
            raise BadManager(
                f"the resource manager {point.name} of {package} has neither a platform nor the call-outs enable,"
                " disable, verify, read"
            )
        if manager.kind in by_kind:
            raise BadManager(f"two installed packages manage resources of the kind {manager.kind}; one is {package}")
        by_kind[manager.kind] = manager
    return by_kind


def request_of(kind: str, document: Mapping[str, Any]) -> Request | None:
    """The request in the form of its kind's manager. None where no package manages the kind any more, or where its
    present version does not take such a request.
    """
    manager = manager_of(kind)
    try:
        return manager.request.model_validate(dict(document)) if manager else None
    except ValidationError:
        return None


def manager_of(kind: str) -> ResourceManager | None:
    """The manager of a kind; None where no installed package manages it."""
    return managers().get(kind)
