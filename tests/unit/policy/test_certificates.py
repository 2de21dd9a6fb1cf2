"""`certificates.yml`: which certificate is whose, and what is wrong in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from slotcar.base.problems import InvalidInput
from slotcar.policy.caller import Role
from slotcar.policy.certificates import CertificateNames, certificate_of, read_certificates

BY_URI = {"uri": "spiffe://cern.example/transfers", "name": "transfers", "role": "requester", "owner": "atlas"}
BY_SUBJECT = {"subject": "CN=probe,O=Example", "name": "probe", "role": "auditor"}


def known(folder: Path, *entries: Any) -> Any:
    (folder / "certificates.yml").write_text(yaml.safe_dump({"certificates": list(entries)}))
    return read_certificates(folder)


def test_a_certificate_is_known_by_its_uri_or_whole_subject(tmp_path: Path) -> None:
    certificates = known(tmp_path, BY_URI, BY_SUBJECT)
    one = certificate_of(CertificateNames(frozenset({BY_URI["uri"]}), "CN=probe,O=Example"), certificates)
    assert one is not None
    assert (one.name, one.role, one.owner) == ("transfers@certificate", Role.REQUESTER, "atlas")
    other = certificate_of(CertificateNames(frozenset(), "CN=probe,O=Example"), certificates)
    assert other is not None
    assert (other.name, other.owner) == ("probe@certificate", "probe@certificate")
    for subject in ("CN=probe", "CN=probe,O=Example,C=CH", ""):
        assert certificate_of(CertificateNames(frozenset(), subject), certificates) is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"uri": None}, "needs a `uri`"),
        ({"subject": "CN=x"}, "and not both"),
        ({"name": None}, "has no `name`"),
        ({"name": "a b"}, "has no `name`"),
        ({"role": "admin"}, "has no `role` of requester"),
        ({"owner": "a b"}, "has an `owner` that is no name"),
        ({"fingerprint": "x"}, "certificates[0].fingerprint: is not known here; keys are uri"),
        ({"onwer": "atlas"}, "certificates[0].onwer: is not known here; perhaps owner"),
        ({"community": "hep"}, "say its `owner`, and in site.yml of which community that is"),
        ({"communities": ["hep"]}, "say its `owner`, and in site.yml of which community that is"),
        ({"groups": ["duty"]}, "say it in site.yml, by NAME@certificate"),
        ({"role": "Operator"}, "has no `role` of requester, operator, auditor (got Operator); perhaps operator"),
        ({"name": 7}, "certificates[0].name: is no text (got 7)"),
    ],
)
def test_a_mistake_gets_a_sentence_with_its_line(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    entry = {key: value for key, value in (BY_URI | change).items() if value is not None}
    with pytest.raises(InvalidInput, match=r"certificates.yml:\d+: certificates\[0\]") as caught:
        known(tmp_path, entry)
    assert sentence in str(caught.value)


def test_each_mistake_stands_at_its_own_line(tmp_path: Path) -> None:
    (tmp_path / "certificates.yml").write_text(
        "certificates:\n- uri: spiffe://x/a\n  name: a b\n  role: admin\n  colour: red\n- just words\n"
    )
    with pytest.raises(InvalidInput) as caught:
        read_certificates(tmp_path)
    assert {(one.line, one.key) for one in caught.value.problems} == {
        (3, "certificates[0].name"),
        (4, "certificates[0].role"),
        (5, "certificates[0].colour"),
        (6, "certificates[1]"),
    }


def test_one_certificate_is_of_one_program(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="has twice"):
        known(tmp_path, BY_URI, BY_URI | {"name": "other"})
    (tmp_path / "certificates.yml").write_text("[]\n")
    with pytest.raises(InvalidInput, match="has one key, `certificates`"):
        read_certificates(tmp_path)
