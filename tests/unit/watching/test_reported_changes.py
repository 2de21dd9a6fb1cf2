"""What a line of `tc monitor`, a NETCONF notification and a datagram of syslog mean."""

from __future__ import annotations

from typing import Any

import pytest
from lxml import etree

from slotcar.watching import config_changes, syslog, tc_events
from slotcar.watching.config_changes import NAMESPACE
from slotcar.watching.syslog import Addresses

INTERFACES = frozenset({"eth1", "eth2"})
#: As iproute2 6.1 prints them.
LINES = [
    ("qdisc htb 51c0: dev eth1 root r2q 10 default 0x30 direct_packets_stat 0", "qdisc changed on eth1"),
    ("deleted qdisc clsact ffff: dev eth2 parent ffff:fff1 refcnt 0 ", "qdisc deleted on eth2"),
    ("replaced qdisc fq 8001: dev eth1 root refcnt 2 limit 10000p", "qdisc replaced on eth1"),
    ("deleted qdisc htb 51c0: dev veth7 root refcnt 2 r2q 10", None),
    ("class htb 51c0:10 dev eth1 parent 51c0:1 prio 0 rate 8Mbit ceil 10Mbit", "class changed on eth1"),
    ("deleted class htb 51c0:10 dev eth1 parent 51c0:1 prio 0 rate 8Mbit", "class deleted on eth1"),
    ("class htb 1:10 dev eth1 root prio 0 rate 10Mbit ceil 10Mbit", None),
    (
        "added filter dev eth2 ingress protocol ip pref 20813 flower chain 0 handle 0x1 not_in_hw ",
        "filter added on eth2",
    ),
    ("deleted filter dev eth2 ingress protocol ip pref 20813 flower chain 0 handle 0x1", "filter deleted on eth2"),
    ("deleted filter dev eth2 ingress protocol all pref 0 ", "filter deleted on eth2"),
    ("deleted filter dev eth2 ingress protocol ip pref 20813", "filter deleted on eth2"),
    ("added filter dev eth2 ingress protocol ip pref 100 u32 chain 0 fh 800::800 order 2048", None),
    ("added filter dev eth2 ingress protocol ip pref 20900 u32 chain 0 fh 800::800", None),
    ("added filter block 7 protocol ip pref 20813 flower", None),
    ("added chain dev eth2 parent ffff: chain 0 ", None),
    ("Added action ", "action added"),
    ("Deleted action ", "action deleted"),
    ("\taction order 1: mirred (Egress Redirect to device eth1) stolen", None),
    (" Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) ", None),
    ("  match 00000050/0000ffff at 20", None),
    ("total acts 0", None),
    ("", None),
    ("\x1b[2Jqdisc", None),
]


@pytest.mark.parametrize(("line", "change"), LINES, ids=[line[:40] for line, _ in LINES])
def test_a_line_of_tc_monitor(line: str, change: str | None) -> None:
    assert tc_events.change_in(line, INTERFACES) == change


def notification(body: str) -> Any:
    base = "urn:ietf:params:xml:ns:netconf:notification:1.0"
    return etree.fromstring(
        f'<notification xmlns="{base}"><eventTime>2027-03-01T20:00:00Z</eventTime>{body}</notification>'
    )


def config_change(inside: str) -> str:
    return f'<netconf-config-change xmlns="{NAMESPACE}">{inside}</netconf-config-change>'


WHO = "<changed-by><username>alice</username><session-id>3</session-id></changed-by>"
EDIT = "<edit><target>/ios:native/ios:policy</target><operation>create</operation></edit>"
NOTIFICATIONS = {
    "as netconfd says it": (config_change(WHO + EDIT), "the configuration changed, /ios:native/ios:policy, by alice"),
    "of running, in words": (config_change("<datastore>running</datastore>"), "the configuration changed"),
    "of the startup": (config_change(f"{WHO}<datastore>startup</datastore>{EDIT}"), None),
    "by the server": (config_change("<changed-by><server/></changed-by>"), "the configuration changed"),
    "a name that steers a terminal": (
        config_change("<changed-by><username>a\u009bb</username></changed-by>"),
        "the configuration changed, by a\ufffdb",
    ),
    "a session began": (f'<netconf-session-start xmlns="{NAMESPACE}"/>', None),
    "a commit waits": (
        f'<netconf-confirmed-commit xmlns="{NAMESPACE}"><confirm-event>start</confirm-event></netconf-confirmed-commit>',
        None,
    ),
    "a commit was not confirmed": (
        f'<netconf-confirmed-commit xmlns="{NAMESPACE}"><confirm-event>timeout</confirm-event></netconf-confirmed-commit>',
        "a confirmed commit ended: timeout",
    ),
    "another's of the same name": ('<netconf-config-change xmlns="urn:another"/>', None),
    "nothing in it": ("", None),
}


