"""The controller of this machine, by its UNIX socket: whether one answers there that may be believed."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from slotcar.cli.output import complain
from slotcar.cli.place import Declined

if TYPE_CHECKING:
    from slotcar.base.settings import Settings

#: Whoever lives answers at once; one that is stopped, or far behind, is left aside.
ANSWER_S = 10.0
#: A controller that was killed leaves its socket.
NOBODY = "nobody listens there"
_HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def answering_socket(chosen: Settings) -> Path | None:
    """The socket of the controller that commands which name none are to ask; None for the ledger itself.

    Raises:
        Declined: the settings want the socket, and nobody answers there who may be believed.
    """
    from slotcar.base.settings import LocalWay

    path = chosen.socket_path
    if chosen.local is LocalWay.LEDGER or (chosen.local is LocalWay.AUTO and not path.exists()):
        return None
    believed = {0, os.geteuid()}
    if chosen.model_fields_set & {"socket", "state_dir"}:  # the folder in which a command is said names nobody
        with suppress(OSError):
            believed.add(path.parent.stat().st_uid)
    why_not = why_not_asked(path, believed)
    if not why_not:
        return path
    if chosen.local is LocalWay.SOCKET:
        raise Declined(f"no controller is asked by the socket {path}: {why_not} (SLOTCAR_LOCAL=socket)")
    if why_not != NOBODY:
        complain(f"note: no controller is asked by the socket {path}: {why_not}")
    return None


def why_not_asked(path: Path, believed: Collection[int]) -> str:
    """Why no controller is asked there; empty where it is. `believed`: the accounts that may listen: what another one's
    process answers is its own invention."""
    from slotcar.base.accounts import peer_uid

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_S)
        try:
            connection.connect(os.fspath(path))
            if (listens := peer_uid(connection)) not in believed:
                return f"the account with the number {listens} listens there, and not the controller's"
            connection.sendall(_HEALTH)
            answer = connection.recv(16)
        except ConnectionRefusedError:
            return NOBODY
        except OSError as error:
            return (os.strerror(error.errno) if error.errno else str(error)).lower()
    return "" if answer.startswith(b"HTTP/1.1 200") else "what listens there does not answer as a controller does"
