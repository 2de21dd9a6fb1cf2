"""What changes by itself is left out of a snapshot; what an operator changes is not."""

from __future__ import annotations

from slotcar_lab.snapshot import canonical

RAW = """### ip addr
[{"ifname":"eth1","ifindex":7,"address":"aa:bb:cc:00:11:22","addr_info":[{"local":"10.0.0.1","valid_life_time":9}]},{}]
### tc qdisc
[{"kind":"htb","handle":"1:","options":{"direct_packets_stat":5,"r2q":10}},{"kind":"gred","handle":"20:"},
{"kind":"hfsc","handle":"30:","options":{default 30 }}]
### tc class eth1
class htb 1:20 parent 1:1 rate 2Mbit
class htb 1:10 parent 1:1 rate 1Mbit
### tc filter eth1 ingress
filter pref 2
filter pref 1
"""


def test_volatile_fields_go_and_everything_else_stays() -> None:
    assert canonical(RAW) == (
        "### ip addr\n"
        '{"addr_info": [{"local": "10.0.0.1"}], "ifname": "eth1"}\n'
        "### tc qdisc\n"
        '{"handle": "1:", "kind": "htb", "options": {"r2q": 10}}\n'
        '{"handle": "20:", "kind": "gred"}\n'
        '{"handle": "30:", "kind": "hfsc", "options": {"default": "30"}}\n'
        "### tc class eth1\n"
        "class htb 1:10 parent 1:1 rate 1Mbit\n"
        "class htb 1:20 parent 1:1 rate 2Mbit\n"
        "### tc filter eth1 ingress\n"
        "filter pref 2\n"
        "filter pref 1\n"
    )


def test_a_counter_makes_no_difference_and_a_rate_does() -> None:
    assert canonical(RAW.replace('_stat":5', '_stat":6')) == canonical(RAW)
    assert canonical(RAW.replace("rate 2Mbit", "rate 3Mbit")) != canonical(RAW)
