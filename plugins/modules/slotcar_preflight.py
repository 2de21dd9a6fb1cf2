#!/usr/bin/python
# Copyright: the Slotcar maintainers
# GNU General Public License v3.0 or later (see LICENSE in plugins/, or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documents the action plugin of this name, which does all of it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slotcar_preflight
short_description: Name what a play will touch, and fail where nobody named it
version_added: "0.1.0"
description:
  - Names the devices, the inventory and the folder of a play, before anything is touched.
  - Fails where no inventory, no C(--limit) or no folder was named, or where the inventory lacks what the limit names.
  - The first task of every playbook of this collection. Touches nothing.
options:
  purpose:
    description: What the play does, for the sentence that names the devices.
    type: str
    default: This play
  revision:
    description: Folder with a folder for each device.
    type: str
    default: ""
  state_dir:
    description: State folder of the controller, where the play needs it; empty is an error.
    type: str
  target:
    description: What the devices are to get, where the play has a choice.
    type: str
  targets:
    description: What O(target) can be, each with the file of the folder that it stands for.
    type: dict
    default: {}
author:
  - Slotcar maintainers (@slotcar)
"""

EXAMPLES = r"""
- name: Check what was named, and name the devices
  slotcar.broker.slotcar_preflight:
    revision: "{{ slotcar_revision | default(omit) }}"
  run_once: true
  any_errors_fatal: true
"""

RETURN = r"""
msg:
  description: What the play works on, or what was not named.
  returned: always
  type: str
"""
