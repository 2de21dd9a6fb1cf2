"""What the scripts of examples/gitops call of GitHub and of GitLab, on loopback, as their API documentation has it.

The forges themselves cannot be had here: this keeps comments and issues, gives them page by page, and answers 401 and 404
as they do. What it does not know it answers with 404, so that a script that calls anything else fails.
"""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

Json = dict[str, Any]
Query = dict[str, str]


@dataclass
class Forge:
    """Attributes:
    comments: of the one merge request that there is. issues: the latest last.
    calls: method and path of each request that was let in.
    """

    token: str = "the-ci's-own"
    comments: list[Json] = field(default_factory=list)
    issues: list[Json] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)

    #: Method and path of each call, and the method of this class that answers it.
    routes: ClassVar[tuple[tuple[str, str, str], ...]] = ()

    def __enter__(self) -> Forge:
        forge = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = json.loads(self.rfile.read(length)) if length else {}
                status, document = forge.answer(self.command, self.path, dict(self.headers.items()), body)
                text = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_PUT = _answer  # noqa: N815 - as the base class calls them

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def environment(self) -> dict[str, str]:
        """What the forge's runner sets for a job."""
        raise NotImplementedError

    def authorised(self, headers: dict[str, str]) -> bool:
        raise NotImplementedError

    def stranger_comments(self, body: str) -> None:
        """Somebody else's comment."""
        raise NotImplementedError

    def answer(self, method: str, target: str, headers: dict[str, str], body: Json) -> tuple[int, Any]:
        if not self.authorised(headers):
            return 401, {"message": "401 Unauthorized"}
        path = urlsplit(target).path
        self.calls.append((method, path))
        query = {key: values[0] for key, values in parse_qs(urlsplit(target).query).items()}
        for wanted, pattern, name in self.routes:
            match = re.fullmatch(pattern, path)
            if match and wanted == method:
                return getattr(self, name)(*map(int, match.groups()), query=query, body=body)  # type: ignore[no-any-return]
        return 404, {"message": "Not Found"}

    def page(self, listed: list[Json], query: Query) -> tuple[int, Any]:
        size, number = int(query.get("per_page", "20")), int(query.get("page", "1"))
        return 200, listed[(number - 1) * size : number * size]

    def labelled(self, query: Query) -> list[Json]:
        """The latest first, as both give issues unless they are told otherwise."""
        return [one for one in reversed(self.issues) if query["labels"] in self.labels_of(one)]

    def labels_of(self, issue: Json) -> list[str]:
        raise NotImplementedError


class GitHub(Forge):
    """REST API, version 2022-11-28."""

    bot: ClassVar[str] = "github-actions[bot]"
    routes = (
        ("GET", "/repos/noc/slots/issues/7/comments", "list_comments"),
        ("POST", "/repos/noc/slots/issues/7/comments", "comment"),
        ("PATCH", r"/repos/noc/slots/issues/comments/(\d+)", "edit_comment"),
        ("GET", "/repos/noc/slots/issues", "list_issues"),
        ("POST", "/repos/noc/slots/issues", "open_issue"),
        ("PATCH", r"/repos/noc/slots/issues/(\d+)", "edit_issue"),
    )

    @property
    def environment(self) -> dict[str, str]:
        return {
            "GITHUB_API_URL": self.url, "GITHUB_REPOSITORY": "noc/slots", "GITHUB_TOKEN": self.token,
            "PULL_REQUEST": "7",
        }  # fmt: skip

    def authorised(self, headers: dict[str, str]) -> bool:
        return headers.get("Authorization") == f"Bearer {self.token}"

    def stranger_comments(self, body: str) -> None:
        self.comments.append({"id": len(self.comments) + 1, "user": {"login": "mallory"}, "body": body})

    def labels_of(self, issue: Json) -> list[str]:
        return [one["name"] for one in issue["labels"]]

    def list_comments(self, query: Query, body: Json) -> tuple[int, Any]:
        return self.page(self.comments, query)

    def comment(self, query: Query, body: Json) -> tuple[int, Any]:
        self.comments.append({"id": len(self.comments) + 1, "user": {"login": self.bot}, "body": body["body"]})
        return 201, self.comments[-1]

    def edit_comment(self, number: int, query: Query, body: Json) -> tuple[int, Any]:
        self.comments[number - 1]["body"] = body["body"]
        return 200, self.comments[number - 1]

    def list_issues(self, query: Query, body: Json) -> tuple[int, Any]:
        wanted = query.get("state", "open")
        return self.page([one for one in self.labelled(query) if wanted in ("all", one["state"])], query)

    def open_issue(self, query: Query, body: Json) -> tuple[int, Any]:
        labels = [{"name": name} for name in body["labels"]]
        self.issues.append(body | {"number": len(self.issues) + 1, "state": "open", "labels": labels})
        return 201, self.issues[-1]

    def edit_issue(self, number: int, query: Query, body: Json) -> tuple[int, Any]:
        self.issues[number - 1].update(body)
        return 200, self.issues[number - 1]


