"""Files of `policies/` that list callers who are known by something else than a token, each with role and owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from slotcar.base.located_yaml import Document, load, read_text
from slotcar.base.names import OWNER
from slotcar.base.problems import InvalidInput, Problem
from slotcar.policy.caller import Role

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listed:
    """One of the list, as it is written.

    Attributes:
        key: where it stands, such as `certificates[2]`.
        texts: its keys whose values are texts.
    """

    document: Document
    key: str
    given: Mapping[str, Any]

    @property
    def texts(self) -> Mapping[str, str]:
        return {key: value for key, value in self.given.items() if isinstance(value, str)}

    def problem(self, key: str, message: str, value: str = "", hint: str = "") -> Problem:
        """`key`: of the entry's; that is where it stands if the entry has it."""
        where = f"{self.key}.{key}" if key in self.given else self.key
        return Problem(self.document.file, self.document.line(where), where, message, value, hint)


def read_known(
    path: Path, listed_as: str, keys: Collection[str], issued: str, wrong_with: Callable[[Listed], Iterable[Problem]],
    known: Callable[[Mapping[str, str]], T],
) -> tuple[T, ...]:  # fmt: skip
    """What `known` makes of each entry of the file's one list; nothing where there is no file.

    Args:
        listed_as: the file's one key.
        keys: of an entry, beside `role` and `owner`, which each kind has.
        issued: what stands behind the `@` of its callers' names.
        wrong_with: what else can be wrong with an entry.

    Raises:
        InvalidInput: with everything that is wrong, by line.
    """
    if not path.exists():
        return ()
    document = load(read_text(path), str(path))
    problems = list(document.problems)
    data = document.data if isinstance(document.data, dict) else {}
    listed = data.get(listed_as)
    if set(data) != {listed_as} or not isinstance(listed, list):
        raise InvalidInput([*problems, Problem(str(path), 1, "", f"has one key, `{listed_as}`, which is a list")])
    entries = []
    for number, one in enumerate(listed):
        at = f"{listed_as}[{number}]"
        if not isinstance(one, Mapping):
            words = f"keys are {', '.join((*keys, 'role', 'owner'))}"
            problems.append(Problem(document.file, document.line(at), at, "is no mapping", "", words))
            continue
        entry = Listed(document, at, one)
        wrong = [*_wrong_keys(entry, (*keys, "role", "owner"), issued), *wrong_with(entry), *_wrong_rights(entry)]
        problems += wrong
        entries += [] if wrong else [known(entry.texts)]
    if problems:
        raise InvalidInput(problems)
    return tuple(entries)


def twice(path: Path, listed_as: str, texts: Iterable[str]) -> None:
    """
    Raises:
        InvalidInput: of what may be there once, something is there twice.
    """
    again = [text for text, times in Counter(texts).items() if times > 1]
    if again:
        line = load(read_text(path), str(path)).line(listed_as)
        raise InvalidInput([Problem(str(path), line, listed_as, "has twice", text) for text in again])


def _wrong_keys(entry: Listed, keys: Collection[str], issued: str) -> Iterator[Problem]:
    for key, value in entry.given.items():
        if key not in keys:
            hint = _hint_of(str(key), keys, issued) or f"keys are {', '.join(keys)}"
            yield entry.problem(str(key), "is not known here", "", hint)
        elif not isinstance(value, str):
            yield entry.problem(key, "is no text", str(value))


def _hint_of(key: str, keys: Collection[str], issued: str) -> str:
    """What is meant by a key that is not known here, or where it stands instead."""
    if near := get_close_matches(key.lower(), keys, n=1):
        return f"perhaps {near[0]}"
    word = key.lower().rstrip("s").replace("communitie", "community")
    if word in ("community", "domain"):
        return f"say its `owner`, and in site.yml of which {word} that is"
    return f"say it in site.yml, by NAME@{issued}" if word in ("group", "program") else ""


def _wrong_rights(entry: Listed) -> Iterator[Problem]:
    texts = entry.texts
    role = texts.get("role", "")
    if role not in set(Role) and ("role" in texts or "role" not in entry.given):
        near = get_close_matches(role.lower(), [one.value for one in Role], n=1)
        yield entry.problem("role", f"has no `role` of {', '.join(Role)}", role, f"perhaps {near[0]}" if near else "")
    if "owner" in texts and not OWNER.fullmatch(texts["owner"]):
        yield entry.problem("owner", "has an `owner` that is no name", texts["owner"])
