"""How a router is reached, beside Ansible's own variables; docs/reference/inventory.md explains each.

Checked when an inventory is read, and again by `rollout` with the variables that a play has: a template may need what only
the play knows. Imports no more than a play's own process needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError


def _number(value: object) -> object:
    # pydantic takes a truth value for a number.
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "is no whole number")
    return value.strip() if isinstance(value, str) else value


Port = Annotated[int, BeforeValidator(_number), Field(ge=1, le=65_535)]
Seconds = Annotated[int, BeforeValidator(_number), Field(ge=1, le=2**32 - 1)]
Text = Annotated[str, Field(strict=True)]


class ConnectionVariables(BaseModel):
    """Variables of a router that say how it is reached. One without a value is as one that is not written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    slotcar_known_hosts: Text | None = None
    slotcar_transport: Literal["ssh", "napalm"] = "ssh"
    slotcar_flash: Text = "flash:"
    slotcar_netconf_port: Port | None = None
    slotcar_confirm_s: Seconds | None = None

    @model_validator(mode="before")
    @classmethod
    def _leave_out_what_is_empty(cls, written: Any) -> Any:
        if not isinstance(written, Mapping):
            return written
        return {key: value for key, value in written.items() if value is not None and value != ""}


def connection_of(variables: Mapping[str, Any]) -> ConnectionVariables:
    """Those of a host's variables. The others are not looked at: in a play each is a template, and some name every host.

    Raises:
        ValidationError: a value that none takes.
    """
    own = ConnectionVariables.model_fields
    return ConnectionVariables.model_validate({key: variables[key] for key in own if key in variables})
