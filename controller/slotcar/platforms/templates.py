"""Templates: one file per kind of object, filled with attributes that Python has already computed.

An undefined variable is an error, and so is an expression that would compute: the templates hold names, conditions and
loops only (tested).
"""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from jinja2.exceptions import TemplateNotFound, UndefinedError

from slotcar.base.shipped import shipped
from slotcar.base.texts import BLANKS, lines_of

TEMPLATES = shipped() / "templates"


class Family:
    """The templates of one platform."""

    def __init__(self, name: str) -> None:
        self.directory = TEMPLATES / name
        self._environment = Environment(
            loader=FileSystemLoader(self.directory),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,  # noqa: S701 - configurations of routers, not HTML
            auto_reload=False,
        )
        self._template = cache(self._load)

    def _load(self, kind: str) -> Template:
        try:
            return self._environment.get_template(f"{kind}.j2")
        except TemplateNotFound as problem:
            raise LookupError(f"no template {self.directory / kind}.j2") from problem

    def lines(self, kind: str, **attributes: object) -> tuple[str, ...]:
        """The lines of one object of `kind`; empty lines are left out.

        Raises:
            LookupError: no such template, or it uses a variable that is not among `attributes`.
        """
        try:
            text = self._template(kind).render(attributes)
        except UndefinedError as problem:
            names = ", ".join(sorted(attributes))
            raise LookupError(
                f"template {self.directory / kind}.j2: {problem.message}; it is given: {names}"
            ) from problem
        return tuple(line.rstrip(BLANKS) for line in lines_of(text) if line.strip(BLANKS))

    def line(self, kind: str, **attributes: object) -> str:
        """The one line of an object of `kind`."""
        (line,) = self.lines(kind, **attributes)
        return line
