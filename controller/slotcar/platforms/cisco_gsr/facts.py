"""What the rest of Slotcar asks of `cisco-gsr`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StrictBool, StrictInt, model_validator

from slotcar.base.registry import Facts, TransportKind, Watch
from slotcar.base.units import UnitError
from slotcar.base.vocabulary import Marking
from slotcar.platforms.ios.facts import FlowLists
from slotcar.platforms.ios.interface_names import full_name


class Queueing(StrEnum):
    MQC = "mqc"
    COS_QUEUE_GROUP = "cos-queue-group"


class LowLatency(StrEnum):
    STRICT = "strict"
    ALTERNATE = "alternate"


class GsrOptions(FlowLists):
    """`slotcar_options` of a Cisco 12000.

    Attributes:
        queueing: which of its two command lines the line cards take.
        low_latency: how premium's queue is served.
        queues: what the poorest line card has.
        approximate: where the queues are too few, QBSS may wait in best effort's.
    """

    queueing: Queueing = Queueing.MQC
    low_latency: LowLatency = LowLatency.STRICT
    queues: Annotated[StrictInt, Field(ge=2, le=8)] = 8
    approximate: StrictBool = False

    @model_validator(mode="after")
    def _modular_is_strict(self) -> Self:
        if self.queueing is Queueing.MQC and self.low_latency is LowLatency.ALTERNATE:
            raise UnitError(
                "the modular command line serves the low-latency queue in strict priority only",
                "low_latency: alternate",
                "low_latency: alternate needs queueing: cos-queue-group",
            )
        return self


FACTS = Facts(
    counts=True,
    bounds_delay=True,
    most_assured_classes=4,
    transport=TransportKind.IOS,
    options=GsrOptions,
    markings=(Marking.PRECEDENCE,),
    watch=Watch.SYSLOG,
    interface_name=full_name,
)
