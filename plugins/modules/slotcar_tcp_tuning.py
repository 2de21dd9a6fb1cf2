#!/usr/bin/python
# Copyright: the Slotcar maintainers
# GNU General Public License v3.0 or later (see LICENSE in plugins/, or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documents the action plugin of this name, which does all of it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slotcar_tcp_tuning
short_description: Set up a host's TCP for what is reserved from and to it
version_added: "0.1.0"
description:
  - Sets the limits of socket buffers, pacing, MTU and queue of the cards that lead to the peers, and congestion control and
    packet size of connections to them.
  - Works over Ansible's own connection to the host, as root, by its shell. The host needs iproute2 and no Python.
  - Notes on the host what each setting was before; C(undo) gives exactly that back.
options:
  step:
    description: What to do; C(limits) changes nothing, and says what bounds what the flows get.
    type: str
    choices: [limits, tune, verify, undo]
    required: true
  flows:
    description: File of the host's flows, as C(slotcar host tuning HOST --format json) prints them; not for C(undo).
    type: path
    default: ""
  choices:
    description:
      - What shall not follow from the flows, by key. C(receive) and C(send), TCP's least, first, greatest buffer; C(most),
        which no buffer is above; C(pacing); C(congestion_control); C(path_mtu), C(mtu); C(queue).
    type: dict
    default: {}
author:
  - Slotcar maintainers (@slotcar)
"""

EXAMPLES = r"""
- name: Tune the host
  slotcar.broker.slotcar_tcp_tuning:
    step: tune
    flows: "{{ inventory_hostname }}.json"
    choices:
      congestion_control: bbr
"""

RETURN = r"""
words:
  description: What bounds what the flows get on this host, and what was left alone.
  returned: always
  type: list
settings:
  description: What the host is to have, by setting.
  returned: always
  type: dict
diff:
  description: The settings that change, before and after, for C(--diff).
  returned: always
  type: dict
"""
