"""The policy room: who may ask for how much, for how long and for which packets. Pure; asked under the ledger's lock."""
