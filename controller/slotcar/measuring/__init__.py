"""What was promised is measured: what devices counted, what probes saw, what transfers took."""
