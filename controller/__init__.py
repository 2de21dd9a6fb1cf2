"""Slotcar: a bandwidth broker that runs as network automation.

Data flows one way through the rooms: reservation, network, path, admission, ledger, timeline, intent, render, rollout.
`api` and `cli` are faces on the same verbs.
"""
