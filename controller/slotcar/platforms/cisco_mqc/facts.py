"""What the rest of Slotcar asks of `cisco-mqc`."""

from __future__ import annotations

from slotcar.base.registry import Facts, RouterWithEventManager, TransportKind, Watch
from slotcar.base.vocabulary import Marking
from slotcar.platforms.ios.facts import ACTS_WITH, ACTS_WORDS, SHAPER, ModularOptions
from slotcar.platforms.ios.interface_names import full_name


class MqcOptions(ModularOptions, RouterWithEventManager):
    """`slotcar_options` of a router with IOS's modular QoS command line."""


FACTS = Facts(
    counts=True,
    bounds_delay=True,
    most_assured_classes=8,
    remarks=True,
    shaper=SHAPER,
    transport=TransportKind.IOS,
    options=MqcOptions,
    markings=(Marking.DSCP,),
    acts_with=ACTS_WITH,
    acts_words=ACTS_WORDS,
    watch=Watch.SYSLOG,
    interface_name=full_name,
)
