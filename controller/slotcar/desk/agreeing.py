"""The agreement of a controller that has one domain, composed from its settings and its desk."""

from __future__ import annotations

from slotcar.desk.desk import Desk
from slotcar.desk.segments import LedgerSegments
from slotcar.desk.sls_keeping import LedgerSlss
from slotcar.domains.agreeing_on_volumes import Volumes
from slotcar.domains.agreement import Agreement, Threads
from slotcar.domains.carrying import HttpsCarrier
from slotcar.domains.keys import load_key
from slotcar.domains.neighbours import load_neighbours
from slotcar.domains.of_slss import OfSlss

#: So long a client waits for the domains to agree; it may ask again.
LONGEST_WAIT_S = 30.0


def agreement_for(desk: Desk) -> Agreement | None:
    """None where the controller has all domains of its inventory.

    Raises:
        KeyUnusable: the domain's key, or a neighbour's certificate.
    """
    settings = desk.settings
    if settings.domain is None:
        return None
    key = load_key(settings.domain, settings.domain_key_path, settings.domain_certificate_path)
    inventory = settings.need_inventory()
    folder = inventory if inventory.is_dir() else inventory.parent
    carrier, threads, network = HttpsCarrier(key), Threads(), desk.network
    agreement = Agreement(
        settings.domain, network, desk.ledger.connections, LedgerSegments(desk, settings.domain), key,
        load_neighbours(network, settings.domain, folder), carrier, desk.clocks.now, threads,
        (threads.close, carrier.close), slss=OfSlss(settings.domain, network, key, LedgerSlss(desk, settings.domain)),
    )  # fmt: skip
    agreement.plan_again = volumes_of(agreement).plan_again
    return agreement


def volumes_of(agreement: Agreement) -> Volumes:
    return Volumes(agreement, lambda connection, version: agreement.in_force(connection, version, LONGEST_WAIT_S))
