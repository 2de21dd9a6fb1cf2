"""Puts the Ansible collections that Slotcar needs into this environment.

Usage: `python tools/install_collections.py requirements/collections.txt`. They come out of Ansible's bundle on the
package index, checked by its hash, because a Galaxy server is one more thing to trust and to reach, and because the
whole bundle is forty times as large.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

WANTED = (
    "ansible_collections/ansible/netcommon/",
    "ansible_collections/ansible/utils/",
    "ansible_collections/cisco/ios/",
    "ansible_collections/netbox/netbox/plugins/inventory/",
    "ansible_collections/netbox/netbox/meta/",
    "ansible_collections/netbox/netbox/MANIFEST.json",
    "ansible_collections/netbox/netbox/LICENSE",
)


def main(requirements: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(
            [
                sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                "--require-hashes", "--dest", scratch, "-r", requirements,
            ],
            check=True,
        )  # fmt: skip
        with zipfile.ZipFile(next(Path(scratch).glob("ansible-*.whl"))) as bundle:
            members = [name for name in bundle.namelist() if name.startswith(WANTED) and "/tests/" not in name]
            bundle.extractall(sysconfig.get_path("purelib"), members)


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
