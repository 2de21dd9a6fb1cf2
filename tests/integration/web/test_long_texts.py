"""Every page refuses a text that is longer than it may be, in a page that tells little of it; its inputs say how long."""

from __future__ import annotations

import re

from slotcar.base import lengths
from slotcar.web.app import PAGES
from slotcar.web.rendering import FOLDER
from tests.integration.web.conftest import Site
from tests.support.long_texts import tells_too_much, text_of

TEMPLATES = {file: file.read_text(encoding="utf-8") for file in sorted(FOLDER.rglob("*.html"))}
#: All that a form has a field of.
FIELDS = sorted({name for text in TEMPLATES.values() for name in re.findall(r'name="(\w+)"', text)})
WITH_TEXTS = [page for page in PAGES if page.method == "POST" or page.query or "{" in page.path]


def test_every_field_says_how_long_a_text_may_be() -> None:
    inputs = [
        (file.name, field)
        for file, text in TEMPLATES.items()
        for field in re.findall(r"<(?:input|textarea)\b.*?name=.*?>", text)
        if not re.search(r'type="(hidden|file|checkbox|radio)"', field)
    ]
    assert len(inputs) > 30
    assert [one for one in inputs if "maxlength=" not in one[1]] == []
    assert sorted(set(FIELDS) - lengths.OF_KEY.keys()) == ["viewport"]


def test_pages_tell_little_of_long_texts(site: Site) -> None:
    client = site.signed_in("operator")
    form = {name: text_of(lengths.OF_KEY[name] + 1) for name in FIELDS if name not in ("text", "plan", "viewport")}
    wrong = []
    for page in WITH_TEXTS:
        path = re.sub(r"\{[^}]+\}", text_of(2_000), page.path)
        query = {key: text_of(lengths.OF_KEY.get(key, lengths.OTHERWISE) + 1) for key in page.query}
        answer = client.request(page.method, path, params=query, data=form if page.method == "POST" else None)
        if answer.status_code not in (404, 422) or tells_too_much(answer.text) or len(answer.text) > 30_000:
            wrong.append((page.method, page.path, answer.status_code, answer.text[:300]))
    assert wrong == []
