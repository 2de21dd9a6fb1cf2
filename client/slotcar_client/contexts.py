"""Which controller, and with which token: from the environment, or a named context in `~/.config/slotcar`.

`contexts.json` has the addresses, the zones in which times are shown, and which context is in use; `tokens/NAME` has a
context's token. Both are files that nobody else may read (mode 0600).
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from slotcar_client.private_files import locked_for_change, replace_private_file
from slotcar_client.signing_in import TokenKeeper
from slotcar_client.wire.errors import SlotcarError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
LARGEST_BYTES = 100_000
#: A token, or what gives the present one.
Bearer = str | Callable[[], str | None] | None


class NoContext(SlotcarError):
    """No controller was named, or what names one cannot be used; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """A controller's address, and the token for it; `name` of the context, empty for the environment. `timezone`: in which
    people are shown times, empty where the context says none. `signed_in`: what `slotcar login` kept for it."""

    api: str
    token: str | None = field(repr=False)
    name: str = ""
    timezone: str = ""
    signed_in: TokenKeeper | None = field(default=None, repr=False, compare=False)

    @property
    def bearer(self) -> Bearer:
        """What a client is given: a token, or what gives one that is renewed."""
        return self.token if self.signed_in is None else self.signed_in.token


@dataclass(frozen=True, slots=True)
class _Kept:
    """What the file has of a context."""

    api: str
    timezone: str = ""

    @property
    def document(self) -> dict[str, str]:
        return {"api": self.api, **({"timezone": self.timezone} if self.timezone else {})}


def chosen_place(environment: Mapping[str, str] = os.environ, context: str | None = None) -> Place | None:
    """The named context; else what `SLOTCAR_API` says, else `SLOTCAR_CONTEXT`, else the context in use; None for none.

    With `SLOTCAR_API` the token is that in `SLOTCAR_TOKEN`, or in the file that `SLOTCAR_API_TOKEN_FILE` names.

    Raises:
        NoContext: the context is not there, or a file cannot be used.
    """
    if context is None and environment.get("SLOTCAR_API"):
        return _with_sign_in(Place(environment["SLOTCAR_API"], token_of(environment)), environment)
    contexts = Contexts(folder_of(environment))
    name = context or environment.get("SLOTCAR_CONTEXT") or contexts.in_use()
    return _with_sign_in(contexts.place(name), environment) if name else None


def _with_sign_in(place: Place, environment: Mapping[str, str]) -> Place:
    """Who has signed in comes before the token of a context, and after one that the environment says."""
    if place.token is not None and not place.name:
        return place
    keeper = TokenKeeper(place.api, environment)
    return replace(place, signed_in=keeper) if keeper.is_there else place


def folder_of(environment: Mapping[str, str] = os.environ) -> Path:
    base = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME") or Path.home()) / ".config"
    return Path(base) / "slotcar"


def token_of(environment: Mapping[str, str]) -> str | None:
    """What `SLOTCAR_TOKEN` says, or the file that `SLOTCAR_API_TOKEN_FILE` names."""
    if environment.get("SLOTCAR_TOKEN"):
        return environment["SLOTCAR_TOKEN"].strip()
    file = environment.get("SLOTCAR_API_TOKEN_FILE")
    return read_token(Path(file)) if file else None


def read_token(file: Path) -> str:
    """
    Raises:
        NoContext: it cannot be read, or holds no token.
    """
    try:
        text = _read(file).strip()
    except (OSError, UnicodeDecodeError) as error:
        words = getattr(error, "strerror", None) or "it is not text"
        raise NoContext(f"{file}: no token can be read from it: {words}") from error
    if not text.isascii() or not text.isprintable() or not text:
        raise NoContext(f"{file}: it holds no token")
    return text


