"""Templates to text: every value escaped, every name known, what steers a reader's eye made visible."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context as TemplateContext
from markupsafe import Markup, escape

from slotcar.admission.resource_id import ResourceId
from slotcar.base.lengths import OF_KEY
from slotcar.base.problems import printable
from slotcar.base.timebase import with_instants
from slotcar.base.units import format_bytes_about, format_latency, format_rate_about
from slotcar.web.assets import address_of
from slotcar.web.times import Clock, span_words

FOLDER = Path(__file__).parent


@cache
def environment() -> Environment:
    jinja = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=visible, auto_reload=False,
    )  # fmt: skip
    jinja.filters |= {
        "amount_of": _amount_of,
        "size": _size,
        "rate": format_rate_about,
        "bytes": format_bytes_about,
        "latency": format_latency,
        "when": _when,
        "local": _local,
        "distance": _distance,
        "span": _span,
        "count": _count,
    }
    jinja.globals |= {"asset": address_of, "longest": OF_KEY}
    return jinja


def render(template: str, model: Mapping[str, Any]) -> str:
    return environment().get_template(template).render(model)


def visible(value: Any) -> Any:
    """A text without characters that end its line, hide, or turn the direction of what follows; markup stays as it is."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return "\n".join(printable(line) for line in value.split("\n"))
    return value


@pass_context
def _when(context: TemplateContext, moment: datetime) -> Markup:
    return _clock(context).element(moment)


@pass_context
def _local(context: TemplateContext, text: object) -> str:
    """A sentence that was made elsewhere, such as why a router failed, with its instants as the page has all others."""
    return with_instants(str(text), _clock(context).words)


@pass_context
def _distance(context: TemplateContext, moment: datetime) -> Markup:
    """With the instant for the script that counts it down."""
    clock = _clock(context)
    return Markup('<span data-until="{0}">{1}</span>').format(moment.isoformat(), clock.distance(moment))


def _clock(context: TemplateContext) -> Clock:
    clock = context["clock"]
    assert isinstance(clock, Clock)
    return clock


def _span(length: timedelta) -> str:
    return span_words(length)


def _amount_of(amount: int, resource: ResourceId | str) -> str:
    """In the unit of a resource, of which a document has the name alone."""
    name = resource if isinstance(resource, ResourceId) else ResourceId.parse(resource)
    return name.kind_of.format_amount(amount)


def _size(bits: int) -> str:
    return format_bytes_about(bits // 8)


def _count(number: int, one: str, many: str | None = None) -> Markup:
    """`1 reservation`, `3 reservations`."""
    return Markup("{} {}").format(number, escape(one if number == 1 else many or f"{one}s"))
