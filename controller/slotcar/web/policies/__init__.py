"""The policies in force, in words and as they are written."""

from __future__ import annotations

from slotcar.book.rules import roles
from slotcar.planning.policy_documents import policy_document
from slotcar.policy.reading import SENTENCES, PolicyRule
from slotcar.policy.verdict import filled
from slotcar.policy.wording import words_of
from slotcar.web.serving import WebPage
from slotcar.web.visit import Answer, Shown, Visit


def show(visit: Visit) -> Answer:
    roles.require_overview(visit.caller, "see policies")
    site = visit.desk.ledger.terms.policy.reserving.site
    rows = [
        (policy_document(rule), words_of(rule), _words_for_refused(rule), rule.statement.text)
        for rule in site.policies.rules
    ]
    return Shown("policies/page.html", {"rows": rows, "site": site, "sequence": visit.desk.ledger.last_event()})


#: Names in braces of the sentences that a caller is told.
_STANDS_FOR = {"who": "NAME", "what": "DO IT", "role": "ROLE", "owner": "OWN", "of": "OTHER"}


def _words_for_refused(rule: PolicyRule) -> str:
    """What whoever it forbids something is told, or whoever it nearly permitted it."""
    if "quota" in rule.annotations:
        return "what the quota is, and what there would be"
    if "share" in rule.annotations:
        return "what the share is, and what is in use of it"
    written = (rule.annotations[key] for key in SENTENCES if rule.annotations.get(key))
    return filled(next(written, "its name, and its condition"), _STANDS_FOR)


PAGES = (WebPage("/policies", show),)
