"""The API's verbs, each once, as conversations without I/O: `Slotcar` and `AsyncSlotcar` have them as methods.

Every verb raises `NoAnswer` where the controller is not reached, and `Problem` where it does not do it. `which` is a
handle, or `OWNER/NAME` (the live reservation of that name, else the latest). A time is a text or an aware datetime.
"""

from slotcar_client.calls.audit_verbs import audits, record_stream
from slotcar_client.calls.controller_verbs import alive, controller, metrics, ready
from slotcar_client.calls.cost_verbs import closest, costs, estimate_accuracy, gather, record_probe, record_transfer
from slotcar_client.calls.delegation_verbs import delegate, delegations, withdraw
from slotcar_client.calls.device_verbs import (
    adopt,
    configurations,
    device_states,
    difference,
    differences,
    hold,
    holds,
    release,
    revisions,
)
from slotcar_client.calls.event_verbs import (
    events,
    webhook_add,
    webhook_dead_letters,
    webhook_list,
    webhook_redeliver,
    webhook_remove,
    webhook_test,
)
from slotcar_client.calls.file_verbs import apply, plan
from slotcar_client.calls.group_verbs import (
    group,
    group_approve,
    group_cancel,
    group_commit,
    group_create,
    group_create_all,
    group_reject,
    groups,
)
from slotcar_client.calls.network_verbs import network, resources
from slotcar_client.calls.offer_verbs import endpoints, limits, services, whoami
from slotcar_client.calls.reservation_verbs import (
    LIVE,
    addable,
    approve,
    bind,
    cancel,
    commit,
    create,
    enquire,
    explain,
    extend,
    modify,
    progress,
    reject,
    reservation,
    reservations,
)
from slotcar_client.calls.share_verbs import share_give, share_list, share_withdraw
from slotcar_client.calls.sls_verbs import change_sls, end_sls, open_sls, slss
from slotcar_client.calls.timeline_verbs import boundaries, boundary, timeline, usage

__all__ = [
    "LIVE",
    "addable",
    "adopt",
    "alive",
    "apply",
    "approve",
    "audits",
    "bind",
    "boundaries",
    "boundary",
    "cancel",
    "change_sls",
    "closest",
    "commit",
    "configurations",
    "controller",
    "costs",
    "create",
    "delegate",
    "delegations",
    "device_states",
    "difference",
    "differences",
    "end_sls",
    "endpoints",
    "enquire",
    "estimate_accuracy",
    "events",
    "explain",
    "extend",
    "gather",
    "group",
    "group_approve",
    "group_cancel",
    "group_commit",
    "group_create",
    "group_create_all",
    "group_reject",
    "groups",
    "hold",
    "holds",
    "limits",
    "metrics",
    "modify",
    "network",
    "open_sls",
    "plan",
    "progress",
    "ready",
    "record_probe",
    "record_stream",
    "record_transfer",
    "reject",
    "release",
    "reservation",
    "reservations",
    "resources",
    "revisions",
    "services",
    "share_give",
    "share_list",
    "share_withdraw",
    "slss",
    "timeline",
    "usage",
    "webhook_add",
    "webhook_dead_letters",
    "webhook_list",
    "webhook_redeliver",
    "webhook_remove",
    "webhook_test",
    "whoami",
    "withdraw",
]
