"""What its queues are surely given: as IOS's modular QoS serves them."""

from __future__ import annotations

from slotcar.platforms.ios.delays import service_curve as service_curve
