"""What the rest of Slotcar asks of `linux-host`: a machine whose cores and disks are reserved."""

from __future__ import annotations

from pathlib import Path

from slotcar.registry import Facts, PlatformOptions, TransportKind
from slotcar.vocabulary import Marking

#: What takes the lines of a change on the host.
SCRIPT = Path(__file__).with_name("host.sh")
FACTS = Facts(
    transport=TransportKind.LINUX,
    options=PlatformOptions,
    markings=(Marking.DSCP,),
    acts_with="",
    acts_words="hosts",
    flows_share=False,
    batch_script=SCRIPT,
)
