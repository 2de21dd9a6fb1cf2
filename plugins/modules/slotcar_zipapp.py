#!/usr/bin/python
# Copyright: the Slotcar maintainers
# GNU General Public License v3.0 or later (see LICENSE in plugins/, or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documents the action plugin of this name, which does all of it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: slotcar_zipapp
short_description: Copy a package of Python to a host as one file that Python runs
version_added: "0.1.0"
description:
  - Makes one archive of a package's modules, which C(python3 FILE) runs (Python's C(zipapp)), and copies it with
    C(ansible.builtin.copy).
  - The same modules give the same bytes, so that nothing is copied where the host has them, and a comparison in check mode
    is one of checksums.
  - The host needs Python.
options:
  src:
    description: Folder of the package, such as one in the role's C(files), with a C(__main__.py). It has no folders in it.
    type: path
    required: true
  dest:
    description: The file on the host.
    type: path
    required: true
  owner:
    description: The file's owner, as of C(ansible.builtin.copy).
    type: str
  group:
    description: The file's group.
    type: str
  mode:
    description: The file's permissions.
    type: str
author:
  - Slotcar maintainers (@slotcar)
"""

EXAMPLES = r"""
- name: Copy the program
  slotcar.broker.slotcar_zipapp:
    src: slotcar_probe
    dest: /usr/local/lib/slotcar-probe.pyz
    owner: root
    group: root
    mode: "0644"
"""

RETURN = r"""
checksum:
  description: The file's SHA-1, as C(ansible.builtin.copy) gives it.
  returned: success, but in check mode where the file would change
  type: str
"""
