"""Hands what was measured in to the controller; what it does not take now is kept for a while, and then dropped."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Documents of a minute in both directions, of two hours.
MOST_KEPT = 240
TIMEOUT_S = 20
#: The request was heard and will never be taken: sending it again is no use.
_FINAL = (400, 404, 409, 413, 415, 422)


@dataclass
class HandingIn:
    """
    Attributes:
        url: of the controller. token_file: a program's token. ca_file: who vouches for the controller; the system's
            where it is None.
        say: gets a sentence of what is not handed in.
    """

    url: str
    token_file: Path
    ca_file: Path | None
    say: Callable[[str], None]
    _kept: deque[Mapping[str, Any]] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))

    def hand_in(self, document: Mapping[str, Any]) -> None:
        """This one, after all that were kept. What nobody took in two hours is forgotten: of that time nothing is known."""
        self._kept.append(document)
        while self._kept:
            try:
                self._post(self._kept[0])
            except urllib.error.HTTPError as error:
                self.say(f"the controller does not take what was measured ({error.code}): {_words(error)}")
                if error.code not in _FINAL:
                    return
            except (OSError, ssl.SSLError) as error:
                self.say(f"the controller does not answer: {error}")
                return
            self._kept.popleft()

    def _post(self, document: Mapping[str, Any]) -> None:
        request = urllib.request.Request(  # noqa: S310 - the configuration's own address, which begins with http
            self.url.rstrip("/") + "/v1/audits/streams", json.dumps(document).encode(), method="POST"
        )
        request.add_header("Content-Type", "application/json")
        request.add_header("Authorization", f"Bearer {self.token_file.read_text().strip()}")
        context = ssl.create_default_context(cafile=str(self.ca_file)) if self.ca_file else None
        with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=context):  # noqa: S310 - as above
            return


def _words(error: urllib.error.HTTPError) -> str:
    """The problem's sentence (RFC 9457)."""
    try:
        with error:
            problem = json.loads(error.read(100_000))
        return str(problem.get("detail") or problem.get("title"))
    except (ValueError, OSError, AttributeError):
        return error.reason