class GitLab(Forge):
    """REST API, version 4."""

    bot: ClassVar[int] = 99
    routes = (
        ("GET", "/api/v4/user", "user"),
        ("GET", "/api/v4/projects/3/merge_requests/7/notes", "list_notes"),
        ("POST", "/api/v4/projects/3/merge_requests/7/notes", "note"),
        ("PUT", r"/api/v4/projects/3/merge_requests/7/notes/(\d+)", "edit_note"),
        ("GET", "/api/v4/projects/3/issues", "list_issues"),
        ("POST", "/api/v4/projects/3/issues", "open_issue"),
        ("PUT", r"/api/v4/projects/3/issues/(\d+)", "edit_issue"),
    )

    @property
    def environment(self) -> dict[str, str]:
        return {
            "CI_API_V4_URL": f"{self.url}/api/v4", "CI_PROJECT_ID": "3", "CI_MERGE_REQUEST_IID": "7",
            "GITLAB_TOKEN": self.token,
        }  # fmt: skip

    def authorised(self, headers: dict[str, str]) -> bool:
        return headers.get("PRIVATE-TOKEN") == self.token

    def stranger_comments(self, body: str) -> None:
        self.comments.append({"id": len(self.comments) + 1, "author": {"id": 5}, "body": body})

    def labels_of(self, issue: Json) -> list[str]:
        return list(issue["labels"])

    def user(self, query: Query, body: Json) -> tuple[int, Any]:
        return 200, {"id": self.bot, "username": "project_3_bot"}

    def list_notes(self, query: Query, body: Json) -> tuple[int, Any]:
        return self.page(list(reversed(self.comments)), query)

    def note(self, query: Query, body: Json) -> tuple[int, Any]:
        self.comments.append({"id": len(self.comments) + 1, "author": {"id": self.bot}, "body": body["body"]})
        return 201, self.comments[-1]

    def edit_note(self, number: int, query: Query, body: Json) -> tuple[int, Any]:
        self.comments[number - 1]["body"] = body["body"]
        return 200, self.comments[number - 1]

    def list_issues(self, query: Query, body: Json) -> tuple[int, Any]:
        return self.page(self.labelled(query), query)

    def open_issue(self, query: Query, body: Json) -> tuple[int, Any]:
        labels = body["labels"].split(",")
        self.issues.append(body | {"iid": len(self.issues) + 1, "state": "opened", "labels": labels})
        return 201, self.issues[-1]

    def edit_issue(self, number: int, query: Query, body: Json) -> tuple[int, Any]:
        events = {"close": "closed", "reopen": "opened"}
        if "state_event" in body:
            self.issues[number - 1]["state"] = events[body["state_event"]]
        self.issues[number - 1].update({key: body[key] for key in ("description", "title") if key in body})
        return 200, self.issues[number - 1]
