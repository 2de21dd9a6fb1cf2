"""Admission: does a request fit beside everything that is reserved, and if not, what, where, when and how much."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slotcar.admission.decision import decide as decide
    from slotcar.admission.decision import enquire as enquire
    from slotcar.admission.model import Admitted as Admitted
    from slotcar.admission.model import Demand as Demand
    from slotcar.admission.model import Enquiry as Enquiry
    from slotcar.admission.model import Refused as Refused
    from slotcar.admission.model import Shortfall as Shortfall
    from slotcar.admission.resource_id import ResourceId as ResourceId
    from slotcar.admission.resource_id import interface_resource as interface_resource
    from slotcar.admission.resource_id import sls_resource as sls_resource
    from slotcar.admission.resources import capacities as capacities
    from slotcar.admission.resources import demands as demands
    from slotcar.admission.tables import SlotTables as SlotTables

#: Where each name is. Imported when it is asked for: the kernels' compiler takes a second that a model does not need.
_PLACES = {
    "SlotTables": "tables",
    "decide": "decision",
    "enquire": "decision",
    "capacities": "resources",
    "demands": "resources",
    "interface_resource": "resource_id",
    "sls_resource": "resource_id",
    "Admitted": "model",
    "Demand": "model",
    "Enquiry": "model",
    "Refused": "model",
    "ResourceId": "resource_id",
    "Shortfall": "model",
}
__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = value
    return value
