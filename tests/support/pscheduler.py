"""A pScheduler as far as it is read: a small HTTP server with one task and its runs, in the shape of perfSONAR's own.

What its REST API answers is written in `pscheduler-server/…/pschedulerapiserver/{tasks,runs}.py`, a run in `run.sql`
(`run_json`), and a result in `pscheduler-test-latency/latency/validate.py`.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TASK = "6f1c4f6e-2a8f-4f5c-9e0c-3f0f5a0c1d11"
INTERVAL_S = 0.1
NTP_EPOCH_S = 2_208_988_800
SYNCED = {"src-clock-sync": True, "src-clock-err": 0.0001, "dst-clock-sync": True, "dst-clock-err": 0.0001}


def ntp(at_s: float) -> int:
    return round((at_s + NTP_EPOCH_S) * 2**32)


def raw_result(start: datetime, delays_us: Sequence[int | None], **clocks: Any) -> dict[str, Any]:
    """Packet by packet, as with `output-raw`: of one that is lost the time of its arrival is 0."""
    sent_s = [start.timestamp() + number * INTERVAL_S for number in range(len(delays_us))]
    packets = [
        {"seq-num": number, "src-ts": ntp(at_s), "dst-ts": 0 if one is None else ntp(at_s + one / 1e6), "ip-ttl": 252}
        | (SYNCED | clocks)
        for number, (at_s, one) in enumerate(zip(sent_s, delays_us, strict=True))
    ]
    return summed_result(delays_us) | {"raw-packets": packets}


def summed_result(delays_us: Sequence[int | None], **more: Any) -> dict[str, Any]:
    """In sums: delays in buckets of 10 us, which are keys in milliseconds with two places."""
    arrived = [one for one in delays_us if one is not None]
    return {
        "schema": 1, "succeeded": True, "packets-sent": len(delays_us), "packets-received": len(arrived),
        "packets-lost": len(delays_us) - len(arrived), "packets-duplicated": 0, "packets-reordered": 0,
        "max-clock-error": 0.2, "histogram-latency": dict(Counter(f"{one / 1000:.2f}" for one in arrived)),
        "histogram-ttl": {"252": len(arrived)}, **more,
    }  # fmt: skip


def run_document(start: datetime, result: dict[str, Any] | None, state: str = "finished") -> dict[str, Any]:
    end = start + timedelta(seconds=60)
    return {
        "start-time": start.isoformat(), "end-time": end.isoformat(), "duration": "PT1M", "participant": 0,
        "participants": ["ps.anl.example.net", "ps.lbnl.example.net"], "result": None, "result-full": None,
        "result-merged": result, "state": state, "state-display": state.title(), "errors": None,
    }  # fmt: skip


def task_document(test: str = "latency", **spec: Any) -> dict[str, Any]:
    usual = {"schema": 2, "source": "ps.anl.example.net", "dest": "ps.lbnl.example.net", "packet-interval": INTERVAL_S}
    return {"schema": 1, "test": {"type": test, "spec": usual | spec}, "tool": "owping"}


@dataclass
class Site:
    """
    Attributes:
        runs: by name. answers: what is answered in the place of a document, by the end of the path: status and body.
        requests: paths, in the order in which they were asked for.
    """

    task: dict[str, Any] = field(default_factory=task_document)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    address: str = ""

    def add(self, start: datetime, result: dict[str, Any] | None, state: str = "finished") -> None:
        self.runs[f"run-{len(self.runs):04}"] = run_document(start, result, state)

    def answer(self, path: str, query: dict[str, list[str]]) -> tuple[int, bytes]:
        self.requests.append(path)
        for end, answer in self.answers.items():
            if path.endswith(end):
                return answer
        name = path.rpartition("/")[2]
        if name == TASK:
            return 200, json.dumps(self.task).encode()
        if name == "runs":
            since, until = (datetime.fromisoformat(query[key][0]) for key in ("start", "end"))
            return 200, json.dumps([f"{self.address}/runs/{one}" for one in self._between(since, until)]).encode()
        return (200, json.dumps(self.runs[name]).encode()) if name in self.runs else (404, b"Not found")

    def _between(self, since: datetime, until: datetime) -> Iterator[str]:
        for name, one in self.runs.items():
            start, end = (datetime.fromisoformat(one[key]).astimezone(UTC) for key in ("start-time", "end-time"))
            if start >= since and end <= until:
                yield name


@contextmanager
def pscheduler() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            status, body = site.answer(parts.path, parse_qs(parts.query))
            self.send_response(status)
            if status in (301, 302):
                self.send_header("Location", body.decode())
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.address = f"http://127.0.0.1:{server.server_port}/pscheduler/tasks/{TASK}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
