"""Whether a controller that a test started by itself answers."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

from tests.support.patience import PATIENCE_S


def healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=PATIENCE_S) as answer:
            return bool(json.load(answer)["status"] == "ok")
    except (urllib.error.URLError, OSError):
        return False
