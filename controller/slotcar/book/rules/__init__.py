"""The operator's rules: who may do what, and ask for how much, for how long and for which packets.

Pure. What rests on the ledger is asked under its lock.
"""
