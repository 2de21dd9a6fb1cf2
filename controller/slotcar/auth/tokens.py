"""Bearer tokens of the API: random, shown once, kept as SHA-256 only.

A token carries 256 random bits, so a fast hash is enough: there is nothing to guess (a password would need a slow one).
"""

from __future__ import annotations

import hashlib
import secrets
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from slotcar.base import lengths
from slotcar.base.files import read_regular_file
from slotcar.base.names import Owner
from slotcar.base.private_files import locked_for_change, replace_private_file
from slotcar.base.problems import InvalidInput, Problem, SlotcarError
from slotcar.book.rules.roles import Caller, Role
from slotcar.policy.site import Site

TOKEN_PREFIX = "slotcar_"  # noqa: S105 - what every token begins with
#: Some 40,000 tokens.
LARGEST_FILE_BYTES = 10_000_000
#: Of one token.
MOST_SCOPES = 50


class Token(BaseModel):
    """One token at rest.

    Attributes:
        owner: whose reservations a requester's token stands for. scopes: see `slotcar.policy.scopes`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,62}$")]
    role: Role
    owner: Owner
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    created_at: datetime
    expires_at: datetime | None = None
    scopes: tuple[str, ...] = Field(default=(), max_length=MOST_SCOPES)


class TokenFile(BaseModel):
    """The file's whole content."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = Field(default=1, ge=1, le=1)
    tokens: tuple[Token, ...] = ()


class TokenError(SlotcarError):
    """A token of that name exists, or does not."""


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def read_tokens(file: Path) -> tuple[Token, ...]:
    """The tokens in `file`; none where there is no file.

    Raises:
        InvalidInput: the file is not a token file, or others than its owner can read it.
    """
    try:
        text = read_regular_file(file, LARGEST_FILE_BYTES).decode("utf-8")
        mode = stat.S_IMODE(file.stat().st_mode)
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, error) from error
    if mode & 0o077:
        raise InvalidInput(
            [Problem(str(file), 0, "", "is open to others", f"mode {mode:04o}", f"say: chmod 600 {file}")]
        )
    try:
        return TokenFile.model_validate_json(text).tokens
    except ValidationError as error:
        problems = [
            Problem(str(file), 0, ".".join(map(str, detail["loc"])), detail["msg"])
            for detail in error.errors(include_url=False)
        ]
        raise InvalidInput(problems) from error


def _unreadable(file: Path, error: Exception) -> InvalidInput:
    why = getattr(error, "strerror", None) or "it is not UTF-8 text"
    return InvalidInput([Problem(str(file), 0, "", f"cannot be read as a token file: {why}")])


def create_token(
    file: Path,
    name: str,
    role: Role,
    owner: str,
    now: datetime,
    expires_at: datetime | None = None,
    scopes: Collection[str] = (),
) -> str:
    """Adds a token and gives its text, the only time that it is known.

    Raises:
        TokenError: the name is taken. InvalidInput: the name, the owner, a scope or the file is wrong.
    """
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    _check_scopes(scopes)
    whose = {"name": name, "role": role, "owner": owner, "scopes": tuple(dict.fromkeys(scopes))}
    try:
        token = Token(**whose, sha256=digest(secret), created_at=now, expires_at=expires_at)
    except ValidationError as error:
        raise InvalidInput(
            [Problem("token", 0, str(d["loc"][0]), d["msg"], repr(d["input"])) for d in error.errors()]
        ) from error
    with _changed(file):
        tokens = read_tokens(file)
        if any(one.name == name for one in tokens):
            raise TokenError(f"there is a token named {name} already; revoke it first or choose another name")
        _write(file, (*tokens, token))
    return secret


def _check_scopes(scopes: Collection[str]) -> None:
    """
    Raises:
        InvalidInput: one is none.
    """
    if not scopes:
        return
    # It knows all verbs, which few commands need.
    from slotcar.policy.scopes import wrong_scopes

    wrong = wrong_scopes(scopes)
    if wrong:
        raise InvalidInput([Problem("token", 0, "scopes", "is no scope", one, hint) for one, hint in wrong.items()])


def revoke_token(file: Path, name: str) -> None:
    """Takes a token away; a running controller sees it at its next request.

    Raises:
        TokenError: there is none of that name. InvalidInput: the file is wrong.
    """
    need_token(file, name)
    with _changed(file):
        need_token(file, name)
        _write(file, tuple(token for token in read_tokens(file) if token.name != name))


def need_token(file: Path, name: str) -> Token:
    """
    Raises:
        TokenError: there is none of that name.
    """
    tokens = {token.name: token for token in read_tokens(file)}
    if name not in tokens:
        raise TokenError(f"there is no token named {name} in {file}")
    return tokens[name]


@contextmanager
def _changed(file: Path) -> Iterator[None]:
    """Of two that change the file at once, the second reads what the first one wrote: nothing revoked comes back."""
    try:
        with locked_for_change(file):
            yield
    except OSError as error:
        raise InvalidInput([Problem(str(file), 0, "", f"cannot be changed: {error.strerror}")]) from error


def _write(file: Path, tokens: tuple[Token, ...]) -> None:
    replace_private_file(file, TokenFile(tokens=tokens).model_dump_json(indent=2) + "\n")


class _Read(NamedTuple):
    """What a token file had when its stamp was this one."""

    stamp: tuple[int, ...]
    tokens: tuple[Token, ...]
    by_digest: Mapping[str, Token]


_NOTHING_READ = _Read((), (), {})


class TokenStore:
    """The token file as a running controller sees it: read again whenever it changes."""

    def __init__(self, file: Path, site: Site | None = None) -> None:
        """`site`: what it knows of callers; without one, the policies that ship decide alone."""
        self._file = file
        self.site = site or Site()
        #: What was read last: one value, since several threads read and write it.
        self._last_read = _NOTHING_READ

    def has_changed(self) -> bool:
        """Whether the next question reads the file."""
        return self._last_read.stamp != self._stamp()

    def tokens(self) -> tuple[Token, ...]:
        return self._present().tokens

    def caller(self, secret: str, now: datetime) -> Caller | None:
        """The caller that a token stands for; None for an unknown or expired token.

        The look-up by the digest is not in constant time: what its time could tell of a digest tells nothing of the token.
        """
        token = self._present().by_digest.get(digest(secret)) if len(secret) <= lengths.TOKEN else None
        if token is None or (token.expires_at is not None and token.expires_at <= now):
            return None
        return self.known(token)

    def known(self, token: Token) -> Caller:
        """Whom a token stands for."""
        scopes = f", scopes {' '.join(token.scopes)}" if token.scopes else ""
        caller = self.site.caller(token.name, token.role, token.owner, token.expires_at, f"token {token.name}{scopes}")
        return replace(caller, scopes=token.scopes, known_since=token.created_at)

    def _present(self) -> _Read:
        # Taken before the reading: what is replaced meanwhile is read again.
        stamp, last = self._stamp(), self._last_read
        if last.stamp != stamp:
            tokens = read_tokens(self._file) if stamp else ()
            self._last_read = last = _Read(stamp, tokens, {one.sha256: one for one in tokens})
        return last

    def _stamp(self) -> tuple[int, ...]:
        """What differs once the file was changed; empty where there is none."""
        try:
            status = self._file.stat()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise _unreadable(self._file, error) from error
        return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size
