"""What a NETCONF session of the router answers: RFC 6241's requests, and PyEZ's of the Junos XML protocol."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from xml.sax.saxutils import escape, quoteattr

from lxml import etree  # type: ignore[import-untyped]

from slotcar_lab.junos.machine import Machine
from slotcar_lab.junos.text import compared, printed
from slotcar_lab.junos.tree import BASE, Element, Refused, empty, inside, name_of

RELEASE = "24.4R1.9"
JUNOS = "http://xml.juniper.net/junos/24.4R1/junos"
XNM = "http://xml.juniper.net/xnm/1.1/xnm"
YANG = "http://yang.juniper.net/junos/conf/"
_OF_MODULES = ("firewall", "class-of-service", "interfaces", "forwarding-options")
CAPABILITIES = (
    BASE,
    *(
        f"urn:ietf:params:xml:ns:netconf:capability:{name}"
        for name in ("candidate:1.0", "confirmed-commit:1.0", "validate:1.0")
    ),
    "urn:ietf:params:netconf:base:1.0",
    *(
        f"urn:ietf:params:netconf:capability:{name}"
        for name in ("candidate:1.0", "confirmed-commit:1.0", "validate:1.0")
    ),
    "http://xml.juniper.net/netconf/junos/1.0",
    "http://xml.juniper.net/dmi/system/1.0",
)
#: RFC 4741 §8.4.5.
CONFIRM_S = 600
Handler = Callable[["Session", Element], str]


class Session:
    """One session's requests; `close` is called where it asks for its end."""

    def __init__(
        self, machine: Machine, number: int, user: str, *, yang_compliant: bool, kill: Callable[[int], bool]
    ) -> None:
        self.machine, self.number, self.user = machine, number, user
        self._yang_compliant, self._kill = yang_compliant, kill
        self.is_closing = False

    def hello(self) -> str:
        capabilities = "".join(f"<capability>{one}</capability>" for one in dict.fromkeys(CAPABILITIES))
        inner = f"<capabilities>{capabilities}</capabilities><session-id>{self.number}</session-id>"
        return f'<hello xmlns="{BASE}">{inner}</hello>'

    def answer(self, text: bytes) -> str:
        """The reply to one `rpc`."""
        try:
            rpc = etree.fromstring(text.strip(), etree.XMLParser(remove_blank_text=True, remove_comments=True))
        except etree.XMLSyntaxError as error:
            return self._reply({}, _error(Refused(f"syntax error: {error.msg}", "malformed-message", "rpc")))
        attributes = {name: str(value) for name, value in rpc.attrib.items() if "}" not in name}
        request = next(inside(rpc), None)
        try:
            if request is None:
                raise Refused("syntax error, expecting <rpc>", "malformed-message", "rpc")
            return self._reply(attributes, self._answered(request))
        except Refused as refused:
            return self._reply(attributes, _error(refused))

    def _answered(self, request: Element) -> str:
        handler = _HANDLERS.get(name_of(request))
        if handler is None:
            raise Refused("syntax error, expecting <command>", bad_element=name_of(request))
        return handler(self, request)

    def _reply(self, attributes: dict[str, str], inner: str) -> str:
        shown = "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())
        return f'<rpc-reply xmlns="{BASE}" xmlns:junos="{JUNOS}"{shown}>\n{inner}\n</rpc-reply>'

    # -- the configuration ---------------------------------------------------------------------------------------------

    def source(self, request: Element) -> Element:
        named = [name_of(one) for holder in inside(request) if name_of(holder) == "source" for one in inside(holder)]
        if named and named[0] not in ("running", "candidate"):
            raise Refused("unknown source", "invalid-value", bad_element=named[0])
        return self.machine.running if named == ["running"] else self.machine.candidate

    def printed(self, root: Element, *, is_committed: bool) -> str:
        """The configuration in the form in which the router prints it."""
        shown = etree.Element("configuration", attrib=dict(root.attrib))
        shown[:] = [deepcopy(one) for one in root]
        text = str(etree.tostring(shown, encoding="unicode", pretty_print=True)).strip()
        last = self.machine.commits[0]
        when = f'junos:commit-seconds="{int(last.at.timestamp())}" junos:commit-user={quoteattr(last.user)}'
        if not is_committed:
            when = f'junos:changed-seconds="{int(self.machine.now().timestamp())}"'
        space = f"{YANG}root" if self._yang_compliant else XNM
        head = f'<configuration xmlns="{space}" {when}'
        text = head + text.removeprefix("<configuration")
        for name in _OF_MODULES if self._yang_compliant else ():
            text = text.replace(f"\n  <{name}", f'\n  <{name} xmlns="{YANG}{name}"')
        return text


