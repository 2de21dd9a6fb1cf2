"""Hierarchies that an operator deactivated: what is put into one is in the configuration and has no effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slotcar.network.model import Device
from slotcar.platforms.juniper_junos.document import Path, is_key, is_shared, port_and_unit
from slotcar.platforms.model import Unrenderable
from slotcar.platforms.netconf.tree import Node

_IS = "` is deactivated"


def deactivated_in(root: Node, device: Device) -> tuple[str, ...]:
    """What is deactivated of that which holds an operator's own beside Slotcar's; of interfaces, those of the inventory."""
    ports = {port_and_unit(name, device.name)[0] for name in device.interfaces}
    return tuple(f"`{words}{_IS}" for words, node in _shared(root, (), "", ports) if node.inactive)


def check_active(device: Device, foreign: Iterable[str], after: Node | None) -> None:
    """
    Raises:
        Unrenderable: what `after` needs to be in is deactivated.
    """
    needed = set(_needed(after))
    for note in foreign:
        words = note.removeprefix("`").removesuffix(_IS)
        if note.endswith(_IS) and words in needed:
            advice = "; activate it" + (
                ", or leave this interface out of the inventory" if "interfaces " in words else ""
            )
            raise Unrenderable(f"{device.name}: {note}, and so is all that Slotcar puts into it{advice}")


def _shared(node: Node, path: Path, words: str, ports: set[str] | None) -> Iterator[tuple[str, Node]]:
    """Elements that are everybody's, each as `class-of-service interfaces ge-0/0/1 unit 0`."""
    for one in node.children:
        inner, name = (*path, one.name), one.text_of("name")
        if is_key(one) or not is_shared(one, inner):
            continue
        if one.name == "interface" and ports is not None and name not in ports:
            continue
        named = [words, *([] if one.name == "interface" else [one.name]), name]
        here = " ".join(part for part in named if part)
        yield here, one
        yield from _shared(one, inner, here, ports)


def _needed(after: Node | None) -> Iterator[str]:
    """What must be active. An interface whose output is served has to be there itself."""
    for words, _ in _shared(after, (), "", None) if after else ():
        yield words
        yield words.removeprefix("class-of-service ")
