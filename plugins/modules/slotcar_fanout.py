#!/usr/bin/python
# Copyright: the Slotcar maintainers
# GNU General Public License v3.0 or later (see LICENSE in plugins/, or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documents the action plugin of this name, which does all of it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slotcar_fanout
short_description: Take a step of a push on the devices that have no shell of their own
version_added: "0.1.0"
description:
  - Reads, stages, activates, verifies or restores many devices at once, from one process on the control node.
  - Reaches IOS over SSH or through NAPALM, and NETCONF servers.
  - Runs once for all devices of a play. Touches nothing but what is Slotcar's.
options:
  step:
    description:
      - What to do. Push is stage, activate and verify on one login.
      - Read and restore do what they can and return the others in RV(failures), for report to fail with.
    type: str
    choices: [read, stage, activate, verify, push, restore, report]
    required: true
  devices:
    description:
      - The devices; their variables say how they are reached.
      - Those of the play's hosts that this plugin serves where none are told.
    type: list
    elements: str
  revision:
    description: Folder with a folder for each device.
    type: path
    default: ""
  target:
    description: File of that folder that says what is wanted; empty for nothing of Slotcar's.
    type: str
    default: after.txt
  failures:
    description: Of an earlier step, for report.
    type: dict
    default: {}
  fence:
    description: For restore, number of the controller's lead; what a later leader did is not undone.
    type: str
    default: "-"
  unknown_ends:
    description: For restore, also where nobody knows when the slots end that come back by it.
    type: bool
    default: false
  at:
    description: Seconds since the epoch by the control node's clock; at once if it is past.
    type: float
    default: 0.0
  preflight:
    description: Whether C(slotcar_preflight) is to check first what was named.
    type: bool
    default: false
  fail_on_failures:
    description: For read and restore, whether to fail where a device could not be served.
    type: bool
    default: false
  instants:
    description: By device's name, the instants of those that have another one.
    type: dict
    default: {}
author:
  - Slotcar maintainers (@slotcar)
"""

EXAMPLES = r"""
- name: Read the running configurations into the folder of a revision
  slotcar.broker.slotcar_fanout:
    step: read
    revision: /var/lib/slotcar/revisions/by-hand
  run_once: true
"""

RETURN = r"""
failures:
  description: By device's name, why a step could not be taken.
  returned: for read and restore
  type: dict
"""
