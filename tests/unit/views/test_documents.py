"""Documents say of every amount in which unit it is: not all resources are links."""

from __future__ import annotations

import pytest

from slotcar.admission.model import Demand, Refused, Shortfall
from slotcar.admission.resource_id import ResourceId
from slotcar.base.timebase import Window
from slotcar.views.documents import demand_document, refusal_document, refused_of
from tests.support.requests import at

UNITS = {
    "cpu:dst": "millicores", "storage:dst:vdb:read": "bytes_per_s", "sls:alpha-transit": "bps",
    "if:r1:eth2:out:ip-premium": "bps", "nobody-manages-it:dst": "units",
}  # fmt: skip


@pytest.mark.parametrize("name", UNITS)
def test_an_amounts_unit_is_beside_it(name: str) -> None:
    resource = ResourceId.parse(name)
    demand = demand_document(Demand(resource, (4000,)))
    assert demand == {"resource": name, "unit": UNITS[name], "rate_bps": 4000, "amounts": [4000]}
    refused = Refused((Shortfall(resource, Window(at(0), at(10)), 4000, 1000, 3000),), None, 1000)
    document = refusal_document(refused)
    (shortfall,) = document["shortfalls"]
    assert (shortfall["unit"], shortfall["requested_bps"]) == (UNITS[name], 4000)
    assert refused_of(document) == refused
