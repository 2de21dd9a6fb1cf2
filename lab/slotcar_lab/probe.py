"""What the running kernel can do, found by doing it in a throw-away network namespace."""

from __future__ import annotations

import subprocess

from slotcar_lab.requirements import as_root, which

#: What Slotcar's templates and the lab's wiring use → the `tc` or `ip` lines that show it is there.
FEATURES: dict[str, tuple[str, ...]] = {
    "veth, bridge": ("ip link add p0 type veth peer name p1", "ip link add p2 type bridge"),
    "sch_htb": ("tc qdisc add dev p0 root handle 1: htb", "tc class add dev p0 parent 1: classid 1:1 htb rate 1mbit"),
    "sch_hfsc": (
        "tc qdisc add dev p2 root handle 1: hfsc",
        "tc class add dev p2 parent 1: classid 1:1 hfsc ls m2 1mbit",
    ),
    "sch_prio": ("tc qdisc replace dev p0 root handle 2: prio",),
    "sch_ets": ("tc qdisc replace dev p0 root handle 3: ets bands 3 strict 1",),
    "sch_drr": ("tc qdisc replace dev p0 root handle 4: drr",),
    "sch_red": ("tc qdisc replace dev p0 root handle 5: red limit 90000 avpkt 1000",),
    "sch_gred": ("tc qdisc replace dev p0 root handle 6: gred setup DPs 3 default 2",),
    "sch_netem": ("tc qdisc replace dev p0 root handle 7: netem delay 1ms rate 1mbit",),
    "sch_fq_codel": ("tc qdisc replace dev p0 root handle 8: fq_codel",),
    "sch_fq": ("tc qdisc replace dev p0 root handle 9: fq",),
    "clsact": ("tc qdisc add dev p1 clsact",),
    "cls_matchall, act_gact": ("tc filter add dev p1 egress pref 1 matchall action ok",),
    "cls_flower": ("tc filter add dev p1 ingress protocol ip pref 2 flower ip_proto udp dst_port 9 action ok",),
    "cls_u32": ("tc filter add dev p1 ingress protocol ip pref 3 u32 match ip dport 9 0xffff action ok",),
    "act_police": ("tc actions add action police rate 1mbit burst 10k conform-exceed drop/pipe",),
    "act_pedit": ("tc actions add action pedit ex munge ip dsfield set 0xb8 retain 0xfc pipe",),
    "act_csum": ("tc actions add action csum ip4h",),
    "act_skbedit": ("tc actions add action skbedit priority 1:1",),
}


def script() -> str:
    """A shell script that names each feature that is missing, one a line."""
    lines = [
        f"({' && '.join(commands)}) >/dev/null 2>&1 || echo '{feature}'" for feature, commands in FEATURES.items()
    ]
    return "\n".join([*lines, "echo done"])


def missing_features() -> tuple[str, ...]:
    """Names of what this kernel lacks; "permission to make namespaces" where even that is refused."""
    root = as_root()
    refused = ("permission to make network namespaces",)
    if root is None or which("unshare") is None or which("tc") is None:
        return refused
    argv = [*root, "env", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "unshare", "--net", "sh", "-c", script()]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    return tuple(lines[:-1]) if lines and lines[-1] == "done" else refused
