"""Verbs of the API, each as one program says it to the other: where it goes, its fields, what is answered, and what may go
wrong. Values are texts as people write them; the controller reads them.

A field that the address names goes there, one of a verb that reads into the query, and others into the body; a note beside
its type says otherwise. The docstring is the operation's description. A family of verbs is a module here.
"""

from typing import Any

from slotcar_client.wire.verbs.devices import Difference, Hold, Holds, Release
from slotcar_client.wire.verbs.offers import Endpoints, Limits, Services, Whoami
from slotcar_client.wire.verbs.reservations import Commit, Create, Status
from slotcar_client.wire.verbs.verb import Place, Verb, VerbField

__all__ = [
    "VERBS",
    "Commit",
    "Create",
    "Difference",
    "Endpoints",
    "Hold",
    "Holds",
    "Limits",
    "Place",
    "Release",
    "Services",
    "Status",
    "Verb",
    "VerbField",
    "Whoami",
]
#: By name, all of the families above.
VERBS: dict[str, type[Verb[Any]]] = {one.name: one for one in Verb.__subclasses__()}
