"""What the settings and the inventory make together: the pusher, the reconcile loop, and what holds routers and rolls them
back."""

from __future__ import annotations

from functools import partial

from slotcar.base.settings import Settings
from slotcar.base.timebase import SYSTEM, Clocks
from slotcar.book.shares import BackgroundShares
from slotcar.measuring.counters.metering import Meter
from slotcar.network.model import Network
from slotcar.recovery.held_routers import HeldRouters
from slotcar.rollout.adoption import Adoption
from slotcar.rollout.archive import Archive
from slotcar.rollout.beside import NOTHING, Beside
from slotcar.rollout.loop import ReconcileLoop
from slotcar.rollout.playbook import Playbooks
from slotcar.rollout.program import acts
from slotcar.rollout.pusher import Pusher
from slotcar.rollout.retention import Retention
from slotcar.rollout.schedule import Pace
from slotcar.rollout.status import LoopStatus
from slotcar.rollout.wanted import instants_of, wanted_for
from slotcar.store import Ledger
from slotcar_client.wire.events import Kind


def pusher_for(
    network: Network, settings: Settings, ledger: Ledger | None, clocks: Clocks = SYSTEM, beside: Beside | None = None
) -> Pusher:
    """Records what it does in the ledger's audit log, where there is a ledger."""

    def record(says: Kind, device: str) -> None:
        if ledger is not None:
            ledger.record(says, clocks.now(), device=device)

    return Pusher(
        Playbooks(
            settings.home,
            settings.need_inventory(),
            settings.vault_password_file,
            stop_timeout_s=settings.stop_timeout.total_seconds(),
            clocks=clocks,
        ),
        Archive(settings.state_dir),
        network.devices,
        record,
        clocks,
        beside or NOTHING,
    )


def loop_for(network: Network, settings: Settings, ledger: Ledger, clocks: Clocks = SYSTEM) -> ReconcileLoop:
    devices, archive = network.devices.values(), Archive(settings.state_dir)
    shares, status = BackgroundShares(network), LoopStatus()
    meter = Meter(ledger, network, shares, status, settings.check_interval, clocks) if settings.counters else None
    return ReconcileLoop(
        ledger=ledger,
        pusher=pusher_for(network, settings, ledger, clocks, meter),
        adoption=Adoption(ledger, archive, settings.adopt_all),
        wanted_for=wanted_for(network),
        pace=Pace(settings.stage_lead, settings.arm_ahead, settings.check_interval, all(map(acts, devices))),
        retention=Retention(archive, settings.keep_revisions),
        clocks=clocks,
        shares=shares,
        replan_period=settings.replan_interval,
        instants=partial(instants_of, network),
        status=status,
    )


def held_routers_for(network: Network, settings: Settings, ledger: Ledger, clocks: Clocks = SYSTEM) -> HeldRouters:
    return HeldRouters(ledger, network, partial(pusher_for, network, settings, clocks=clocks), clocks)
