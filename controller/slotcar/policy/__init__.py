"""The policy room: who may ask for how much, for how long and for which packets. Pure; what rests on
the ledger is asked under its lock."""
