"""Devices: what they have, and holds on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from slotcar_client.wire import documents
from slotcar_client.wire.documents import Time
from slotcar_client.wire.verbs.texts import Device, Line, Reason
from slotcar_client.wire.verbs.verb import BODY, CHANGE, Verb

#: A thousand devices may be read, of which some do not answer.
READING_S = 600.0


@dataclass(frozen=True)
class Difference(
    Verb[documents.DifferenceOfDevice],
    to="GET /v1/devices/{device}/difference",
    summary="Where a device differs from what is wanted now",
    errors=CHANGE,
):
    """Reads the device through Ansible, which takes seconds, and changes nothing.

    `state` is `equal`, `different` with a unified diff of the part that is Slotcar's, or `failed` with the reason why
    the device could not be read.
    """

    device: Device


@dataclass(frozen=True)
class Differences(
    Verb[documents.Comparison],
    to="GET /v1/differences",
    summary="Where devices differ from what is wanted now",
    errors=(401, 403, 404, 422, 503),
    answer_s=READING_S,
):
    """As `difference` of each, all of them read at once."""

    device: Annotated[Sequence[Line] | None, "only this one; may be repeated; all, without"] = None


@dataclass(frozen=True)
class Adopt(
    Verb[documents.Adoption],
    to="POST /v1/devices/{device}/adopt",
    summary="Let Slotcar manage a device",
    errors=(401, 403, 404, 503),
):
    """Until then nothing is pushed to a device that Slotcar has never managed. The controller that leads pushes to it as
    soon as this is recorded; look at its difference before.

    Of a device that is managed already, nothing is recorded.
    """

    device: Device


@dataclass(frozen=True)
class Holds(Verb[documents.Holds], to="GET /v1/holds", summary="The devices that are held", errors=(401, 403, 503)):
    """By name, each with why, by whom, and until when."""


@dataclass(frozen=True)
class Hold(
    Verb[documents.Hold],
    to="POST /v1/devices/{device}/hold",
    summary="Hold a device as it is",
    errors=(401, 403, 404, 503, *BODY),
):
    """The controller that leads leaves it alone from its next turn on; a push that is under way ends.

    With `until`, the hold ends by itself then, and the controller makes the device as the ledger wants it.
    """

    device: Device
    reason: Reason = ""
    until: Annotated[Time | None, "when the controller manages it again; left out: once it is released"] = None


@dataclass(frozen=True)
class Release(
    Verb[documents.Hold], to="POST /v1/devices/{device}/release", summary="End the hold of a device", errors=CHANGE
):
    """The controller that leads reads it then, and pushes what the ledger wants. The answer is the hold that was ended."""

    device: Device
