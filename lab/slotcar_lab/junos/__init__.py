"""A router with Junos in software, for tests: NETCONF over SSH with Junos's manners.

A candidate that one session may hold, `commit check`, confirmed commits of RFC 4741, `rollback`, what is deactivated,
groups and interface ranges. ncclient, PyEZ and NAPALM's `junos` driver drive it as they are. It forwards no packet.
What it takes is data: `lab/slotcar_lab/junos/statements.yml`.
"""

from __future__ import annotations

from slotcar_lab.junos.counters import Packets
from slotcar_lab.junos.router import JunosRouter
from slotcar_lab.junos.tree import Refused

__all__ = ["JunosRouter", "Packets", "Refused"]
