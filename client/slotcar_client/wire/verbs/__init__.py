"""Verbs of the API, each as one program says it to the other: where it goes, its fields, what is answered, and what may go
wrong. Values are texts as people write them; the controller reads them.

A field that the address names goes there, one of a verb that reads into the query, and others into the body; a note beside
its type says otherwise. The docstring is the operation's description. A family of verbs is a module here, which the API's
document has as a tag.
"""

from typing import Any

from slotcar_client.wire.verbs.audits import Audits, RecordStream
from slotcar_client.wire.verbs.connections import (
    CommitConnection,
    Connect,
    ConnectFurther,
    Connections,
    ConnectionStatus,
    Domains,
    EndConnection,
    ModifyConnection,
    SettleConnections,
    ShowTicket,
)
from slotcar_client.wire.verbs.costs import Closest, Costs, EstimateAccuracy, Gather, RecordProbe, RecordTransfer
from slotcar_client.wire.verbs.delegations import Delegate, Delegations, Withdraw
from slotcar_client.wire.verbs.devices import Difference, Hold, Holds, Release
from slotcar_client.wire.verbs.groups import (
    Group,
    GroupApprove,
    GroupCancel,
    GroupCommit,
    GroupCreate,
    GroupCreateAll,
    GroupList,
    GroupReject,
)
from slotcar_client.wire.verbs.offers import Endpoints, Limits, Services, Whoami
from slotcar_client.wire.verbs.plans import Apply
from slotcar_client.wire.verbs.policies import PolicyWhy
from slotcar_client.wire.verbs.reservations import (
    Addable,
    Approve,
    Bind,
    Cancel,
    Commit,
    Create,
    Enquire,
    Extend,
    List,
    Modify,
    Progress,
    Rates,
    Reject,
    Status,
)
from slotcar_client.wire.verbs.shares import ShareGive, ShareList, ShareWithdraw
from slotcar_client.wire.verbs.usage import CountedUsage, LinkUsage, ReservationUsage, UnusedReservations
from slotcar_client.wire.verbs.verb import Place, Verb, VerbField
from slotcar_client.wire.verbs.views import (
    Boundaries,
    Boundary,
    Configurations,
    Controller,
    DeviceStates,
    Events,
    Network,
    Resources,
    Revisions,
    Timeline,
    Usage,
)
from slotcar_client.wire.verbs.webhooks import (
    WebhookAdd,
    WebhookDeadLetters,
    WebhookList,
    WebhookRedeliver,
    WebhookRemove,
    WebhookTest,
)

__all__ = [
    "VERBS",
    "Addable",
    "Apply",
    "Approve",
    "Audits",
    "Bind",
    "Boundaries",
    "Boundary",
    "Cancel",
    "Closest",
    "Commit",
    "CommitConnection",
    "Configurations",
    "Connect",
    "ConnectFurther",
    "ConnectionStatus",
    "Connections",
    "Controller",
    "Costs",
    "CountedUsage",
    "Create",
    "Delegate",
    "Delegations",
    "DeviceStates",
    "Difference",
    "Domains",
    "EndConnection",
    "Endpoints",
    "Enquire",
    "EstimateAccuracy",
    "Events",
    "Extend",
    "Gather",
    "Group",
    "GroupApprove",
    "GroupCancel",
    "GroupCommit",
    "GroupCreate",
    "GroupCreateAll",
    "GroupList",
    "GroupReject",
    "Hold",
    "Holds",
    "Limits",
    "LinkUsage",
    "List",
    "Modify",
    "ModifyConnection",
    "Network",
    "Place",
    "PolicyWhy",
    "Progress",
    "Rates",
    "RecordProbe",
    "RecordStream",
    "RecordTransfer",
    "Reject",
    "Release",
    "ReservationUsage",
    "Resources",
    "Revisions",
    "Services",
    "SettleConnections",
    "ShareGive",
    "ShareList",
    "ShareWithdraw",
    "ShowTicket",
    "Status",
    "Timeline",
    "UnusedReservations",
    "Usage",
    "Verb",
    "VerbField",
    "WebhookAdd",
    "WebhookDeadLetters",
    "WebhookList",
    "WebhookRedeliver",
    "WebhookRemove",
    "WebhookTest",
    "Whoami",
    "Withdraw",
]
#: By the operation's name, all of the families above.
VERBS: dict[str, type[Verb[Any]]] = {verb.operation: verb for verb in Verb.__subclasses__()}
