"""The operator's rules, out of the settings and the inventory."""

from __future__ import annotations

from controller.network.model import Network
from controller.policy.endpoints import endpoint_owners
from controller.policy.gate import Gate
from controller.policy.policy import Policy
from controller.policy.quotas import Quota
from controller.settings import OwnerQuota, Settings


def policy_of(settings: Settings, network: Network) -> Policy:
    usual = OwnerQuota(
        reservations=settings.quota_reservations,
        windows=settings.quota_windows,
        holds=settings.quota_holds,
        volume=settings.quota_volume_bytes,
    )
    return Policy(
        gate=Gate(settings.approval_rate_bps, settings.approval_duration),
        horizon=settings.horizon,
        longest_hold=settings.longest_hold,
        quota=_quota(usual, usual),
        owner_quotas={owner: _quota(own, usual) for owner, own in settings.owner_quotas.items()},
        endpoints=endpoint_owners(network),
    )


def _quota(own: OwnerQuota, usual: OwnerQuota) -> Quota:
    """What an owner's entry leaves out is as for everybody."""
    said = usual.model_dump() | own.model_dump(exclude_unset=True)
    volume_bytes = said["volume"]
    return Quota(
        said["reservations"], said["windows"], said["holds"], volume_bytes * 8 if volume_bytes is not None else None
    )
