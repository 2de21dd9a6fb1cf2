"""What IOS prints otherwise than it was told: ports and code points by name."""

from __future__ import annotations

#: IOS prints these ports by name, whatever way they were entered (IOS, "access-list (IP extended)").
_PORTS = {
    "tcp": "bgp 179 chargen 19 cmd 514 daytime 13 discard 9 domain 53 echo 7 exec 512 finger 79 ftp 21 ftp-data 20"
    " gopher 70 hostname 101 ident 113 irc 194 klogin 543 kshell 544 login 513 lpd 515 msrpc 135 nntp 119"
    " onep-plain 15001 onep-tls 15002 pim-auto-rp 496 pop2 109 pop3 110 smtp 25 sunrpc 111 syslog 514 tacacs 49"
    " tacacs-ds 49 talk 517 telnet 23 time 37 uucp 540 whois 43 www 80",
    "udp": "biff 512 bootpc 68 bootps 67 discard 9 dnsix 195 domain 53 echo 7 isakmp 500 mobile-ip 434 nameserver 42"
    " netbios-dgm 138 netbios-ns 137 netbios-ss 139 non500-isakmp 4500 ntp 123 pim-auto-rp 496 rip 520 ripv6 521"
    " snmp 161 snmptrap 162 sunrpc 111 syslog 514 tacacs 49 tacacs-ds 49 talk 517 tftp 69 time 37 who 513 xdmcp 177",
}
PORTS = {
    protocol: dict(zip(words.split()[::2], map(int, words.split()[1::2]), strict=True))
    for protocol, words in _PORTS.items()
}
#: Protocols of lists by the word that all releases take. Of SCTP that is its number; IOS XE prints its name.
PROTOCOLS = {"6": "tcp", "17": "udp", "sctp": "132"}
#: Code points by the name that IOS prints (RFC 2474, RFC 2597, RFC 3246).
DSCP_NAMES: dict[int, str] = (
    {0: "default", 46: "ef"}
    | {8 * selector: f"cs{selector}" for selector in range(1, 8)}
    | {8 * group + 2 * drop: f"af{group}{drop}" for group in range(1, 5) for drop in range(1, 4)}
)


def dscp_name(word: str) -> str:
    """A code point by its name, however IOS printed it."""
    return DSCP_NAMES.get(int(word), word) if word.isdigit() else word