@pytest.mark.parametrize("case", NOTIFICATIONS)
def test_a_notification(case: str) -> None:
    body, change = NOTIFICATIONS[case]
    assert config_changes.change_in(notification(body)) == change


ADDRESSES = Addresses({"10.0.0.1": "north", "10.0.0.2": "south", "10.0.0.9": None}, frozenset({"north", "south"}))
TYPED = "%SYS-5-CONFIG_I: Configured from console by alice on vty0 (192.0.2.7)"
DATAGRAMS = {
    "of IOS": (f"<189>45: *Mar  1 18:46:11.123: {TYPED}", "10.0.0.1", ("north", TYPED)),
    "of IOS-XE, from a program": (
        "<189>7: Mar  1 18:46:11: %SYS-5-CONFIG_P: Configured programmatically by process iosp from console as NETCONF",
        "10.0.0.2",
        ("south", "%SYS-5-CONFIG_P: Configured programmatically by process iosp from console as NETCONF"),
    ),
    "a logged command": (
        "<189>8: %PARSER-5-CFGLOG_LOGGEDCMD: User:alice  logged command:no policy-map X",
        "10.0.0.2",
        ("south", "%PARSER-5-CFGLOG_LOGGEDCMD: User:alice  logged command:no policy-map X"),
    ),
    "a restart": ("<189>1: %SYS-5-RESTART: System up", "10.0.0.1", ("north", "%SYS-5-RESTART: System up")),
    "passed on, with an origin": (f"<189>45: south: Mar  1 18:46:11: {TYPED}", "10.9.9.9", ("south", TYPED)),
    "passed on, with a full name": (f"<189>Mar  1 18:46:11 south.example.net 45: {TYPED}", "10.9.9.9", ("south", TYPED)),
    "an origin before the address": (f"<189>45: south: {TYPED}", "10.0.0.1", ("south", TYPED)),
    "of a stranger": (f"<189>45: {TYPED}", "192.0.2.66", None),
    "an address that two have": (f"<189>45: {TYPED}", "10.0.0.9", None),
    "two names": (f"<189>north south: {TYPED}", "192.0.2.66", None),
    "a step of the router's own": (
        "<189>9: %SYS-5-CONFIG_I: Configured from flash:slotcar-step-1-2-0a.cfg by  on vty1 (EEM:slotcar-step-1-2-0a)",
        "10.0.0.1",
        None,
    ),
    "a line that went down": ("<189>9: %LINEPROTO-5-UPDOWN: Line protocol on Interface Gi0/1", "10.0.0.1", None),
    "a name in the words, not in the header": (
        f"<189>9: {TYPED} for south", "192.0.2.66", None,
    ),
    "no text": (b"\xff\xfe\x00", "10.0.0.1", None),
    "nothing": ("", "10.0.0.1", None),
}  # fmt: skip


@pytest.mark.parametrize("case", DATAGRAMS)
def test_a_datagram(case: str) -> None:
    text, source, change = DATAGRAMS[case]
    datagram = text if isinstance(text, bytes) else str(text).encode()
    assert syslog.change_in(datagram, str(source), ADDRESSES) == change


def test_what_a_datagram_says_is_one_short_line() -> None:
    change = syslog.change_in(f"%SYS-5-CONFIG_I: {'x' * 900}\x1b[31m".encode(), "10.0.0.1", ADDRESSES)
    assert change is not None
    assert len(change[1]) == 120
    steering = syslog.change_in(b"%SYS-5-CONFIG_I: by \x1b[31m", "10.0.0.1", ADDRESSES)
    assert steering == ("north", "%SYS-5-CONFIG_I: by \ufffd[31m")
