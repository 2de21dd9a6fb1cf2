"""What a transfer to a host would take from each other one, without a reservation and with one; and how good that was."""

from __future__ import annotations

from typing import Any

from slotcar.measuring.costs.documents import soonest
from slotcar.web.serving import WebPage
from slotcar.web.visit import Answer, Shown, Visit
from slotcar_client.wire import documents, verbs

USUAL_VOLUME = "1 GB"
#: A network has few end systems that store; of more the first by name are asked.
MOST_SOURCES = 20


def show(visit: Visit) -> Answer:
    """
    Raises:
        InvalidInput: an end system or the volume is wrong.
    """
    desk, network = visit.desk, visit.desk.network
    hosts = [one["name"] for one in visit.desk.send(verbs.Endpoints(), visit.caller)["hosts"]]
    destination, source = visit.parameter("destination"), visit.parameter("source")
    volume = visit.parameter("volume", USUAL_VOLUME)
    listed: list[documents.Costs] = []
    if destination:
        storing = [name for name in hosts if not network.hosts[name].roles or "storage" in network.hosts[name].roles]
        sources = [source] if source else [name for name in storing if name != destination][:MOST_SOURCES]
        asked_for = [verbs.Costs(one, destination, volume) for one in sources]
        listed = sorted((desk.send(one, visit.caller) for one in asked_for), key=soonest)
    model: dict[str, Any] = {
        "hosts": hosts, "typed": {"source": source, "destination": destination, "volume": volume}, "listed": listed,
        "accuracy": desk.send(verbs.EstimateAccuracy(), visit.caller),
        "unknown": list(dict.fromkeys(words for one in listed for words in one["unknown"])),
    }  # fmt: skip
    return Shown("costs/page.html", model)


PAGES = (WebPage("/costs", show, verb="costs", query=("source", "destination", "volume")),)
