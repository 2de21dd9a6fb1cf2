"""The base of what is read from outside and never changed."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A key that it does not have is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
