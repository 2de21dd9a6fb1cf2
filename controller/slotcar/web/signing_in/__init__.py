"""Sign-in with a token; sign-in with OpenID Connect has its place beside it."""

from __future__ import annotations

from slotcar.auth.sessions import USUAL_ZONE
from slotcar.base.units import UnitError
from slotcar.reservation.times import parse_zone
from slotcar.web.serving import SIGN_IN, WebPage
from slotcar.web.visit import Answer, Data, Moved, Shown, Visit

_WRONG = "This is not a token of this controller, or it has expired."


def form(visit: Visit) -> Answer:
    return Shown("signing_in/form.html", _model(own_address(visit.parameter("next", "/")), USUAL_ZONE))


def sign_in(visit: Visit) -> Answer:
    """
    Raises:
        InvalidInput: the token file is not in order.
    """
    back, zone = own_address(visit.form_value("next", "/")), visit.form_value("zone", USUAL_ZONE)
    try:
        parse_zone(zone)
    except UnitError as error:
        return Shown("signing_in/form.html", _model(back, USUAL_ZONE, f"The zone {error}."), status=422)
    session_id = visit.sessions.sign_in(visit.form_value("token"), visit.now, zone)
    if session_id is None:
        return Shown("signing_in/form.html", _model(back, zone, _WRONG), status=403)
    if visit.session is not None:  # the browser keeps the new one alone: what it had would go on with nobody to end it
        visit.sessions.store.end(visit.session.id_sha256)
    return Moved(back, cookie=session_id)


def _model(back: str, zone: str, wrong: str = "") -> dict[str, str]:
    return {"back": back, "zone": zone, "wrong": wrong}


def sign_out(visit: Visit) -> Answer:
    if visit.session is not None:
        visit.sessions.store.end(visit.session.id_sha256)
    return Moved(SIGN_IN, cookie="")


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
    WebPage("/sign-out", sign_out, "POST"),
    WebPage("/live/check", check),
)
