"""What an operator has on a router: every kind of line that is kept as given."""

from __future__ import annotations

from slotcar_lab.ios.configuration import Configuration
from slotcar_lab.ios.grammar import load

BROWNFIELD = """\
version 12.1
service timestamps log datetime msec
no service pad
hostname lbnl-7507
file prompt quiet
enable secret 5 $1$fake$fake
ip subnet-zero
no ip domain-lookup
ip cef distributed
archive
 path flash:archive
!
interface Loopback0
 ip address 192.0.2.1 255.255.255.255
!
interface ATM1/0/0
 no ip address
 no ip mroute-cache
!
interface ATM1/0/0.60 point-to-point
 ip address 192.0.2.5 255.255.255.252
!
interface FastEthernet4/0/0
 description Hosts of the laboratory
 ip address 10.0.0.1 255.255.255.0
 ip address 10.0.1.1 255.255.255.0 secondary
 ip access-group 101 in
 ip ospf cost 10
 no cdp enable
!
interface FastEthernet4/1/0
 no ip address
 shutdown
!
router ospf 1
 log-adjacency-changes
 network 10.0.0.0 0.0.0.255 area 0
!
router bgp 65000
 no synchronization
 neighbor 192.0.2.6 remote-as 65001
 no auto-summary
 address-family vpnv4
  neighbor 192.0.2.6 activate
 exit-address-family
!
ip classless
ip route 0.0.0.0 0.0.0.0 192.0.2.6
no ip http server
ip scp server enable
ip access-list extended MANAGEMENT
 remark who may log in
 permit tcp host 192.0.2.9 any eq 22
 deny   ip any any log
!
logging 192.0.2.9
access-list 10 permit 10.0.0.0 0.255.255.255
access-list 101 remark from outside
access-list 101 permit tcp any any eq www
access-list 101 deny   ip any any
route-map OUT permit 10
 match ip address 10
!
snmp-server community fake RO
banner motd ^C
  Keep   out!
^C
line con 0
 logging synchronous
!
line vty 0 4
 access-class 10 in
 login local
!
ntp server 192.0.2.3
end
"""


def router(platform: str = "cisco-car", text: str = BROWNFIELD) -> Configuration:
    """A configuration that has booted: its interfaces are the hardware."""
    configuration = Configuration(load(platform))
    assert configuration.load(text.splitlines()) == []
    nodes = (node for node in configuration.top.children if node.rule.special == "interface")
    names = {node.captures["name"].partition(".")[0] for node in nodes}
    configuration.hardware = frozenset(name for name in names if not name.startswith("Loopback"))
    return configuration


def entered(configuration: Configuration, *lines: str) -> list[str]:
    """Applies lines from the top; gives the message or the kind of each refusal, `""` where a line was taken."""
    cursor = configuration.cursor()
    answers = [configuration.apply(cursor, line) for line in lines]
    return ["" if answer.taken else answer.message or answer.kind.value for answer in answers]
