"""The namespaces of Cisco's native models, beside the elements of `controller/slotcar/platforms/netconf/`."""

from __future__ import annotations

from slotcar.platforms.netconf.tree import NETCONF as NETCONF
from slotcar.platforms.netconf.tree import Node as Node
from slotcar.platforms.netconf.tree import parse as parse

NATIVE = "http://cisco.com/ns/yang/Cisco-IOS-XE-native"
ACL = "http://cisco.com/ns/yang/Cisco-IOS-XE-acl"
POLICY = "http://cisco.com/ns/yang/Cisco-IOS-XE-policy"
