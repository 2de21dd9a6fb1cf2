"""The policies in force, in words and as they are written."""

from __future__ import annotations

from slotcar.book.rules import roles
from slotcar.planning.policy_documents import policy_document
from slotcar.policy.wording import words_of
from slotcar.web.serving import WebPage
from slotcar.web.visit import Answer, Shown, Visit


def show(visit: Visit) -> Answer:
    roles.require_overview(visit.caller, "see policies")
    site = visit.broker.ledger.terms.policy.reserving.site
    rows = [(policy_document(rule), words_of(rule), rule.statement.text) for rule in site.policies.rules]
    return Shown("policies/page.html", {"rows": rows, "site": site, "sequence": visit.broker.ledger.last_event()})


PAGES = (WebPage("/policies", show),)
