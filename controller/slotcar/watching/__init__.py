"""What devices tell of changes by themselves, and which of them the leader is to check now. Reads only (ADR 30).

`tc_events`, `config_changes` and `syslog` say what a line, a notification and a datagram mean; `pending` when a device is
checked for it; all four are pure. `linux`, `netconf` and `receiver` listen, and `watcher` keeps them doing so while this
controller leads.
"""
