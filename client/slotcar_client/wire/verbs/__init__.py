"""Verbs of the API, each as one program says it to the other: where it goes, its fields, what is answered, and what may go
wrong. Values are texts as people write them; the controller reads them.

A field that the address names goes there, one of a verb that reads into the query, and others into the body; a note beside
its type says otherwise. The docstring is the operation's description. A family of verbs is a module here, which the API's
document has as a tag.
"""

# A family's module holds verbs, and what they alone need: a new verb is written there, and nowhere else in the client.
# ruff: noqa: F403

from typing import Any

from slotcar_client.wire.verbs.audits import *
from slotcar_client.wire.verbs.connections import *
from slotcar_client.wire.verbs.costs import *
from slotcar_client.wire.verbs.delegations import *
from slotcar_client.wire.verbs.devices import *
from slotcar_client.wire.verbs.groups import *
from slotcar_client.wire.verbs.offers import *
from slotcar_client.wire.verbs.plans import *
from slotcar_client.wire.verbs.policies import *
from slotcar_client.wire.verbs.reservations import *
from slotcar_client.wire.verbs.shares import *
from slotcar_client.wire.verbs.slss import *
from slotcar_client.wire.verbs.usage import *
from slotcar_client.wire.verbs.verb import Place as Place
from slotcar_client.wire.verbs.verb import Verb as Verb
from slotcar_client.wire.verbs.verb import VerbField as VerbField
from slotcar_client.wire.verbs.views import *
from slotcar_client.wire.verbs.webhooks import *

#: By the operation's name, all of the families above.
VERBS: dict[str, type[Verb[Any]]] = {verb.operation: verb for verb in Verb.__subclasses__()}
