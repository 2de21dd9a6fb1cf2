"""Who is told of events: webhooks are added, listed, tested, removed; what was given up is sent again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slotcar.cli.answering import ask_state_folder
from slotcar.cli.confirmation import confirm
from slotcar.cli.exit_codes import ExitCode
from slotcar.cli.lists import by_limit, emit_list, first_of
from slotcar.cli.options import OutputFormat, Yes
from slotcar.cli.output import Format, complain, emit, print_table, stdout
from slotcar.cli.place import chosen_place
from slotcar.cli.remote import remote
from slotcar.cli.session import caller, now, settings
from slotcar.cli.strict import App
from slotcar.cli.tables import Column

if TYPE_CHECKING:
    from slotcar.notify.webhooks import Webhooks
    from slotcar_client import Slotcar

Document = Mapping[str, Any]
webhook = App(help="Receivers of events, which get them as signed HTTP requests.", no_args_is_help=True)
Id = Annotated[str, typer.Argument(metavar="WEBHOOK", help="its id, from `slotcar webhook list`", show_default=False)]


def register(app: typer.Typer) -> None:
    app.add_typer(webhook, name="webhook")


class LocalWebhooks:
    """Webhooks of this machine's ledger, as the client library has those of a controller over HTTP."""

    def __init__(self, webhooks: Webhooks) -> None:
        self._webhooks = webhooks

    def webhook_add(self, url: str, *, secret: str | None, kinds: list[str]) -> Document:
        return self._webhooks.new_document(self._webhooks.add(url, secret, kinds, caller(), now()))

    def webhook_list(self) -> Sequence[Document]:
        from slotcar.notify.webhooks import webhook_document

        return [webhook_document(*one) for one in self._webhooks.list(caller())]

    def webhook_remove(self, which: str) -> Document:
        from slotcar.notify.webhooks import webhook_document
        from slotcar.store.webhooks import Backlog

        return webhook_document(self._webhooks.remove(which, caller()), Backlog())

    def webhook_test(self, which: str) -> Document:
        outcome = self._webhooks.test(which, caller(), now())
        return {"delivered": outcome.ok, "status": outcome.status, "message": outcome.words}

    def webhook_dead_letters(self, which: str, limit: int) -> Sequence[Document]:
        from slotcar.notify.webhooks import letter_document

        return [letter_document(one) for one in self._webhooks.dead_letters(which, caller(), limit)]

    def webhook_redeliver(self, which: str, sequences: list[int] | None) -> int:
        return self._webhooks.redeliver(which, sequences, caller(), now())


@contextmanager
def webhooks() -> Iterator[LocalWebhooks | Slotcar]:
    if chosen_place() is not None:
        with remote(None, None) as slotcar:
            yield slotcar
        return
    from slotcar.notify.webhooks import Webhooks
    from slotcar.store import open_ledger

    chosen = settings()
    ask_state_folder(chosen)
    with open_ledger(chosen.ledger_url(), chosen.state_dir) as ledger:
        yield LocalWebhooks(Webhooks(ledger, chosen))


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

    with webhooks() as opened:
        webhook = opened.webhook_add(url, secret=place, kinds=listed)
    if sent_in_clear(url):
        complain("note: http is not encrypted: whoever is on the way can read the events; https keeps them private")
    lines = [f"{webhook['id']} gets {', '.join(listed) or 'every event'} from now on."]
    if webhook["signing_secret"]:
        lines.append(f"Its signing secret, which is said only now: {webhook['signing_secret']}")
    emit(webhook, form, lambda: stdout().print("\n".join(lines), markup=False, soft_wrap=True))


@webhook.command(name="list")
def list_webhooks(form: OutputFormat = Format.TABLE) -> None:
    """List the webhooks, each with how many events wait for it and how many were given up; never their secrets."""
    with webhooks() as opened:
        data = list(opened.webhook_list())
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
    with webhooks() as opened:
        confirm(yes, f"Remove the webhook {which}, with all that waits for it?")
        removed = opened.webhook_remove(which)
    stdout().print(f"{removed['id']} gets nothing any more.", markup=False)


@webhook.command()
def test(which: Id) -> None:
    """Send one message of the kind `webhook.test` at once, from this machine."""
    with webhooks() as opened:
        outcome = opened.webhook_test(which)
    if not outcome["delivered"]:
        complain(f"{which}: {outcome['message']}")
        raise SystemExit(ExitCode.ERROR)
    stdout().print(f"{which} answered {outcome['status']}.", markup=False)


@webhook.command(name="dead-letters")
def dead_letters(
    which: Id,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000)] = 100,
    form: OutputFormat = Format.TABLE,
) -> None:
    """List the events that were given up after the last attempt."""
    with webhooks() as opened:
        data, is_cut = first_of(list(opened.webhook_dead_letters(which, limit + 1)), limit)
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
    with webhooks() as opened:
        count = opened.webhook_redeliver(which, events or None)
    stdout().print(f"{count} wait again for {which}.", markup=False)
