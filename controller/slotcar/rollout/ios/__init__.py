"""Cisco IOS's command line as a family of the fan-out: over SSH, or through NAPALM."""
