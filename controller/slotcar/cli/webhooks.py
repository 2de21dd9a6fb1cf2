"""Who is told of events: webhooks are added, listed, tested, removed; what was given up is sent again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slotcar.cli.confirmation import confirm
from slotcar.cli.exit_codes import ExitCode
from slotcar.cli.lists import by_limit, emit_list, first_of
from slotcar.cli.options import OutputFormat, Yes
from slotcar.cli.output import Format, complain, emit, print_table, stdout
from slotcar.cli.session import sender
from slotcar.cli.strict import App
from slotcar.cli.tables import Column

webhook = App(help="Receivers of events, which get them as signed HTTP requests.", no_args_is_help=True)
Id = Annotated[str, typer.Argument(metavar="WEBHOOK", help="its id, from `slotcar webhook list`", show_default=False)]


def register(app: typer.Typer) -> None:
    app.add_typer(webhook, name="webhook")


@webhook.command()
def add(
    url: Annotated[str, typer.Argument(help="where to send events, http or https", show_default=False)],
    secret_file: Annotated[
        Path | None,
        typer.Option("--secret-file", help="the file with the signing secret; the controller reads it too"),
    ] = None,
    secret_env: Annotated[
        str | None,
        typer.Option("--secret-env", help="or the environment variable of the controller that holds the secret"),
    ] = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--kinds",
            help="only kinds that begin with one of these, such as `push.failed,reservation.`; may be repeated",
        ),
    ] = None,
    form: OutputFormat = Format.TABLE,
) -> None:
    """Send each event from now on to URL: signed, at least once, in order per reservation.

    The secret is `whsec_` and base64 of 24 to 64 random bytes; only its place is kept. Without one the controller makes
    it, and this prints it once.
    """
    if secret_file is not None and secret_env is not None:
        raise typer.BadParameter("say one of --secret-file and --secret-env, or neither", param_hint="--secret-file")
    env = f"env:{secret_env}" if secret_env else None
    place = f"file:{secret_file.absolute()}" if secret_file else env
    listed = [kind.strip() for one in kinds or [] for kind in one.split(",") if kind.strip()]
    if kinds and not listed:
        raise typer.BadParameter("names no kind: say one, or leave it out for every event", param_hint="--kinds")
    from slotcar.notify.sending import sent_in_clear
    from slotcar_client.wire import verbs

    with sender(network=False) as controller:
        webhook = controller.send(verbs.WebhookAdd(url, place, listed))
    if sent_in_clear(url):
        complain("note: http is not encrypted: whoever is on the way can read the events; https keeps them private")
    lines = [f"{webhook['id']} gets {', '.join(listed) or 'every event'} from now on."]
    if webhook["signing_secret"]:
        lines.append(f"Its signing secret, which is said only now: {webhook['signing_secret']}")
    emit(webhook, form, lambda: stdout().print("\n".join(lines), soft_wrap=True))


@webhook.command(name="list")
def list_webhooks(form: OutputFormat = Format.TABLE) -> None:
    """List the webhooks, each with how many events wait for it and how many were given up; never their secrets."""
    from slotcar_client.wire import verbs

    with sender(network=False) as controller:
        data = controller.send(verbs.WebhookList())["items"]
    rows = [
        (one["id"], one["url"], ", ".join(one["kinds"]) or "all", one["secret"], str(one["waiting"]), str(one["dead"]),
         one["delivered_at"] or "never", one["last_error"])
        for one in data
    ]  # fmt: skip
    columns = (
        Column("webhook"), Column("url"), Column("kinds", leave_out=2, wraps=True), Column("secret", leave_out=1),
        Column("waiting"), Column("dead"), Column("delivered", leave_out=3), Column("last error", leave_out=4, wraps=True),
    )  # fmt: skip
    emit(data, form, lambda: print_table(columns, rows, "No webhooks."))


@webhook.command()
def remove(which: Id, yes: Yes = False) -> None:
    """Remove a webhook; events that still wait for it are dropped. Asks first."""
    from slotcar_client.wire import verbs

    with sender(network=False) as controller:
        confirm(yes, f"Remove the webhook {which}, with all that waits for it?")
        removed = controller.send(verbs.WebhookRemove(which))
    stdout().print(f"{removed['id']} gets nothing any more.")


@webhook.command()
def test(which: Id) -> None:
    """Send one message of the kind `webhook.test` at once, from this machine."""
    from slotcar_client.wire import verbs

    with sender(network=False) as controller:
        outcome = controller.send(verbs.WebhookTest(which))
    if not outcome["delivered"]:
        complain(f"{which}: {outcome['message']}")
        raise SystemExit(ExitCode.ERROR)
    stdout().print(f"{which} answered {outcome['status']}.")


@webhook.command(name="dead-letters")
def dead_letters(
    which: Id,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000)] = 100,
    form: OutputFormat = Format.TABLE,
) -> None:
    """List the events that were given up after the last attempt."""
    from slotcar_client.wire import verbs

    with sender(network=False) as controller:
        data, is_cut = first_of(controller.items(verbs.WebhookDeadLetters(which), limit + 1), limit)
    rows = [
        (str(one["event"]["sequence"]), one["event"]["at"], one["event"]["kind"], str(one["attempts"]), one["dead_at"],
         one["last_error"])
        for one in data
    ]  # fmt: skip
    columns = (
        Column("event"), Column("at", leave_out=2), Column("what"), Column("attempts", leave_out=3),
        Column("given up", leave_out=1), Column("last error", wraps=True),
    )  # fmt: skip
    more = by_limit(limit, "after `slotcar webhook redeliver` the same command") if is_cut else None
    emit_list(data, form, lambda: print_table(columns, rows, "No dead letters."), more=more)


@webhook.command()
def redeliver(
    which: Id,
    events: Annotated[list[int] | None, typer.Argument(help="numbers of events; by default all dead letters")] = None,
) -> None:
    """Queue dead letters again, beginning with the first attempt."""
    from slotcar_client.wire import verbs

    with sender(network=False) as controller:
        count = controller.send(verbs.WebhookRedeliver(which, events or None))["waiting"]
    stdout().print(f"{count} wait again for {which}.")
