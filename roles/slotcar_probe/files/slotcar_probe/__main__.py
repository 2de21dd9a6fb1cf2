"""`python3 -m slotcar_probe reflect` and `send CONFIGURATION`."""

from __future__ import annotations

import argparse
import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from slotcar_probe.clock import LocalClock
from slotcar_probe.datagrams import stamping_socket
from slotcar_probe.handing_in import HandingIn
from slotcar_probe.packet import PORT
from slotcar_probe.reflector import Reflector
from slotcar_probe.sender import Sender
from slotcar_probe.streams import ConfigurationError, Stream, documents, stream_of

Take = Callable[[Mapping[str, Any]], None]


def main(argv: Sequence[str] | None = None) -> int:
    """0; 2 where the configuration cannot be read, 1 where the machine refuses what is asked."""
    options = _options().parse_args(argv)
    try:
        if options.what == "reflect":
            error_us = options.clock_error_us
            clock = LocalClock(None if error_us is None else error_us * 1000)
            Reflector(stamping_socket(options.port, options.address), clock).serve()
        else:
            return _send(json.loads(Path(options.configuration).read_text()), options.print, options.seconds)
    except (ConfigurationError, ValueError, KeyError) as error:
        _say(f"{options.configuration}: {error}")
        return 2
    except OSError as error:
        _say(str(error))
        return 1
    return 0


def _send(configuration: Mapping[str, Any], prints: bool, seconds: float | None) -> int:
    error_us = configuration.get("clock_error_us")
    clock = LocalClock(None if error_us is None else error_us * 1000)
    stretch_s = float(configuration.get("stretch_s", 60))
    streams = [stream_of(one) for one in configuration["streams"]]
    if not streams:
        raise ConfigurationError("it names no stream")
    take: Take = _print
    handing_in = None
    if not prints:
        handing_in = _HandingThread(_controller(configuration))
        take = handing_in.put
    threading.excepthook = _end_all
    threads = [
        threading.Thread(target=_measure, args=(Sender(one, clock, stretch_s), one, seconds, take), name=one.sls)
        for one in streams
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if handing_in is not None:
        handing_in.finish()
    return 0


class _HandingThread:
    """Hands in beside those that measure: a controller that is slow to answer holds no packet up."""

    def __init__(self, controller: HandingIn) -> None:
        self._controller = controller
        self._waiting: queue.SimpleQueue[Mapping[str, Any] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="handing in")
        self._thread.start()

    def put(self, document: Mapping[str, Any]) -> None:
        self._waiting.put(document)

    def finish(self) -> None:
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (document := self._waiting.get()) is not None:
            self._controller.hand_in(document)


def _measure(sender: Sender, stream: Stream, seconds: float | None, take: Take) -> None:
    for measured in sender.measure(seconds):
        for document in documents(stream, measured):
            take(document)


def _end_all(failure: threading.ExceptHookArgs) -> None:
    """One stream that fails ends the program: systemd starts it again, and an audit of the rest alone would look whole."""
    _say(f"{failure.thread.name if failure.thread else 'a stream'} failed: {failure.exc_value}")
    os._exit(1)


def _controller(configuration: Mapping[str, Any]) -> HandingIn:
    controller = configuration["controller"]
    ca_file = controller.get("ca_file")
    url = str(controller["url"])
    if not url.startswith(("https://", "http://")):
        raise ConfigurationError(f"controller.url is {url!r}; say one such as https://slotcar.example.net:8443")
    return HandingIn(url, Path(controller["token_file"]), Path(ca_file) if ca_file else None, _say)


def _print(document: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def _say(sentence: str) -> None:
    sys.stderr.write(f"slotcar-probe: {sentence}\n")
    sys.stderr.flush()


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="slotcar-probe", description=__doc__)
    ways = parser.add_subparsers(dest="what", required=True)
    reflect = ways.add_parser("reflect", help="answer probes of others")
    reflect.add_argument("--port", type=int, default=PORT)
    reflect.add_argument("--address", default="", help="of this machine, where it answers; all of them if left out")
    reflect.add_argument(
        "--clock-error-us", type=int, help="what this clock is off by at the most; else as the kernel says"
    )
    reflect.set_defaults(configuration="slotcar-probe")
    send = ways.add_parser("send", help="probe, and hand in what was measured")
    send.add_argument("configuration", help="file with the streams, as JSON")
    send.add_argument("--print", action="store_true", help="print what was measured, a document a line")
    send.add_argument("--seconds", type=float, help="so long; until it is stopped if left out")
    return parser


if __name__ == "__main__":
    sys.exit(main())
