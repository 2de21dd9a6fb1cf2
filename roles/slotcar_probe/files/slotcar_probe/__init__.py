"""Probes for audits of SLSs: a STAMP sender and reflector (RFC 8762), of the standard library alone."""
