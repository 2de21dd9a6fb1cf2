"""`show …`."""

from __future__ import annotations

import time

from slotcar_lab.ios import counters, pfc_counters, tree
from slotcar_lab.ios.commands.registry import command
from slotcar_lab.ios.flash import BYTES
from slotcar_lab.ios.terminal import Terminal
from slotcar_lab.ios.tree import Node

Captures = dict[str, str]


@command("show version", level=1)
async def version(terminal: Terminal, captures: Captures) -> str:
    machine = terminal.machine
    facts = machine.running.grammar.facts
    minutes = (time.time_ns() - machine.booted_ns) // 60_000_000_000
    return (
        "Cisco Internetwork Operating System Software \n"
        f"IOS (tm) Software ({facts['image'].upper()}), Version {facts['release']}, RELEASE SOFTWARE (fc1)\n"
        "\n"
        f"{machine.running.hostname} uptime is {minutes} minutes\n"
        "System returned to ROM by power-on\n"
        f'System image file is "{facts["flash"]}{facts["image"]}.bin"\n'
        "\n"
        f"{facts['processor']}\n"
        f"Processor board ID {machine.name.upper()}\n"
        "\n"
        "Configuration register is 0x2102\n\n"
    )


@command("show clock [detail]", level=1)
async def clock(terminal: Terminal, captures: Captures) -> str:
    now = terminal.machine.now()
    return (
        f"{now.strftime('%H:%M:%S')}.{now.microsecond // 1000:03} {now.strftime('UTC %a %b')} {now.day} {now.year}\n"
    )


@command("show running-config [all|full|brief]")
async def running(terminal: Terminal, captures: Captures) -> str:
    text = terminal.machine.running.text()
    changes = [one for one in terminal.machine.history if one.taken]
    last = f"! Last configuration change by {changes[-1].user or 'the revert timer'}\n" if changes else ""
    size = len(text.encode(errors=BYTES))
    return f"Building configuration...\n\nCurrent configuration : {size} bytes\n!\n{last}{text}\n"


@command("show running-config interface <name:interface>")
async def running_interface(terminal: Terminal, captures: Captures) -> str:
    node = terminal.machine.running.top.child(f"interface {captures['name']}")
    if node is None:
        return "% Invalid interface\n"
    body = "".join(f"{line}\n" for line in _section(node, terminal))
    return f"Building configuration...\n\nCurrent configuration : {len(body)} bytes\n!\n{body}end\n\n"


@command("show startup-config")
async def startup(terminal: Terminal, captures: Captures) -> str:
    text = terminal.machine.startup
    size = len(text.encode(errors=BYTES))
    return f"Using {size} out of 129016 bytes\n!\n{text}"


@command("show class-map [<name:word>]", "show policy-map [<name:word>]")
async def maps(terminal: Terminal, captures: Captures) -> str:
    words = terminal.machine.commands[-1][2].split()
    kind = "class-map" if words[1].startswith("c") else "policy-map"
    wanted = captures.get("name")
    sections = [
        node
        for node in terminal.machine.running.top.printed()
        if node.text.startswith(f"{kind} ") and wanted in (None, node.captures["name"])
    ]
    return "".join(f" {line}\n" for node in sections for line in _section(node, terminal)) + "\n"


@command("show event manager policy active")
async def active_policies(terminal: Terminal, captures: Captures) -> str:
    lines = [
        f"{number:<4}{number:<7}N A running   {'timer countdown':<20}applet: {name}\n"
        for number, name in enumerate(terminal.machine.events.running, 1)
    ]
    return "".join(["no. job id p s status    event type          name\n", *lines]) if lines else ""


@command("show access-lists [<name:word>]", "show ip access-lists [<name:word>]")
async def access_lists(terminal: Terminal, captures: Captures) -> str:
    lines: list[str] = []
    heading = ""
    for node in terminal.machine.running.top.printed():
        if node.rule.special == "numbered":
            number, entry = node.captures["number"], node.text.split(maxsplit=2)[2]
            kind = "Standard" if int(number) < 100 or 1300 <= int(number) < 2000 else "Extended"
            lines += [f"{kind} IP access list {number}"] if heading != number else []
            heading = number
            lines += [f"    {entry}"] if not entry.startswith("remark ") else []
        elif node.mode.startswith("access-list-"):
            lines.append(f"{node.mode.rpartition('-')[2].capitalize()} IP access list {node.captures['name']}")
            entries = [child for child in node.printed() if not child.text.startswith("remark ")]
            lines += [f"    {child.sequence} {child.text}" for child in entries]
    return "".join(f"{line}\n" for line in lines)


@command("show interfaces [<name:interface>] rate-limit", level=1)
async def rate_limits(terminal: Terminal, captures: Captures) -> str:
    machine = terminal.machine
    machine.counters.follow(machine.running.top)
    lines = counters.rate_limits(machine.running.top, machine.counters, captures.get("name", ""))
    return "".join(f"{line}\n" for line in lines)


@command("show policy-map interface [<name:interface>] [<direction:input|output>]", level=1)
async def policies(terminal: Terminal, captures: Captures) -> str:
    machine = terminal.machine
    machine.counters.follow(machine.running.top)
    top, name = machine.running.top, captures.get("name", "")
    if machine.platform == "cisco-cat6500":
        lines = pfc_counters.policies(top, machine.counters, name)
    else:
        lines = counters.policies(top, machine.counters, name, captures.get("direction", ""))
    return "".join(f"{line}\n" for line in lines)


def _section(node: Node, terminal: Terminal) -> list[str]:
    grammar = terminal.machine.running.grammar
    below = tree.lines(node, grammar, grammar.modes[node.mode].indent, sequences=terminal.machine.sequences)
    return [node.text, *below]
