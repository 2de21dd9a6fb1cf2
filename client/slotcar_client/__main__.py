"""`python -m slotcar_client VERB …`: every verb from a shell, with nothing but this package; answers are JSON.

    python -m slotcar_client create name=run-7 source=anl-premium destination=lbnl-premium:5001 rate="10 Mbit/s" …
    python -m slotcar_client reservations name=run-7 newest=true

What is no parameter of the verb is a key of the reservation. The controller is that of `connect`. It ends with 3 where
the request was refused.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from slotcar_client import calls
from slotcar_client.client import connect
from slotcar_client.transport import Conversation
from slotcar_client.wire.errors import Refused, SlotcarError

Call = Callable[..., Conversation[Any]]
VERBS: dict[str, Call] = {name: getattr(calls, name) for name in calls.__all__ if callable(getattr(calls, name))}


def given_to(verb: Call, words: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """The arguments of a verb, out of `VALUE` and `KEY=VALUE`.

    Raises:
        SlotcarError: the verb has no place for one, or misses one.
    """
    parameters = inspect.signature(verb).parameters
    body = next((name for name, one in parameters.items() if one.annotation == "Json"), None)
    plain, named, keys = [], {}, {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            plain.append(word)
        elif key in parameters:
            kind = str(parameters[key].annotation)
            if kind.startswith("Mapping"):
                named[key] = _json(value)
            else:
                named[key] = value.split(",") if "Iterable" in kind else value if "str" in kind else _json(value)
        else:
            keys[key] = _json(value) if value[:1] in ("{", "[") else value
    if keys and body is None:
        raise SlotcarError(f"it has no parameter {next(iter(keys))}: those are {', '.join(parameters) or 'none'}")
    if body is not None:
        named[body] = keys
    try:
        inspect.signature(verb).bind(*plain, **named)
    except TypeError as error:
        raise SlotcarError(f"{error}: the parameters are {', '.join(parameters) or 'none'}") from error
    return plain, named


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise SlotcarError(f"{text} is not JSON: a number, true or false, or {{…}}") from None


def main(words: Sequence[str]) -> int:
    """The exit code."""
    if not words or words[0] not in (*VERBS, "watch"):
        sys.stderr.write(f"{__doc__}\nverbs: {', '.join(VERBS)}, watch\n")
        return 2
    try:
        with connect() as slotcar:
            if words[0] == "watch":
                for event in slotcar.watch(*words[1:2]):
                    print(json.dumps(event), flush=True)
            plain, named = given_to(VERBS[words[0]], words[1:])
            print(json.dumps(slotcar.perform(VERBS[words[0]](*plain, **named)), indent=2))
    except Refused as error:
        sys.stderr.write(f"{error}\n")
        return 3
    except SlotcarError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
