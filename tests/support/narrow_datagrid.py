"""DataGRID's network with one link that is soon full, so that a second way is worth taking (ADR 25)."""

from __future__ import annotations

from slotcar.base.vocabulary import Service
from slotcar.network import load_network
from slotcar.network.model import Network
from tests.support.cisco import ROOT

DATAGRID = ROOT / "inventories" / "datagrid"
MBIT = 1_000_000


def narrow_datagrid() -> Network:
    """The direct link from Switzerland to Italy has 50 Mbit/s for premium."""
    network = load_network(DATAGRID, None)
    device = network.devices["geant-ch"]
    [port] = [one for one in device.interfaces.values() if one.neighbour and one.neighbour.device == "geant-it"]
    share = {Service.IP_PREMIUM: 50 * MBIT * 1_000_000 // port.capacity_bps}
    ports = device.interfaces | {port.id.name: port.model_copy(update={"shares_ppm": port.shares_ppm | share})}
    devices = network.devices | {"geant-ch": device.model_copy(update={"interfaces": ports})}
    return network.model_copy(update={"devices": devices})