def _get_config(session: Session, request: Element) -> str:
    source = session.source(request)
    wanted = [one for one in inside(request) if name_of(one) == "filter"]
    kept = deepcopy(source)
    if wanted:
        top = next(inside(wanted[0]), None)
        kept = _filtered(source, top) if top is not None and name_of(top) == "configuration" else empty()
    return f"<data>\n{session.printed(kept, is_committed=source is session.machine.running)}\n</data>"


def _filtered(root: Element, wanted: Element) -> Element:
    kept = _selected(root, wanted)
    return empty() if kept is None else kept


def _selected(one: Element, wanted: Element) -> Element | None:
    """Subtree filtering (RFC 6241 §6): containment and selection nodes, content that must match. Keys are always given."""
    inner = list(inside(wanted))
    if not inner:
        return deepcopy(one)
    if not all(_text_in(one, name_of(each)) == each.text.strip() for each in inner if (each.text or "").strip()):
        return None
    kept = etree.Element(one.tag, attrib=dict(one.attrib))
    names = {name_of(each): each for each in inner}
    for child in inside(one):
        below = names.get(name_of(child))
        if below is not None and not (below.text or "").strip():
            part = _selected(child, below)
            if part is not None:
                kept.append(part)
        elif below is not None or name_of(child) in ("name", "loss-priority", "protocol"):
            kept.append(deepcopy(child))
    return kept if len(kept) else None


def _text_in(one: Element, name: str) -> str:
    return (one.findtext(name) or "").strip()


def _edit_config(session: Session, request: Element) -> str:
    target = [name_of(one) for holder in inside(request) if name_of(holder) == "target" for one in inside(holder)]
    if target != ["candidate"]:
        raise Refused("only the candidate can be edited", "operation-not-supported", bad_element="target")
    texts = {name_of(one): (one.text or "").strip() for one in inside(request)}
    config = next((one for one in inside(request) if name_of(one) == "config"), None)
    configuration = next(inside(config), None) if config is not None else None
    if configuration is None or name_of(configuration) != "configuration":
        raise Refused("syntax error, expecting <configuration>", bad_element="config")
    session.machine.edit(configuration, session.number, texts.get("default-operation", "merge"))
    return "<ok/>"


def _locked(session: Session, request: Element) -> str:
    _must_be_candidate(request)
    session.machine.lock(session.number)
    return "<ok/>"


def _unlocked(session: Session, request: Element) -> str:
    _must_be_candidate(request)
    session.machine.unlock(session.number)
    return "<ok/>"


def _must_be_candidate(request: Element) -> None:
    named = [name_of(one) for holder in inside(request) for one in inside(holder)]
    if named and named != ["candidate"]:
        raise Refused("only the candidate can be locked", "operation-not-supported", bad_element=named[0])


def _validated(session: Session, request: Element) -> str:
    session.machine.check()
    return "<ok/>"


def _discarded(session: Session, request: Element) -> str:
    session.machine.discard(session.number)
    return "<ok/>"


def _committed(session: Session, request: Element) -> str:
    texts = {name_of(one): (one.text or "").strip() for one in inside(request)}
    confirm_s = None
    if "confirmed" in texts:
        seconds = texts.get("confirm-timeout") or str(CONFIRM_S)
        if not seconds.isdecimal() or not 1 <= int(seconds) <= 65535 * 60:
            raise Refused(f"invalid numeric value: '{seconds}'", "invalid-value", bad_element="confirm-timeout")
        confirm_s = int(seconds)
    return _commit(session, confirm_s, texts.get("log", ""))


def _commit_configuration(session: Session, request: Element) -> str:
    """Of the Junos XML protocol: its minutes are minutes."""
    texts = {name_of(one): (one.text or "").strip() for one in inside(request)}
    if "check" in texts:
        session.machine.check()
        return "<ok/>"
    confirm_s = 60 * int(texts.get("confirm-timeout") or 10) if "confirmed" in texts else None
    return _commit(session, confirm_s, texts.get("log", ""))


def _commit(session: Session, confirm_s: int | None, comment: str) -> str:
    session.machine.commit(session.number, session.user, confirm_s=confirm_s, comment=comment)
    warnings = (
        _error(Refused(words, "operation-failed", "application"), "warning") for words in session.machine.warnings
    )
    return "\n".join((*warnings, "<ok/>"))


# -- the Junos XML protocol --------------------------------------------------------------------------------------------


