"""Signing in at an issuer: login and logout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from slotcar.cli.output import complain, stdout
from slotcar.cli.place import Declined, chosen_place

if TYPE_CHECKING:
    from slotcar_client.signing_in import OfferedIssuer


def register(app: typer.Typer) -> None:
    app.command()(login)
    app.command()(logout)


def login(
    issuer: Annotated[
        str | None,
        typer.Option("--issuer", help="at which of the controller's issuers; needed where there are several"),
    ] = None,
) -> None:
    """Sign in to the controller that is named, at one of its issuers. A code is shown, which you confirm in a browser.

    Commands go with what the issuer gives from then on, until `slotcar logout`; SLOTCAR_TOKEN comes before it.
    """
    from slotcar_client.signing_in import TokenKeeper, begin, offered_issuers, wait

    api = _controller()
    code = begin(_chosen(offered_issuers(api), issuer, api))
    stdout().print(f"Open {code.address} and type {code.user_code}", soft_wrap=True)
    if code.whole_address != code.address:
        stdout().print(f"or open {code.whole_address}", soft_wrap=True)
    complain(f"waiting for you to confirm it, for {code.lasts_s} s at most")
    TokenKeeper(api).keep(wait(code, api))
    stdout().print(f"Signed in to {api} at {code.at.name}.", soft_wrap=True)


def logout() -> None:
    """Have the issuer revoke what `slotcar login` has kept for the controller that is named, and forget it. The browser's
    session at the issuer goes on."""
    from slotcar_client.signing_in import NotSignedIn, TokenKeeper, revoke

    api = _controller()
    keeper = TokenKeeper(api)
    try:
        tokens = keeper.read()
        if tokens is not None:
            revoke(tokens)
    except NotSignedIn as error:
        complain(f"forgotten here alone; what the issuer gave counts until its end: {error}")
    known = keeper.forget()
    words = f"Signed out of {api}." if known else f"Nobody was signed in to {api}."
    stdout().print(words, soft_wrap=True)


def _controller() -> str:
    place = chosen_place()
    if place is None:
        raise Declined("this machine's ledger asks for no sign-in: name a controller by --context or SLOTCAR_API")
    return place.api


def _chosen(offered: tuple[OfferedIssuer, ...], name: str | None, api: str) -> OfferedIssuer:
    """
    Raises:
        Declined: there is none of that name, or several and none is named.
    """
    names = ", ".join(one.name for one in offered)
    if not offered:
        raise Declined(f"nobody signs in to {api} from a terminal: ask its operator for a token")
    if name is None and len(offered) > 1:
        raise Declined(f"say --issuer, one of {names}")
    issuer = next((one for one in offered if name in (None, one.name)), None)
    if issuer is None:
        raise Declined(f"{api} has no issuer {name}; it has {names}")
    return issuer
