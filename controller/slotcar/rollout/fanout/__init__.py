"""The way to devices without a shell of their own: one process that talks to all of them at once, in steps (ADR 5)."""

from __future__ import annotations

from slotcar.rollout.fanout.families import SERVED, job_of, serves
from slotcar.rollout.fanout.login import Login
from slotcar.rollout.fanout.running import Job, fan_out, fan_out_push
from slotcar.rollout.steps import Outcome, PushStep
from slotcar.rollout.transport import DeviceError, Order, Unreachable

__all__ = [
    "SERVED",
    "DeviceError",
    "Job",
    "Login",
    "Order",
    "Outcome",
    "PushStep",
    "Unreachable",
    "fan_out",
    "fan_out_push",
    "job_of",
    "serves",
]
