"""The repository's inventories and those of the golden cases, each read by Ansible once in a run of the tests, and not for
each command.

Ansible takes half a second of the processor to read one, and the tests have several hundred commands read the same few.
What it answered is kept in the run's folder for temporary files, by everything that the answer depends on. An inventory
of a test's own, a refusal, and a reading with connections go to Ansible each time.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from slotcar.network import reading
from tests.support.leftovers import INVENTORIES as FOLDER
from tests.support.leftovers import MARK

ROOT = Path(__file__).resolve().parents[2]
OWN = ROOT / "inventories"
GOLDEN = ROOT / "tests" / "golden" / "render"
#: Stands for the state folder, of which each test has its own, in what is kept.
STATE = "SLOTCAR_STATE_DIR"
_read_by_ansible = reading._run


def keep_answers() -> None:
    """From now on, in this process and those that it forks."""
    reading._run = _run


def _run(inventory: Path, vault_password_file: Path | None, options: Sequence[str]) -> dict[str, Any]:
    if vault_password_file is not None or options or not _is_own(inventory) or MARK not in os.environ:
        return _read_by_ansible(inventory, vault_password_file, options)
    kept, state = Path(tempfile.gettempdir(), FOLDER, f"{_key(inventory)}.json"), os.environ.get(STATE, "")
    own, meant = json.dumps(os.path.realpath(state)).strip('"'), f"<{STATE}>"
    with _alone(kept.with_suffix(".lock")):
        with suppress(OSError, ValueError):
            text = kept.read_text()
            answer: dict[str, Any] = json.loads(text.replace(meant, own) if state else text)
            return answer
        answer = _read_by_ansible(inventory, vault_password_file, options)
        if "error" not in answer:
            text = json.dumps(answer)
            _keep(kept, text.replace(own, meant) if state else text)
        return answer


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """The processes of a run read the same inventories at the same time; without a lock where there is no room for it."""
    with ExitStack() as stack:
        with suppress(OSError):
            lock.parent.mkdir(exist_ok=True)
            fcntl.flock(stack.enter_context(lock.open("w")), fcntl.LOCK_EX)
        yield


def _is_own(inventory: Path) -> bool:
    """Not NetBox's: what another program answers is no file."""
    here = inventory.absolute()
    return here.is_relative_to(GOLDEN) or (here.is_dir() and here.is_relative_to(OWN) and here != OWN / "netbox")


def _key(inventory: Path) -> str:
    """Files, their names, and what Ansible reads of the environment; these inventories' variables `slotcar_` read no more
    of it than the state folder."""
    digest = hashlib.sha256(str(inventory).encode())
    # Of a single file also what lies beside it: variables of groups and hosts.
    for folder, _, names in sorted(os.walk(inventory if inventory.is_dir() else inventory.parent, followlinks=True)):
        for name in sorted(names):
            file = Path(folder, name)
            digest.update(repr((str(file), file.read_bytes())).encode())
    variables = sorted((name, value) for name, value in os.environ.items() if name.startswith("ANSIBLE_"))
    variables.append((STATE, str(bool(os.environ.get(STATE)))))
    digest.update(repr((variables, (ROOT / "ansible.cfg").read_bytes())).encode())
    return digest.hexdigest()


def _keep(file: Path, text: str) -> None:
    """As a whole or not at all: other processes read it."""
    with suppress(OSError):
        file.parent.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as written:
            written.write(text)
        Path(written.name).replace(file)