def _get_configuration(session: Session, request: Element) -> str:
    machine = session.machine
    is_committed = request.get("database") == "committed"
    root = machine.running if is_committed else machine.candidate
    if request.get("compare") == "rollback":
        number = int(request.get("rollback", "0"))
        if number >= len(machine.commits):
            raise Refused(f"rollback {number} is not available", "invalid-value")
        difference = compared(machine.commits[number].configuration, machine.candidate)
        output = f"<configuration-output>\n{escape(difference)}</configuration-output>"
        return f"<configuration-information>{output}</configuration-information>"
    if request.get("inherit") == "inherit":
        root = machine.in_force(root)
    wanted = next(inside(request), None)
    if wanted is not None:
        root = _filtered(root, wanted)
    if request.get("format") == "text":
        return f'<configuration-text xmlns="{XNM}">\n{escape(printed(root))}</configuration-text>'
    return session.printed(root, is_committed=is_committed)


def _load_configuration(session: Session, request: Element) -> str:
    machine = session.machine
    if request.get("rollback") is not None:
        machine.load_rollback(int(request.get("rollback")), session.number)
        return "<load-configuration-results><ok/></load-configuration-results>"
    configuration = next(inside(request), None)
    if configuration is None or name_of(configuration) != "configuration":
        raise Refused("only XML is loaded", "operation-not-supported", bad_element=request.get("format", ""))
    action = request.get("action", "merge")
    machine.edit(
        configuration, session.number, "replace" if action in ("override", "update", "overwrite") else "merge"
    )
    return "<load-configuration-results><ok/></load-configuration-results>"


def _plain_lock(session: Session, request: Element) -> str:
    session.machine.lock(session.number)
    return ""


def _plain_unlock(session: Session, request: Element) -> str:
    session.machine.unlock(session.number)
    return ""


def _software(session: Session, request: Element) -> str:
    name = escape(session.machine.name)
    inner = f"<host-name>{name}</host-name><product-model>mx240</product-model><product-name>mx240</product-name>"
    return f"<software-information>{inner}<junos-version>{RELEASE}</junos-version></software-information>"


def _revision(session: Session, request: Element) -> str:
    last = session.machine.commits[0]
    seconds = int(last.at.timestamp())
    comment = f"<comment>{escape(last.comment)}</comment>" if session.machine.waiting else ""
    when = f'<date-time junos:seconds="{seconds}">{last.at:%Y-%m-%d %H:%M:%S} UTC</date-time>'
    number = f"<revision>re0-{seconds}-{len(session.machine.commits)}</revision>"
    inner = f"{number}<user>{escape(last.user)}</user>{when}{comment}"
    return f"<commit-revision-information>{inner}</commit-revision-information>"


def _uptime(session: Session, request: Element) -> str:
    now = session.machine.now()
    when = f'<date-time junos:seconds="{int(now.timestamp())}">{now:%Y-%m-%d %H:%M:%S} UTC</date-time>'
    return f"<system-uptime-information><current-time>{when}</current-time></system-uptime-information>"


def _firewall(session: Session, request: Element) -> str:
    machine = session.machine
    return machine.counters.firewall(machine.in_force())


def _queues(session: Session, request: Element) -> str:
    machine = session.machine
    return machine.counters.queues(machine.in_force())


def _close(session: Session, request: Element) -> str:
    session.is_closing = True
    return "<ok/>"


def _kill(session: Session, request: Element) -> str:
    number = (request.findtext("{*}session-id") or "").strip()
    if not number.isdecimal() or not session._kill(int(number)):
        raise Refused("no such session", "invalid-value", bad_element="session-id")
    return "<ok/>"


_HANDLERS: dict[str, Handler] = {
    "get-config": _get_config,
    "edit-config": _edit_config,
    "lock": _locked,
    "unlock": _unlocked,
    "validate": _validated,
    "discard-changes": _discarded,
    "commit": _committed,
    "close-session": _close,
    "kill-session": _kill,
    "get-configuration": _get_configuration,
    "load-configuration": _load_configuration,
    "lock-configuration": _plain_lock,
    "unlock-configuration": _plain_unlock,
    "commit-configuration": _commit_configuration,
    "get-software-information": _software,
    "get-commit-revision-information": _revision,
    "get-system-uptime-information": _uptime,
    "get-firewall-information": _firewall,
    "get-interface-queue-information": _queues,
}


def _error(refused: Refused, severity: str = "error") -> str:
    info = f"<bad-element>{escape(refused.bad_element)}</bad-element>" if refused.bad_element else ""
    info += f"<session-id>{refused.session_id}</session-id>" if refused.session_id is not None else ""
    path = f"<error-path>{escape(refused.path)}</error-path>" if refused.path else ""
    return (
        f"<rpc-error><error-type>{refused.type}</error-type><error-tag>{refused.tag}</error-tag>"
        f"<error-severity>{severity}</error-severity>{path}<error-message>\n{escape(refused.message)}\n</error-message>"
        f"{f'<error-info>{info}</error-info>' if info else ''}</rpc-error>"
    )


#: Framing of NETCONF 1.0 (RFC 6242 §4.3).
END = b"]]>]]>"
