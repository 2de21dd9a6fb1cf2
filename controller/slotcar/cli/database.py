"""`slotcar db`: the ledger's database, and the backup of a whole controller."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotcar.base.problems import SlotcarError
from slotcar.cli.answering import ask_state_folder
from slotcar.cli.confirmation import confirm
from slotcar.cli.options import OutputFormat, Yes
from slotcar.cli.output import Format, complain, emit, long_work_reported, progress, stdout
from slotcar.cli.session import require_own_state_folder, settings, warn_of_other_controller
from slotcar.cli.strict import App

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from slotcar.base.settings import Settings
    from slotcar.recovery.backup_file import Manifest

database = App(help="The ledger's database, and backups of all that a controller keeps.", no_args_is_help=True)
File = Annotated[Path, typer.Argument(help="the backup's file", show_default=False)]


class NoLedger(SlotcarError):
    """What the settings name has no ledger; it is not made for this command."""


def register(app: typer.Typer) -> None:
    app.add_typer(database, name="db")


@database.command()
def upgrade() -> None:
    """Upgrade the tables to this version. The embedded database is upgraded by itself."""
    from slotcar.store import open_ledger

    warn_of_other_controller("database")
    chosen = settings()
    ask_state_folder(chosen)
    with open_ledger(chosen.ledger_url(), chosen.state_dir, migrate=False) as ledger:
        before, after = ledger.upgrade()
    stdout().print(
        f"The ledger is at revision {after}."
        if before == after
        else f"Upgraded from {before or 'nothing'} to {after}."
    )


@database.command()
def downgrade(
    revision: Annotated[
        str, typer.Argument(help="of the older Slotcar, as its `slotcar db status` says", show_default=False)
    ],
    yes: Yes = False,
) -> None:
    """Take the tables back to an older Slotcar's, for the way back from an upgrade. Asks first.

    Every controller of the database must be stopped. Whatever the older tables have no place for is refused, or named
    before it is lost. A backup comes first: `slotcar db backup`.
    """
    from slotcar.book.errors import LedgerUnavailable
    from slotcar.store.database import reading
    from slotcar.store.exclusive import alone
    from slotcar.store.migrating import change_to, lost_by_going_back
    from slotcar.store.revisions import WORDS, SchemaState, known_revisions, revision_of, state_of

    warn_of_other_controller("database")
    with _ledger_engine(settings()) as engine:
        with reading(engine) as connection:
            now_at = revision_of(connection)
        if (state := state_of(now_at)) in (SchemaState.EMPTY, SchemaState.AHEAD):
            raise LedgerUnavailable(WORDS[state])
        earlier = [one for one in known_revisions() if one < now_at]
        if revision not in earlier:
            raise typer.BadParameter(
                f"the ledger is at {now_at}; it can go back to {', '.join(earlier)}", param_hint="REVISION"
            )
        lost = lost_by_going_back(now_at, revision)
        words = f" This loses {'; '.join(lost)}." if lost else ""
        confirm(yes, f"Take the ledger back from revision {now_at} to {revision}?{words}")
        with long_work_reported(), alone(engine) as connection:
            before, after = change_to(connection, revision)
    stdout().print(f"Taken back from {before} to {after}.")
    complain("note: install the older Slotcar now; this one leads no more, and upgrades an embedded database again")


@database.command()
def backup(file: File) -> None:
    """Write all that a controller keeps to a new file: the ledger, and of the state folder the archive, the tokens and the
    key of webhooks.

    The controller may run. The file is for its owner alone (0600) and holds secrets: keep it as you keep the state
    folder. The inventory, its vault's password and SSH keys are not in it.
    """
    from slotcar.recovery.backing_up import back_up

    warn_of_other_controller("database and state folder")
    chosen = settings()
    progress(f"backing up to {file}")
    with long_work_reported(), _ledger_engine(chosen) as engine:
        manifest = back_up(chosen, engine, file)
    stdout().print(f"Backed up to {file}, and read again: {_contents(manifest)}.")


@database.command()
def restore(
    file: File,
    ledger_only: Annotated[
        bool, typer.Option("--ledger-only", help="leave the state folder as it is: where only the database was lost")
    ] = False,
) -> None:
    """Fill an empty ledger and an empty state folder from a backup. Nothing that is there is replaced.

    Every controller of the database must be stopped. A backup of an older Slotcar is upgraded. What happened since the
    backup is lost, but for what routers have: the controller reads them and pushes only what differs from the ledger.
    """
    from slotcar.recovery.restoring import restore as fill
    from slotcar.recovery.restoring import usable
    from slotcar.store.opening import engine_for

    warn_of_other_controller("database and state folder")
    require_own_state_folder()
    chosen = settings()
    ask_state_folder(chosen)
    progress(f"reading {file}")
    with long_work_reported(), usable(file) as reader:
        engine = engine_for(chosen.ledger_url(), chosen.state_dir)
        try:
            fill(reader, chosen, engine, with_state=not ledger_only)
        finally:
            engine.dispose()
    stdout().print(f"Restored: {_contents(reader.manifest, with_state=not ledger_only)}.")
    complain(
        "note: what was reserved, changed, cancelled, approved or held since is not known any more, and tokens that were"
        " revoked since are valid again: see `slotcar token list` before you start the controller"
    )


@database.command(name="status")
def database_status(form: OutputFormat = Format.TABLE) -> None:
    """Show whether the database answers, and the version of its tables."""
    from slotcar.store.database import reading
    from slotcar.store.opening import engine_for
    from slotcar.store.revisions import NEWEST_REVISION, revision_of, state_of

    chosen = settings()
    ask_state_folder(chosen)
    engine = engine_for(chosen.ledger_url(), chosen.state_dir)
    try:
        with reading(engine) as connection:
            revision = revision_of(connection)
    finally:
        engine.dispose()
    where = "server" if chosen.database_url else f"embedded in {chosen.state_dir}"
    data = {
        "schema": state_of(revision).value, "where": where, "revision": revision or None,
        "slotcar_revision": NEWEST_REVISION,
    }  # fmt: skip
    at = f"revision {revision or 'none'}; this Slotcar's is {NEWEST_REVISION}"
    emit(data, form, lambda: stdout().print(f"{data['schema']} ({where}; {at})"))


@database.command(name="stop")
def database_stop() -> None:
    """Stop the embedded database if nobody uses it any more. It stops by itself with the last command or controller that
    uses it; one that was killed leaves it running."""
    from slotcar.store import embedded

    warn_of_other_controller("database")
    chosen = settings()
    if chosen.database_url:
        raise typer.BadParameter("SLOTCAR_DATABASE_URL names a server, which is not Slotcar's to stop")
    ran = embedded.end(chosen.state_dir.absolute() / "postgres")
    stdout().print("The embedded database has ended." if ran else "No embedded database runs.")


@contextmanager
def _ledger_engine(chosen: Settings) -> Iterator[Engine]:
    """Of a ledger that is there, whatever its revision.

    Raises:
        NoLedger: nobody named a server, and there is no embedded database.
    """
    from slotcar.store.opening import engine_for

    if not chosen.has_ledger():
        raise NoLedger(
            f"there is no ledger in {chosen.state_dir}, and SLOTCAR_DATABASE_URL names no server: set SLOTCAR_STATE_DIR or"
            " SLOTCAR_DATABASE_URL as the controller has it"
        )
    ask_state_folder(chosen)
    engine = engine_for(chosen.ledger_url(), chosen.state_dir)
    try:
        yield engine
    finally:
        engine.dispose()


def _contents(manifest: Manifest, *, with_state: bool = True) -> str:
    """What a backup has, in words."""
    paths = manifest.state_parts() if with_state else []
    revisions = {path.split("/")[1] for path in paths if path.startswith("revisions/")}
    devices = {path.split("/")[1] for path in paths if path.startswith("known-good/")}
    ledger = (
        f"the ledger of {manifest.taken_at:%Y-%m-%d %H:%M:%S} UTC (revision {manifest.revision}) with"
        f" {manifest.rows('entry')} reservations and {manifest.rows('event')} events"
    )
    if not with_state:
        return ledger
    kept = [
        name for name, file in (("tokens", "tokens.json"), ("the key of webhooks", "webhook-key")) if file in paths
    ]
    archive = f"{len(revisions)} revisions, known good of {len(devices)} devices"
    return "; ".join([ledger, ", ".join([archive, *kept])])
