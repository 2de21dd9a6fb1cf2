"""What the rest of Slotcar asks of `linux-host`: a machine whose cores and disks are reserved."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from slotcar.base.registry import DeviceOptions, Facts, ShellNeeds, TransportKind
from slotcar.base.vocabulary import Marking

_PARTS = ("systemd.sh", "binding.sh", "host.sh")


@cache
def script() -> str:
    """What takes the lines of a change on the host, for any shell."""
    return "".join(Path(__file__).with_name(part).read_text(encoding="utf-8") for part in _PARTS)


FACTS = Facts(
    transport=TransportKind.LINUX,
    options=DeviceOptions,
    markings=(Marking.DSCP,),
    acts_with="",
    acts_words="hosts",
    flows_share=False,
    batch_script=script,
    # Its own scripts run no program that the revision's does not, and cgroups have no modules. `systemd --user` gives an
    # account's own cores, and nothing of a disk.
    needs=ShellNeeds(only_root_may="give the bandwidth of a disk", without_root=frozenset({"cpu"})),
)
