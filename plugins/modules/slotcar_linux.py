#!/usr/bin/python
# Copyright: the Slotcar maintainers
# GNU General Public License v3.0 or later (see LICENSE in plugins/, or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documents the action plugin of this name, which does all of it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slotcar_linux
short_description: Take a step of a push on a Linux router
version_added: "0.1.0"
description:
  - Reads a Linux router's queues, classes and filters, stages a revision on it, activates it, verifies it or takes it back.
  - Works over Ansible's own connection to the router, by its shell. The router needs C(tc) and no Python.
  - Touches nothing but what is Slotcar's.
options:
  step:
    description: What to do.
    type: str
    choices: [read, stage, activate, verify, restore]
    required: true
  folder:
    description: The router's folder in a revision; its name is the router's.
    type: path
    required: true
  target:
    description: File of that folder that says what is wanted; empty for nothing of Slotcar's.
    type: str
    default: after.txt
  fence:
    description: Number of the controller's lead; what a later leader did is not undone.
    type: str
    default: "-"
  unknown_ends:
    description: For restore, also where nobody knows when the slots end that come back by it.
    type: bool
    default: false
author:
  - Slotcar maintainers (@slotcar)
"""

EXAMPLES = r"""
- name: Give the router what it had before a revision
  slotcar.broker.slotcar_linux:
    step: restore
    folder: "/var/lib/slotcar/revisions/{{ revision }}/{{ inventory_hostname }}"
    target: before.txt
"""

RETURN = r"""
diff:
  description: The owned configuration before and after, for C(--diff).
  returned: always
  type: dict
"""
