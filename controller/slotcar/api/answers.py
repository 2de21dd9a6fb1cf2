"""Answers as bytes, of documents that have the form of their model already.

FastAPI would read every document into the model of its operation and write that. Most of a page's time went into it, and
the documents' form is made in one place (`slotcar.views.documents`), which tests hold to the models.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Response
from pydantic_core import to_json


def written(document: Mapping[str, Any], status_code: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The answer of an operation whose `response_model` the document has the form of."""
    return Response(to_json(document), status_code, headers, "application/json")
