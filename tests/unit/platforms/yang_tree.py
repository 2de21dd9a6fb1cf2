"""A datastore as a tree, and what `edit-config` does with it (RFC 6241 §7.2), without a server."""

from __future__ import annotations

from copy import deepcopy

from lxml import etree

NETCONF = "urn:ietf:params:xml:ns:netconf:base:1.0"
NATIVE = "http://cisco.com/ns/yang/Cisco-IOS-XE-native"
ACL = "http://cisco.com/ns/yang/Cisco-IOS-XE-acl"
POLICY = "http://cisco.com/ns/yang/Cisco-IOS-XE-policy"
OPERATION = f"{{{NETCONF}}}operation"
#: Keys of the lists that occur, as the models have them.
LISTS = {
    f"{{{ACL}}}extended": "name",
    f"{{{ACL}}}access-list-seq-rule": "sequence",
    f"{{{POLICY}}}class-map": "name",
    f"{{{POLICY}}}policy-map": "name",
    f"{{{POLICY}}}class": "name",
    f"{{{POLICY}}}action-list": "action-type",
}
PORTS = ("GigabitEthernet", "TenGigabitEthernet", "FastEthernet")


class Datastore:
    """What `running` holds. Containers that are empty mean nothing (RFC 7950 §7.5.1), and are not kept."""

    def __init__(self, text: str = f'<native xmlns="{NATIVE}"/>') -> None:
        self.data = etree.Element(f"{{{NETCONF}}}data")
        self.data.append(etree.fromstring(text))
        _settle(self.data)

    @property
    def reply(self) -> str:
        return str(etree.tostring(self.data, encoding="unicode"))

    @property
    def meaning(self) -> object:
        """Equal where two trees say the same: of siblings only classes have an order (`ordered-by user`)."""
        return _meaning(self.data)

    def edit(self, lines: tuple[str, ...]) -> None:
        """All of it or, where it raises, the caller throws the tree away."""
        if lines:
            config = etree.fromstring("\n".join(lines))
            assert config.tag == f"{{{NETCONF}}}config"
            _settle(config)
            for one in config:
                _apply(self.data, one)
            _settle(self.data)


def _settle(root: etree._Element) -> None:
    """Without blanks between elements."""
    for one in root.iter():
        one.tail = None
        if len(one):
            one.text = None


def _meaning(one: etree._Element) -> tuple[object, ...]:
    classes = [child for child in one if child.tag == f"{{{POLICY}}}class"]
    others = sorted((_meaning(child) for child in one if child not in classes), key=repr)
    return one.tag, (one.text or "").strip(), tuple(map(_meaning, classes)), tuple(others)


def _key(one: etree._Element) -> str:
    if one.tag in LISTS:
        return str(one.findtext(f"{{*}}{LISTS[one.tag]}"))
    if etree.QName(one).localname in PORTS:
        return str(one.findtext(f"{{{NATIVE}}}name"))
    # A leaf-list has a value for a key; it is never merged in what is rendered, so it may be taken for a leaf.
    return ""


def _apply(parent: etree._Element, change: etree._Element) -> None:
    same = [one for one in parent if one.tag == change.tag and _key(one) == _key(change)]
    operation = change.get(OPERATION, "merge")
    assert len(same) <= 1 or operation == "replace"
    assert operation in {"merge", "create", "replace", "remove"}
    if operation == "remove":
        for one in same:
            parent.remove(one)
        _prune(parent)
        return
    if operation == "create":
        assert not same, f"data-exists: {change.tag} {_key(change)}"
    if same and operation == "merge" and len(change):
        for child in change:
            _apply(same[0], child)
        _prune(same[0])
        return
    fresh = deepcopy(change)
    for one in fresh.iter():
        inner = one.attrib.pop(OPERATION, "merge")
        assert one is fresh or inner in {"merge", "create"}
    if same:
        parent.replace(same[0], fresh)
    else:
        parent.append(fresh)


def _prune(one: etree._Element) -> None:
    """An empty container goes; `native` stays."""
    parent = one.getparent()
    if parent is not None and not len(one) and one.tag != f"{{{NATIVE}}}native":
        parent.remove(one)
        _prune(parent)
