"""Policies of an inventory, tried."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from slotcar.cli.exit_codes import ExitCode
from slotcar.cli.options import Inventory, OutputFormat, Since, Which, time_of
from slotcar.cli.output import Format, emit, print_table, stdout
from slotcar.cli.session import AnyDesk, caller, desk, now, require_local_ledger, sender, settings
from slotcar.cli.strict import App

Document = Mapping[str, Any]
policy = App(help="Policies of an inventory: who may do what.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(policy, name="policy")


@policy.command(name="test")
def policy_test(
    file: Annotated[Path, typer.Argument(help="a YAML list of cases", show_default=False)],
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Ask the policies of the inventory, with those that ship, what is in a file of cases; no controller is asked.

    A case has `who`, `role`, `verb` and `expect` (`permit` or `forbid`), and may have `owner` and `of`. Ends with 1 where
    one is not as expected."""
    from slotcar.base.located_yaml import load, read_text
    from slotcar.policy.cases import FORBID, PERMIT, cases_of, outcome_of
    from slotcar.policy.site import site_of

    site = site_of(settings(inventory=inventory).inventory)
    outcomes = [outcome_of(case, site) for case in cases_of(load(read_text(file), str(file)))]
    data: list[dict[str, Any]] = [
        {
            "line": one.case.line,
            "who": one.case.who,
            "verb": one.case.verb,
            "of": one.case.of,
            "answer": PERMIT if one.permitted else FORBID,
            "as_expected": one.is_as_expected,
            "reason": one.reason,
        }
        for one in outcomes
    ]
    rows = [
        (
            str(d["line"]),
            d["who"],
            d["verb"],
            d["of"] or "",
            d["answer"],
            "yes" if d["as_expected"] else "NO",
            d["reason"],
        )
        for d in data
    ]
    heads = ("line", "who", "verb", "of", "answer", "as expected", "by, or why not")
    emit(data, form, lambda: print_table(heads, rows, "No cases."))
    if not all(one.is_as_expected for one in outcomes):
        raise typer.Exit(ExitCode.ERROR)


@policy.command(name="why")
def policy_why(which: Which, form: OutputFormat = Format.TABLE) -> None:
    """Say which policies permit or forbid a reservation, as it was when it was asked for and as it is now.

    RESERVATION is OWNER/NAME, or a handle: also of a request that was refused (`slotcar events --kind policy.refused`),
    where there is no reservation of that name.
    """
    from slotcar_client.wire import verbs

    with sender() as controller:
        data = controller.send(verbs.PolicyWhy(_asked_for(which, controller) if "/" in which else which))
    emit(data, form, lambda: _print_why(data))


def _asked_for(which: str, controller: AnyDesk) -> str:
    """The handle of the reservation of that OWNER/NAME, or of the last request for it that policies refused.

    Raises:
        NotFound: there is neither.
    """
    from slotcar_client.wire import verbs
    from slotcar_client.wire.errors import NotFound
    from slotcar_client.wire.events import PolicyRefused

    try:
        return controller.handle_of(which)
    except NotFound:
        # A filter of names is of reservations, which a refused request is none of.
        refused = controller.send(verbs.Events(kind=(PolicyRefused.kind,), newest=True, limit=1000))["items"]
        handles = {f"{one['details']['owner']}/{one['details']['name']}": one["handle"] for one in reversed(refused)}
        if (handle := handles.get(which)) is None:
            raise
        return str(handle)


def _print_why(data: Document) -> None:
    was = "permitted" if data["permitted"] else "refused"
    what = "a change of it" if data["is_change"] else "it"
    on = f", on the delegation of {data['delegated_by']}," if data["delegated_by"] else ""
    by = f", by {', '.join(data['recorded'])}" if data["recorded"] else ""
    headline = f"{data['owner']}/{data['name']}: {data['actor']}{on} asked for {what}, which was {was}{by}"
    stdout().print(f"{headline} (event {data['event']})")
    for when in ("then", "now"):
        decision = data[when]
        stdout().print(f"\n{when} ({decision['at']})", style="cyan")
        rows = [row for answer in decision["answers"] for row in _rows_of(answer)]
        print_table(("action", "answer", "policy", "says"), rows, "")
        for total in decision["totals"]:
            stdout().print(f"  {_total_words(total)}")


def _rows_of(answer: Document) -> list[tuple[str, ...]]:
    word = "permitted" if answer["permitted"] else "refused"
    rows: list[tuple[str, ...]] = [
        (answer["action"], word, f"{one['name']} ({one['file']}:{one['line']})", one["says"])
        for one in answer["policies"]
    ]
    rows += [
        (answer["action"], word, f"not {one['name']}", f"fails: {' and '.join(one['failed'])}")
        for one in answer["nearest"]
    ]
    if answer["sentence"]:
        rows.append((answer["action"], word, "", answer["sentence"]))
    return rows


def _total_words(total: Document) -> str:
    from slotcar.base.units import format_bytes_about, format_rate

    volume = format_bytes_about(-(-total["volume_bits"] // 8))
    return f"{total['of']}: {total['reservations']} live, at most {format_rate(total['peak_bps'])} at once, {volume} in all"


@policy.command(name="diff")
def policy_diff(
    new: Annotated[
        Path, typer.Argument(help="a folder of policies, as `policies/` of an inventory", show_default=False)
    ],
    since: Since = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Say which of the last month's requests other policies would have refused, or permitted, than those in force.

    Each request is asked again with what was live when it was made. Ends with 7 where one would be decided otherwise."""
    from datetime import timedelta

    from slotcar.desk.past_policies import PastPolicies
    from slotcar.planning.policy_documents import difference_document
    from slotcar.policy.site import site_in

    require_local_ledger("policies are compared")
    site = site_in(new)
    with desk(inventory) as opened:
        moment = now()
        begin = time_of("--from", since, moment) or moment - timedelta(days=31)
        requests = list(PastPolicies(opened).differences(site, begin, caller()))
    data = [difference_document(one) for _, one in requests if one is not None]
    rows = [
        (
            str(one["event"]), one["at"], f"{one['owner']}/{one['name']}", one["actor"],
            "would be permitted" if one["would_be_permitted"] else "would be refused", one["sentence"],
        )
        for one in data
    ]  # fmt: skip
    heads = ("event", "at", "reservation", "who", "what", "why")
    emit(data, form, lambda: print_table(heads, rows, f"Of {len(requests)} requests none would be decided otherwise."))
    if data:
        raise typer.Exit(ExitCode.DIFFERENT)
