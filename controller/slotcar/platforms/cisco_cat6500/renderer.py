"""Catalyst 6500 with IOS 12.1E, as DataGRID measured it in its LANs (D7.3 §8.1.1, §8.2): policers of the PFC on ingress,
WRR on egress."""

from __future__ import annotations

from slotcar.platforms.cisco_cat6500.build import owned_of, policer
from slotcar.platforms.cisco_cat6500.change import change_lines
from slotcar.platforms.cisco_cat6500.running import check_clear, owned_in
from slotcar.platforms.ios.rate_limits import doubtful_limits
from slotcar.platforms.ios.renderer import IosRenderer

RENDERER = IosRenderer("cisco-cat6500", owned_of, owned_in, check_clear, doubtful_limits, change_lines, policer)
