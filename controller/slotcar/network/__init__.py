"""The network room: from an Ansible inventory to a checked, frozen `Network`. model.py has what it gives."""

from __future__ import annotations

from pathlib import Path

from slotcar.network.model import Network

__all__ = ["Network", "load_network"]


def load_network(inventory: Path, vault_password_file: Path | None = None, domain: str | None = None) -> Network:
    """Reads an inventory (a file, a folder, a script) with Ansible's own code and checks all of it.

    `loaded_at` stays None: this room reads no clock. With `domain`, all others are taken for those of other controllers
    (`seen_by`).

    Raises:
        InvalidInput: every problem found, each naming file, line, host and key.
    """
    # Here: a playbook that compares a device needs the model, and not what reads inventories.
    from slotcar.network.building import build
    from slotcar.network.checks import check
    from slotcar.network.elsewhere import seen_by
    from slotcar.network.findings import Findings
    from slotcar.network.interface_names import with_full_names
    from slotcar.network.reading import read_inventory

    findings = Findings()
    draft = build(with_full_names(read_inventory(inventory, vault_password_file), findings), findings)
    check(draft, findings)
    findings.refuse()
    network = draft.network()
    return network if domain is None else seen_by(network, domain)
