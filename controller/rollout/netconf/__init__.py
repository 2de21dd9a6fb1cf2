"""The way to NETCONF peers: one process that talks to many routers at once, in the steps of `controller.rollout.ios`."""

from __future__ import annotations

from controller.rollout.ios.steps import Order, Outcome, Step
from controller.rollout.netconf.fanout import Job, fan_out
from controller.rollout.netconf.login import netconf_login

__all__ = ["Job", "Order", "Outcome", "Step", "fan_out", "netconf_login"]
