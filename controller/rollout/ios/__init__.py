"""The way to Cisco IOS: one process that talks to many routers at once, in steps that playbooks call (ADR 5)."""

from __future__ import annotations

from controller.rollout.ios.fanout import Job, fan_out, fan_out_push
from controller.rollout.ios.login import Login
from controller.rollout.ios.steps import Order, Outcome, Step

__all__ = ["Job", "Login", "Order", "Outcome", "Step", "fan_out", "fan_out_push"]
