"""What the settings and the inventory make together: the operator's policy, the pusher, the reconcile loop, and what holds
routers and rolls them back."""

from __future__ import annotations

from functools import partial
from typing import Any

from slotcar.base.registry import facts_of
from slotcar.base.settings import OwnerQuota, Settings
from slotcar.base.timebase import SYSTEM, Clocks
from slotcar.book.rules.endpoints import endpoint_owners
from slotcar.book.rules.gate import Gate
from slotcar.book.rules.policy import Policy
from slotcar.book.rules.quotas import Quota
from slotcar.book.rules.reserving import ReservingRules
from slotcar.book.shares import BackgroundShares
from slotcar.measuring.counters.metering import Meter
from slotcar.network.model import Network
from slotcar.policy.questions import named
from slotcar.policy.site import site_of
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
        instants=instants_of(network),
        status=status,
    )


def held_routers_for(network: Network, settings: Settings, ledger: Ledger, clocks: Clocks = SYSTEM) -> HeldRouters:
    return HeldRouters(ledger, network, partial(pusher_for, network, settings, clocks=clocks), clocks)


def policy_of(settings: Settings, network: Network) -> Policy:
    usual = OwnerQuota(
        reservations=settings.quota_reservations,
        windows=settings.quota_windows,
        holds=settings.quota_holds,
        volume=settings.quota_volume_bytes,
    )
    site = site_of(settings.inventory)
    return Policy(
        gate=Gate(settings.approval_rate_bps, settings.approval_duration, site.policies),
        horizon=settings.horizon,
        longest_hold=settings.longest_hold,
        frozen=settings.frozen_horizon,
        quota=_quota(usual, usual),
        owner_quotas={owner: _quota(own, usual) for owner, own in settings.owner_quotas.items()},
        endpoints=endpoint_owners(network, site.policies),
        reserving=ReservingRules(
            site, {name: device.domain for name, device in network.devices.items()}, _agreements(network)
        ),
        least_rate_bps=max((facts_of(one.platform).police_floor_bps for one in network.devices.values()), default=0),
    )


def _agreements(network: Network) -> dict[str, dict[str, Any]]:
    """What each domain may ask for, as policies are told."""
    return {
        name: {
            **({} if domain.at_most_bps is None else {"at_most_bps": domain.at_most_bps}),
            **({"services": [named("Service", one.value) for one in domain.services]} if domain.services else {}),
        }
        for name, domain in network.domains.items()
    }


def _quota(own: OwnerQuota, usual: OwnerQuota) -> Quota:
    """An owner's quota; what its entry leaves out is as for everybody."""
    limits = usual.model_dump() | own.model_dump(exclude_unset=True)
    volume_bytes = limits["volume"]
    return Quota(
        limits["reservations"],
        limits["windows"],
        limits["holds"],
        volume_bytes * 8 if volume_bytes is not None else None,
    )
