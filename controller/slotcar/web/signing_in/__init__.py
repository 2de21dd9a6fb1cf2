"""Sign-in with a token, or at an issuer of the site."""

from __future__ import annotations

from slotcar.auth.bearers import Bearers
from slotcar.auth.errors import ProviderUnreachable
from slotcar.auth.sessions import USUAL_ZONE
from slotcar.auth.signing_in import NotSignedIn, begin, finish, sign_out_address
from slotcar.base.units import UnitError
from slotcar.reservation.times import parse_zone
from slotcar.web.serving import SIGN_IN, WebPage
from slotcar.web.visit import Answer, Data, Moved, Shown, Visit

_WRONG = "This is not a token of this controller, or it has expired; one with scopes is for programs alone."
#: Where issuers send browsers back to; it is registered with each of them.
BACK = "/sign-in/back"
#: Of these the first three count; the others are what some issuers send beside.
_FROM_ISSUER = ("code", "state", "iss", "error", "error_description", "error_uri", "session_state", "scope", "authuser",
                "prompt", "hd", "client_id")  # fmt: skip


def form(visit: Visit) -> Answer:
    return Shown("signing_in/form.html", _model(visit, own_address(visit.parameter("next", "/")), USUAL_ZONE))


def sign_in(visit: Visit) -> Answer:
    """
    Raises:
        InvalidInput: the token file is not in order.
    """
    back, zone = own_address(visit.form_value("next", "/")), visit.form_value("zone", USUAL_ZONE)
    try:
        parse_zone(zone)
    except UnitError as error:
        return Shown("signing_in/form.html", _model(visit, back, USUAL_ZONE, f"The zone {error}."), status=422)
    session_id = visit.sessions.sign_in(visit.form_value("token"), visit.now, zone)
    if session_id is None:
        return Shown("signing_in/form.html", _model(visit, back, zone, _WRONG), status=403)
    _end_session_before(visit)
    return Moved(back, cookie=session_id)


def go_to_issuer(visit: Visit) -> Answer:
    """To the issuer, from which the browser comes back to `BACK`.

    Raises:
        ProviderUnreachable.
    """
    bearers, name = visit.context.bearers, visit.path["issuer"]
    provider = next((one for one in bearers.providers.values() if one.issuer.name == name and one.issuer.page), None)
    if provider is None:
        return Moved(SIGN_IN)
    store, back = visit.desk.ledger.sign_ins, own_address(visit.parameter("next", "/"))
    going = begin(provider, store, visit.origin + BACK, back, USUAL_ZONE, visit.now)
    return Moved(going.address, browser=going.browser)


def come_back(visit: Visit) -> Answer:
    """From the issuer, with what says who has signed in.

    Raises:
        ProviderUnreachable.
    """
    answer = {key: values[0] for key, values in visit.query.items() if values}
    try:
        session_id, back = finish(
            visit.context.bearers.providers, visit.sessions, visit.desk.ledger.sign_ins, visit.origin + BACK,
            visit.browser, answer, visit.now,
        )  # fmt: skip
    except NotSignedIn as error:
        words = str(error)
        wrong = f"{words[0].upper()}{words[1:]}."
        return Shown("signing_in/form.html", _model(visit, "/", USUAL_ZONE, wrong), status=422)
    _end_session_before(visit)
    return Moved(back, cookie=session_id, browser="")


def _end_session_before(visit: Visit) -> None:
    """The browser keeps the new one alone: what it had would go on with nobody to end it."""
    if visit.session is not None:
        visit.sessions.store.end(visit.session.id_sha256)


def _model(visit: Visit, back: str, zone: str, wrong: str = "") -> dict[str, object]:
    return {"back": back, "zone": zone, "wrong": wrong, "issuers": issuers_of(visit.context.bearers)}


def issuers_of(bearers: Bearers) -> tuple[str, ...]:
    """At which people may sign in, by their names here."""
    return tuple(one.issuer.name for one in bearers.providers.values() if one.issuer.page is not None)


def sign_out(visit: Visit) -> Answer:
    """Here at once, and at the issuer by a link: our policy lets no form lead a browser elsewhere."""
    session = visit.session
    if session is not None:
        visit.sessions.store.end(session.id_sha256)
    if session is None or session.issuer is None:
        return Moved(SIGN_IN, cookie="")
    providers = visit.context.bearers.providers.values()
    provider = next((one for one in providers if one.issuer.name == session.issuer), None)
    address, words = "", ""
    try:
        if provider is not None:
            address = sign_out_address(provider, session.claims or {}, visit.origin + SIGN_IN)
    except (NotSignedIn, ProviderUnreachable) as error:
        words = str(error)
    return Shown(
        "signing_in/signed_out.html",
        {"issuer": session.issuer, "address_there": address, "words": words},
        forgets=True,
    )


def check(visit: Visit) -> Answer:
    """For the stream's reader, which is not told why a stream was refused."""
    return Data({"caller": visit.caller.name})


def own_address(text: str) -> str:
    """A path of this site; the first page for whatever else a link may say."""
    own = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable() and "\\" not in text
    return text if own else "/"


PAGES = (
    WebPage(SIGN_IN, form, query=("next",), open=True),
    WebPage(SIGN_IN, sign_in, "POST", open=True),
    WebPage("/sign-in/with/{issuer}", go_to_issuer, query=("next",), open=True),
    WebPage(BACK, come_back, query=_FROM_ISSUER, open=True),
    WebPage("/sign-out", sign_out, "POST"),
    WebPage("/live/check", check),
)
