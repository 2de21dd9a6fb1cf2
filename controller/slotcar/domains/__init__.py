"""Domains that agree: a connection over several domains, each with a controller and a ledger of its own."""
