"""`slotcar share`: what a community's manager shares out among its members (ADR 89)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from slotcar.cli.options import Inventory, OutputFormat, parsed, time_of
from slotcar.cli.output import Format, emit, print_table, stdout
from slotcar.cli.session import now, sender
from slotcar.cli.strict import App

Document = Mapping[str, Any]
share = App(help="What a community's manager shares out among its members.", no_args_is_help=True)
CommunityName = Annotated[str, typer.Argument(metavar="COMMUNITY", show_default=False)]
ShareName = Annotated[
    str,
    typer.Argument(metavar="NAME", help="of the share: an owner, or what several have together", show_default=False),
]


def register(app: typer.Typer) -> None:
    app.add_typer(share, name="share")


@share.command(name="give")
def share_give(
    community: CommunityName,
    name: ShareName,
    rate: Annotated[
        str, typer.Option("--rate", "-r", help="at most so much at once, such as `20 Mbit/s`; `0` for none")
    ],
    member: Annotated[
        list[str] | None, typer.Option("--member", help="an owner who has it with others; may be repeated")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", help="of slots before it: a time with its zone")] = None,
    hour: Annotated[
        list[str] | None,
        typer.Option(
            "--hours", help="of the day in the site's zone, such as `18-23`, `22-5` or `0,1`; may be repeated"
        ),
    ] = None,
    service: Annotated[list[str] | None, typer.Option("--service", help="only this service; may be repeated")] = None,
    inventory: Inventory = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Let an owner of a community, or several together, have at most so much of what the community was given.

    It takes the place of the share of that name. What is reserved stays; shares may come to more than the community has,
    which holds beside them.
    """
    from slotcar.base.timebase import iso
    from slotcar.base.units import parse_any_bps
    from slotcar.policy.sharing import hours_of
    from slotcar_client.wire import verbs

    rate = "0 bit/s" if rate.strip() == "0" else rate
    parsed("--rate", parse_any_bps, rate)
    end = time_of("--until", until, now())
    hours = [one for text in hour or () for one in parsed("--hours", hours_of, text)]
    with sender(inventory) as controller:
        given = controller.send(
            verbs.ShareGive(
                community,
                name,
                rate,
                tuple(member or ()),
                iso(end) if end else None,
                tuple(hours),
                tuple(service or ()),
            )
        )
    emit(given, form, lambda: stdout().print(_words(given)))


@share.command(name="withdraw")
def share_withdraw(
    community: CommunityName, name: ShareName, inventory: Inventory = None, form: OutputFormat = Format.TABLE
) -> None:
    """Take a share away: its members are bound by what else there is."""
    from slotcar_client.wire import verbs

    with sender(inventory) as controller:
        was = controller.send(verbs.ShareWithdraw(community, name))
    emit(was, form, lambda: stdout().print(f"Withdrawn: {_words(was)}"))


@share.command(name="list")
def share_list(inventory: Inventory = None, form: OutputFormat = Format.TABLE) -> None:
    """List what was shared out to you, or in the communities that you manage, with what is in use now."""
    from slotcar.base.units import format_rate
    from slotcar_client.wire import verbs

    with sender(inventory) as controller:
        data = controller.send(verbs.ShareList())
    rows = [
        (one["name"], "", ", ".join(one["owners"]), format_rate(most), format_rate(one["in_use_bps"] or 0), "", "")
        for one in data["communities"]
        if (most := one["at_most_bps"]) is not None
    ]
    rows += [
        (
            one["community"], one["name"], ", ".join(one["members"]), format_rate(one["rate_bps"]),
            format_rate(one["in_use_bps"]), one["until"] or "", _hours_text(one),
        )
        for one in data["items"]
    ]  # fmt: skip
    heads = ("community", "share", "members", "at most", "in use now", "until", "hours")
    emit(data, form, lambda: print_table(heads, rows, "No shares."))


def _words(one: Document) -> str:
    from slotcar.base.units import format_rate

    until = f" until {one['until']}" if one["until"] else ""
    hours = f", at the hours {text}" if (text := _hours_text(one)) else ""
    whose = f"{one['community']}/{one['name']} ({', '.join(one['members'])})"
    return f"{whose}: at most {format_rate(one['rate_bps'])}{until}{hours}, {', '.join(one['services'])}"


def _hours_text(one: Document) -> str:
    from slotcar.policy.sharing import hours_text

    return hours_text(one["hours"])
