"""A reservation's keys as options of a command, out of the model: a field that it gets is an option without a word here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from typing import Annotated, Any, get_origin, get_type_hints

import typer
from pydantic.fields import FieldInfo

from slotcar.reservation.written import FIELDS

#: What is written as lists of mappings, or as a mapping, is written in a file.
IN_FILES_ONLY = frozenset({"schedule", "hours", "labels"})
_SHORT = {"name": "-n", "source": "-s", "destination": "-t", "rate": "-r"}


def takes_reservation(
    defaults: Mapping[str, str],
    required: Collection[str] = (),
    without: Collection[str] = (),
    optional: Collection[str] = (),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a command of a function whose first parameter is what was said, in the keys of a reservation file.

    Args:
        defaults: of options that the model requires and the command does not, or the other way round.
        required: options that the command requires beside those of the model.
        without: keys that are no options of this command.
        optional: options that the model requires and the command leaves to the controller.
    """
    left_out = IN_FILES_ONLY | set(without)
    fields = {key: field for key, field in FIELDS.items() if key not in left_out}

    def needed(key: str, field: FieldInfo) -> bool:
        return key in required or (field.is_required() and key != "start" and key not in optional)

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            options = {key: given.pop(key) for key in fields}
            function(
                {key: list(one) if isinstance(one, list) else one for key, one in options.items() if one}, **given
            )

        hints = get_type_hints(function, include_extras=True)
        own = list(inspect.signature(function).parameters.values())[1:]
        parameters = [
            *(_parameter(key, field, defaults.get(key), needed(key, field)) for key, field in fields.items()),
            *(one.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[one.name]) for one in own),
        ]
        command.__name__, command.__doc__, command.__module__ = (
            function.__name__,
            function.__doc__,
            function.__module__,
        )
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        return command

    return decorate


def _parameter(key: str, field: FieldInfo, default: str | None, required: bool) -> inspect.Parameter:
    many = get_origin(field.annotation) is tuple
    needed = default is None and required
    kind: Any = list[str] if many else str
    names = (f"--{key.replace('_', '-')}", *([_SHORT[key]] if key in _SHORT else []))
    return inspect.Parameter(
        key,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[
            kind if needed or default else kind | None,
            typer.Option(*names, help=_help(field, many), show_default=_shown_default(field, default)),
        ],
        default=inspect.Parameter.empty if needed else default,
    )


def _shown_default(field: FieldInfo, default: str | None) -> str | bool:
    """The model's own default is not said for the caller: a rate each way says the direction, too."""
    return field.default.value if default is None and isinstance(field.default, StrEnum) else True


def _help(field: FieldInfo, many: bool) -> str:
    words = (field.description or "").rstrip(".")
    words = words if words[1:2].isupper() else words[:1].lower() + words[1:]
    kind = field.annotation
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        words += f" (one of {', '.join(kind)})"
    elif field.examples and "`" not in words:
        words += f" (such as `{field.examples[0]}`)"
    return f"{words}; may be repeated" if many else words
