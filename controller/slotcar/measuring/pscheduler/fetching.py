"""pScheduler's REST API as far as it is read: a task, its runs in a time, a run. Bounded in time and size."""

from __future__ import annotations

import json
import ssl
from datetime import datetime
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from slotcar.base.problems import SlotcarError, printable, shortened
from slotcar.base.timebase import iso
from slotcar.network.model import PSchedulerTask

TIMEOUT_S = 20.0
#: A run of 6,000 packets one by one has 1.5 MB.
LARGEST_BYTES = 20_000_000


class NotAnswered(SlotcarError):
    """Nobody answers there, or with what is no answer of a pScheduler."""


class PScheduler:
    """The pScheduler that has a task; use it with `with`. It follows no redirects and uses no proxy of the environment.

    Methods raise NotAnswered.
    """

    def __init__(self, source: PSchedulerTask) -> None:
        self._task = source.task
        try:
            context = ssl.create_default_context(cafile=source.ca_file or None)
        except (OSError, ssl.SSLError) as error:
            raise NotAnswered(f"{source.ca_file} holds no certificates: {error}") from error
        self._client = httpx.Client(verify=context, timeout=TIMEOUT_S, follow_redirects=False, trust_env=False)

    def __enter__(self) -> Self:
        self._client.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.__exit__(kind, error, trace)

    def task(self) -> Any:
        return self._get(self._task)

    def runs(self, since: datetime, until: datetime) -> list[str]:
        """The addresses of the runs that lie within, in the order of time."""
        runs = self._get(f"{self._task}/runs", start=iso(since), end=iso(until))
        if not isinstance(runs, list) or not all(isinstance(one, str) for one in runs):
            raise NotAnswered(f"{self._task}/runs answers with what is no list of runs")
        return runs

    def run(self, address: str) -> Any:
        """A run of the task. It is read where the task was: what else an answer may name is nowhere that this one goes."""
        return self._get(f"{self._task}/runs/{urlsplit(address).path.rpartition('/')[2]}")

    def _get(self, url: str, **query: str) -> Any:
        try:
            with self._client.stream("GET", url, params=query) as answer:
                content = b""
                for part in answer.iter_bytes():
                    content += part
                    if len(content) > LARGEST_BYTES:
                        raise NotAnswered(f"{url} answers without an end")
            if answer.status_code != httpx.codes.OK:
                raise NotAnswered(f"{url} answers with status {answer.status_code}")
            return json.loads(content)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise NotAnswered(f"{url}: {printable(shortened(str(error), 200)) or type(error).__name__}") from error
        except (ValueError, RecursionError) as error:
            raise NotAnswered(f"{url} answers with what is no JSON") from error
