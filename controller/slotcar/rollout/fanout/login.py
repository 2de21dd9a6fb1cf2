"""How a router is reached, out of the variables that Ansible has of it: address, credentials, and Slotcar's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from slotcar.network.connections import ConnectionVariables, connection_of
from slotcar.rollout.transport import DeviceError, Unreachable


def reached_by(name: str, variables: Mapping[str, Any]) -> ConnectionVariables:
    """Slotcar's own variables of how a router is reached.

    Raises:
        DeviceError: one has a value that none takes.
    """
    try:
        return connection_of(variables)
    except ValidationError as error:
        from slotcar.network.findings import explained  # a push that nothing is wrong with does without

        key, message, value, hint = next(explained(error, ConnectionVariables, variables))
        raise DeviceError(f"{name}: {'.'.join(key)}: {message} (got {value}){hint and f'; {hint}'}") from error


@dataclass(frozen=True, slots=True)
class Login:
    """One router's address and credentials, out of Ansible's variables. Secrets are kept out of `repr`.

    Attributes:
        known_hosts: file with the keys that are believed; None for the user's own.
        answer_s: how long a command may take.
    """

    host: str
    port: int
    user: str
    password: str | None = field(default=None, repr=False)
    enable_password: str | None = field(default=None, repr=False)
    key_file: Path | None = None
    known_hosts: Path | None = None
    answer_s: float = 30.0

    @classmethod
    def from_variables(cls, name: str, variables: Mapping[str, Any]) -> Login:
        """From a host's variables, under the names that Ansible's own connections use.

        Raises:
            Unreachable: no user is named. DeviceError: see `reached_by`.
        """

        def first(*keys: str) -> Any:
            return next((variables[key] for key in keys if variables.get(key) not in (None, "")), None)

        user = first("ansible_user", "ansible_ssh_user")
        if user is None:
            raise Unreachable(f"{name}: no user to log in as; set ansible_user in the inventory")
        key_file, known_hosts = first("ansible_ssh_private_key_file"), reached_by(name, variables).slotcar_known_hosts
        return cls(
            host=str(first("ansible_host", "ansible_ssh_host") or name),
            port=int(first("ansible_port", "ansible_ssh_port") or 22),
            user=str(user),
            password=first("ansible_password", "ansible_ssh_pass", "ansible_ssh_password"),
            enable_password=first("ansible_become_password", "ansible_become_pass"),
            key_file=Path(key_file).expanduser() if key_file else None,
            known_hosts=Path(known_hosts).expanduser() if known_hosts else None,
            answer_s=float(first("ansible_command_timeout") or 30),
        )
