"""SOAP 1.1 around NSI's messages: texts that come from others are bounded, have no entities and no doctype, reach for
nothing, and are held against the schemas before they are read."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files

from lxml import etree  # type: ignore[import-untyped]

from slotcar.base.problems import SlotcarError, printable, shortened
from slotcar.domains.nsi import names
from slotcar.domains.nsi.messages import NsiMessage
from slotcar.domains.nsi.names import Fault
from slotcar.domains.nsi.reading import Element, body_of, header_of
from slotcar.domains.nsi.writing import body_element, header_element

#: No message that anybody here has a use for is longer.
LARGEST_BYTES = 1_000_000
#: An answer of a query has one entry for each connection.
LARGEST_ANSWER_BYTES = 20_000_000
MOST_LEVELS = 60


class NotNsi(SlotcarError):
    """A text is no message of NSI; `fault` is what NSI calls that."""

    def __init__(self, text: str, fault: Fault = Fault.PAYLOAD) -> None:
        super().__init__(text)
        self.fault = fault


def read(content: bytes, largest_bytes: int = LARGEST_BYTES) -> NsiMessage:
    """The message in an envelope.

    Raises:
        NotNsi: it is too long, no XML, XML with a doctype, or no message by the schemas; the text says where.
    """
    envelope = _parsed(content, largest_bytes)
    _require_known(envelope)
    schema = schema_of_envelopes()
    if not schema.validate(envelope):
        first = schema.error_log[0]
        raise NotNsi(f"the message is not as the schemas say, line {first.line}: {_plain(first.message)}")
    header, body = envelope.find(f"{{{names.SOAP}}}Header"), envelope.find(f"{{{names.SOAP}}}Body")
    content_of_body = [] if body is None else [each for each in body if isinstance(each.tag, str)]
    if not content_of_body:
        raise NotNsi("the message has no body")
    own = None if header is None else header.find(f"{{{names.HEADERS}}}nsiHeader")
    try:
        return NsiMessage(None if own is None else header_of(own), body_of(content_of_body[0]))
    except (ValueError, KeyError, OverflowError) as error:
        raise NotNsi(f"the message says what has no meaning: {_plain(str(error))}") from error


def written(message: NsiMessage) -> bytes:
    """The message in an envelope, valid by the schemas."""
    envelope = etree.Element(
        f"{{{names.SOAP}}}Envelope", nsmap={"soap": names.SOAP, "head": names.HEADERS, "type": names.TYPES}
    )
    header = etree.SubElement(envelope, f"{{{names.SOAP}}}Header")
    if message.header is not None:
        header.append(header_element(message.header))
    etree.SubElement(envelope, f"{{{names.SOAP}}}Body").append(body_element(message.body))
    return bytes(etree.tostring(envelope, encoding="UTF-8", xml_declaration=True))


def _parsed(content: bytes, largest_bytes: int) -> Element:
    """
    Raises:
        NotNsi.
    """
    if len(content) > largest_bytes:
        raise NotNsi(f"the message is longer than {largest_bytes} bytes")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        envelope = etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise NotNsi(f"the message is no XML: {_plain(str(error))}") from error
    if envelope.getroottree().docinfo.doctype:
        raise NotNsi("the message has a doctype, which SOAP has none of")
    return envelope


def _require_known(envelope: Element) -> None:
    """What the schemas would call wrong in many words: another version of NSI, SOAP or nesting without an end.

    Raises:
        NotNsi.
    """
    if envelope.tag != f"{{{names.SOAP}}}Envelope":
        raise NotNsi(f"the message is no SOAP 1.1 envelope, but {_plain(envelope.tag)}")
    level, element = 0, envelope
    for event, element in etree.iterwalk(envelope, events=("start", "end")):
        level += 1 if event == "start" else -1
        if level > MOST_LEVELS:
            raise NotNsi(f"the message has more than {MOST_LEVELS} levels")
        space = etree.QName(element).namespace or ""
        if event == "start" and space.startswith("http://schemas.ogf.org/nsi/20") and "/connection/" in space:
            if space.startswith("http://schemas.ogf.org/nsi/2013/12/") or "pathtrace" in space:
                continue
            raise NotNsi(
                f"the message is of another version of NSI, {_plain(space)}: this is {names.TYPES}",
                Fault.VERSION_NOT_SUPPORTED,
            )


@cache
def schema_of_envelopes() -> etree.XMLSchema:
    """All of `schemas`, which import each other."""
    with as_file(files("slotcar.domains.nsi") / "schemas") as folder:
        return etree.XMLSchema(etree.parse((folder / "soap").with_suffix(".xsd")))


def _plain(text: str) -> str:
    return shortened(printable(" ".join(text.split())), 300)
