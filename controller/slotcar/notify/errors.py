"""What is wrong with a webhook. Nothing here loads what sends."""

from __future__ import annotations

from slotcar.base.problems import SlotcarError


class WrongUrl(SlotcarError):
    """The address of a receiver is none that is sent to."""


class SecretUnusable(SlotcarError):
    """The place of a secret is wrong, or what is there is no secret. The message never holds what is there."""


class UnknownWebhook(SlotcarError):
    """There is no webhook of that id."""


class WrongKind(SlotcarError):
    """No event's kind begins so."""