class Contexts:
    """The named contexts of one user.

    Raises (every method):
        NoContext: the files cannot be read or written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / "contexts.json"

    def names(self) -> dict[str, str]:
        """The address of each context."""
        return {name: one.api for name, one in self._read()[1].items()}

    def timezones(self) -> dict[str, str]:
        """Of each context that has one."""
        return {name: one.timezone for name, one in self._read()[1].items() if one.timezone}

    def in_use(self) -> str | None:
        return self._read()[0]

    def place(self, name: str) -> Place:
        """A context's address with the token that was given for it.

        Raises:
            NoContext: there is none of that name, or its token cannot be read.
        """
        # `add` takes the token away before it changes the address: one that is read between two equal ones is its token.
        while True:
            kept = self._need(name)[name]
            token = self._token(name)
            if self._need(name)[name].api == kept.api:
                return Place(kept.api, token, name, kept.timezone)

    def _token(self, name: str) -> str | None:
        file = self._token_file(name)
        try:
            mode = stat.S_IMODE(file.stat().st_mode)
        except FileNotFoundError:
            return None
        if mode & 0o077:
            raise NoContext(f"{file} can be read by others: say chmod 600 {file}")
        return read_token(file)

    def add(self, name: str, api: str, token: str | None, use: bool = False, timezone: str | None = None) -> None:
        """Adds a context or replaces it; the first one is in use from then on. `timezone`: in which people are shown times;
        None leaves what there is."""
        if not NAME.fullmatch(name):
            raise NoContext(
                f"{name} is not a valid name of a context: say letters, digits, dots and dashes, at most 63"
            )
        with self._locked():
            in_use, contexts = self._read()
            before = contexts.get(name, _Kept(""))
            if token is None or before.api != api:
                self._token_file(name).unlink(missing_ok=True)
            kept = _Kept(api, before.timezone if timezone is None else timezone)
            self._keep(name if use or in_use is None else in_use, contexts | {name: kept})
            if token is not None:
                self._write(self._token_file(name), token + "\n")

    def set_timezone(self, name: str, timezone: str) -> None:
        """In which people are shown times from now on; empty for none."""
        with self._locked():
            contexts = self._need(name)
            self._keep(self.in_use(), contexts | {name: _Kept(contexts[name].api, timezone)})

    def use(self, name: str | None) -> None:
        """From now on; None for none."""
        with self._locked():
            self._keep(name, self._read()[1] if name is None else self._need(name))

    def remove(self, name: str) -> None:
        """With its token; where it was in use, none is."""
        self._need(name)
        with self._locked():
            contexts = self._need(name)
            in_use = self.in_use()
            self._token_file(name).unlink(missing_ok=True)
            left = {one: kept for one, kept in contexts.items() if one != name}
            self._keep(None if in_use == name else in_use, left)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """No other program changes the contexts meanwhile: what one adds or removes, another's change keeps."""
        try:
            with locked_for_change(self._folder):
                yield
        except OSError as error:
            raise NoContext(f"{self._folder} cannot be written: {error.strerror}") from error

    def _token_file(self, name: str) -> Path:
        return self._folder / "tokens" / name

    def need(self, name: str) -> None:
        """
        Raises:
            NoContext: there is none of that name.
        """
        self._need(name)

    def _need(self, name: str) -> dict[str, _Kept]:
        """All by name, this one among them.

        Raises:
            NoContext: there is none of that name.
        """
        contexts = self._read()[1]
        if name not in contexts:
            known = f"those are {', '.join(contexts)}" if contexts else "there is none yet"
            raise NoContext(f"there is no context {name} in {self._file}: {known}; see: slotcar context add --help")
        return contexts

    def _read(self) -> tuple[str | None, dict[str, _Kept]]:
        try:
            document = json.loads(_read(self._file))
            contexts = {
                str(name): _Kept(str(one["api"]), str(one.get("timezone", "")))
                for name, one in document["contexts"].items()
            }
            in_use = document.get("in_use")
        except FileNotFoundError:
            return None, {}
        except OSError as error:
            raise NoContext(f"{self._file} cannot be read: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise NoContext(f"{self._file} is not a list of contexts; correct it or remove it") from error
        return (in_use if in_use in contexts else None), contexts

    def _keep(self, in_use: str | None, contexts: Mapping[str, _Kept]) -> None:
        listed = {name: one.document for name, one in sorted(contexts.items())}
        self._write(self._file, json.dumps({"in_use": in_use, "contexts": listed}, indent=2) + "\n")

    def _write(self, file: Path, text: str) -> None:
        try:
            replace_private_file(file, text)
        except OSError as error:
            raise NoContext(f"{file} cannot be written: {error.strerror}") from error


def _read(file: Path) -> str:
    """A regular file's text: nobody waits for a FIFO, and what is named by mistake is not read whole."""
    status = file.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_BYTES:
        raise OSError(0, f"it is not a regular file of at most {LARGEST_BYTES} bytes")
    return file.read_text(encoding="utf-8")
