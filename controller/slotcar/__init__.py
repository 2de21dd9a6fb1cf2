"""Slotcar: a bandwidth broker that runs as network automation.

Data flows one way through the rooms: reservation, network, path, policy, admission, ledger, timeline, intent, platforms and
rollout. `planning`, `recovery` and `views` compose them, the `desk` answers verbs, `api`, `web` and `cli` are faces on it.
"""
