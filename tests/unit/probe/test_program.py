"""The program as it is: a sender and a reflector on loopback, and what is handed in."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from slotcar_probe.__main__ import main
from slotcar_probe.clock import LocalClock
from slotcar_probe.datagrams import stamping_socket
from slotcar_probe.handing_in import HandingIn
from slotcar_probe.reflector import Reflector
from slotcar_probe.sender import Sender
from slotcar_probe.streams import ConfigurationError, Stream, stream_of

COUNT = 20
ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "roles" / "slotcar_probe" / "files" / "slotcar_probe"
sys.path.append(str(ROOT / "plugins" / "action"))
from slotcar_zipapp import write_zipapp  # noqa: E402


def test_what_is_sent_over_loopback_is_answered_in_its_class() -> None:
    opened = stamping_socket(address="127.0.0.1")
    reflector = Reflector(opened, LocalClock(1_000))

    def answer() -> None:
        for _ in range(COUNT):
            reflector.answer()

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    stream = Stream("x", "near", "far", "127.0.0.1", 46, port=opened.getsockname()[1], interval_ms=10)
    (measured,) = Sender(stream, LocalClock(2_000)).measure(COUNT * 0.01)
    thread.join()
    opened.close()
    for way in (measured.forward, measured.reverse):
        assert [number for number, _, _ in way.packets] == list(range(COUNT))
        assert all(delay_ns is not None for _, _, delay_ns in way.packets)
        assert (way.remarked, way.untold, way.unanswered) == (0, 0, 0)
    assert measured.clock_error_ns is not None
    assert measured.clock_error_ns >= 3_000


def test_what_this_machine_says_of_its_clock_is_an_error() -> None:
    assert LocalClock().estimate().error_ns > 0


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"sls": "x"}, "says too little"),
        ({"sls": "x", "source": "a", "destination": "b", "address": "::", "dscp": 64}, "dscp is 64"),
        ({"sls": "x", "source": "a", "destination": "b", "address": "::", "dscp": 0, "rate": 1}, "has no rate"),
    ],
)
def test_a_stream_that_cannot_be_is_refused(written: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        stream_of(written)


def test_a_configuration_without_streams_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").write_text('{"streams": []}')
    assert main(["send", str(tmp_path / "x.json"), "--print"]) == 2
    assert "names no stream" in capsys.readouterr().err
    assert main(["send", str(tmp_path / "none.json")]) == 1


def test_a_host_gets_one_file_that_needs_nothing_but_the_standard_library(tmp_path: Path) -> None:
    """As the role makes it."""
    archive = tmp_path / "slotcar-probe.pyz"
    write_zipapp(PACKAGE, archive)
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(archive), "send", str(tmp_path / "none.json")],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        1,
        f"slotcar-probe: [Errno 2] No such file or directory: '{tmp_path}/none.json'\n",
    )


def test_the_same_modules_are_the_same_bytes_wherever_they_were_written(tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / PACKAGE.name
    shutil.copytree(PACKAGE, copy, copy_function=shutil.copyfile)  # with other times, and what Python compiled
    write_zipapp(PACKAGE, tmp_path / "one.pyz")
    write_zipapp(copy, tmp_path / "other.pyz")
    assert (tmp_path / "one.pyz").read_bytes() == (tmp_path / "other.pyz").read_bytes()
    (copy / "clock.py").write_text("")
    write_zipapp(copy, tmp_path / "other.pyz")
    assert (tmp_path / "one.pyz").read_bytes() != (tmp_path / "other.pyz").read_bytes()


class Controller(HTTPServer):
    """Answers with these statuses, one after the other; 201 behind the last."""

    def __init__(self, statuses: list[int]) -> None:
        self.statuses, self.taken = statuses, list[tuple[str, Any]]()
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class Handler(BaseHTTPRequestHandler):
    server: Controller

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = self.server.statuses.pop(0) if self.server.statuses else 201
        if status == 201:
            self.server.taken.append((self.headers["Authorization"], body))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(b'{"detail": "is no SLS of the inventory"}')

    def log_message(self, *_: object) -> None:
        return


def test_what_the_controller_does_not_take_now_goes_first_later(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("st_made-up\n")
    controller, sentences = Controller([503, 422]), list[str]()
    handing_in = HandingIn(controller.url, tmp_path / "token", None, sentences.append)
    handing_in.hand_in({"number": 1})
    assert controller.taken == []
    handing_in.hand_in({"number": 2})
    controller.shutdown()
    controller.server_close()
    assert controller.taken == [("Bearer st_made-up", {"number": 2})], "the first will never be taken"
    assert "503" in sentences[0]
    assert "422" in sentences[1]
    assert "is no SLS" in sentences[1]
    handing_in.hand_in({"number": 3})
    assert "does not answer" in sentences[2]
