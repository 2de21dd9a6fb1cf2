"""What a site's perfSONAR measured of SLSs, read from its pScheduler over HTTP (ADR 87)."""
