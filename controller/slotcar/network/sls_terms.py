"""An SLS from what is written of it: in an inventory, or in its words for an agreement between controllers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from slotcar.base.problems import InvalidInput, Problem
from slotcar.network.findings import explained
from slotcar.network.model import Network, Sls
from slotcar.network.variables import SlsVariables


def sls_of(name: str, written: Mapping[str, Any], network: Network, place: str) -> Sls:
    """The SLS; its downstream domain is the one that has the ingress.

    Raises:
        InvalidInput: it is none of this network.
    """
    try:
        variables = SlsVariables.model_validate(dict(written))
    except ValidationError as error:
        problems = [
            Problem(place, 0, ".".join(map(str, key)), message, str(value), hint)
            for key, message, value, hint in explained(error, SlsVariables, written)
        ]
        raise InvalidInput(problems) from error
    if not network.has([variables.ingress]):
        hint = "say `DEVICE:INTERFACE` as the inventory has it"
        raise InvalidInput(
            [Problem(place, 0, "ingress", "is no interface of the inventory", str(variables.ingress), hint)]
        )
    return sls_with(name, network.domain_of(variables.ingress).name, variables)


def sls_with(name: str, downstream: str, variables: SlsVariables) -> Sls:
    """`downstream`: the domain in whose group it stands."""
    return Sls(
        name=name,
        upstream=variables.upstream,
        downstream=downstream,
        service=variables.service,
        assured_class=variables.assured_class or "",
        code_points=variables.code_points or (),
        rate_bps=variables.rate,
        burst_bytes=variables.burst,
        peak_bps=variables.peak,
        ingress=variables.ingress,
        egresses=variables.egress,
        validity=variables.validity.window() if variables.validity else None,
        schedule=variables.schedule.schedule() if variables.schedule else None,
        delay_us=variables.delay,
        variation_us=variables.variation,
        loss_ppm=variables.loss,
        quantile_ppm=variables.quantile,
        pscheduler=tuple(one.task_of() for one in variables.pscheduler),
        excess=variables.excess,
        description=variables.description,
    )


def sources_wrong(sls: Sls) -> Iterator[tuple[int | None, str, str, str]]:
    """What pSchedulers cannot mean: each way once, and something to hold it to. The number of the task, or None of all;
    a sentence, what was written, and what to say instead."""
    ways: set[tuple[str, str]] = set()
    for number, one in enumerate(sls.pscheduler):
        way = (one.source, one.destination)
        if one.source == one.destination:
            yield number, "measures from a place to itself", one.source, "say where its packets go"
        elif way in ways:
            yield number, "measures a way that another one measures, too", " to ".join(way), "leave one out"
        ways.add(way)
    if sls.pscheduler and not sls.has_figures:
        hint = "say `delay`, `variation` or `loss` too, or leave it out"
        yield None, "measures what nothing was agreed of", "", hint
