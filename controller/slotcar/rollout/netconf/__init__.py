"""NETCONF peers as a family of the fan-out."""

from __future__ import annotations

from slotcar.rollout.netconf.login import netconf_login

__all__ = ["netconf_login"]
