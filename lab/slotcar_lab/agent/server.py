"""The agent's listeners: one for control, and one per router that hands each connection to an sshd of its own."""

from __future__ import annotations

import contextlib
import functools
import hmac
import json
import os
import platform
import selectors
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from slotcar_lab.agent import wire
from slotcar_lab.agent.forked import Forked
from slotcar_lab.agent.hold import Hold
from slotcar_lab.agent.namespaces import Namespace
from slotcar_lab.agent.outbox import Outbox, Outboxes

Child: TypeAlias = "subprocess.Popen[bytes] | Forked"
CHUNK_BYTES = 65_536


class Agent:
    """Serves one lab until it is told to end.

    Args:
        hold: of a guest in virtual time.
    """

    def __init__(self, plan: dict[str, Any], namespaces: dict[str, Namespace], hold: Hold | None = None) -> None:
        self.plan = plan
        self.namespaces = namespaces
        self.hold = hold
        self._outboxes = Outboxes()
        if hold is not None:
            hold.held = self._outboxes.open_or_close
        self.ended = threading.Event()
        self._verbs: dict[str, Callable[[socket.socket, dict[str, Any]], None]] = {
            "hello": self._hello,
            "clock": self._clock,
            "set_clock": self._set_clock,
            "run_until": self._run_until,
            "exec": self._exec,
            "end": self._end,
        }

    def serve(self) -> None:
        """Listen on every port of the plan and return once somebody asked for the end."""
        address = self.plan["listen"]
        for router in self.plan["routers"].values():
            self._listen(address, router["port"], functools.partial(self._serve_ssh, router=router))
        self._listen(address, self.plan["control_port"], self._control)
        self.ended.wait()

    def _listen(self, address: str, port: int, handle: Callable[[socket.socket], None]) -> None:
        listener = socket.create_server((address, port), backlog=128)

        def accept() -> None:
            while True:
                peer, _ = listener.accept()
                threading.Thread(target=handle, args=(peer,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()

    def _control(self, peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            request = wire.receive_request(peer)
            if request is None:
                return
            if not hmac.compare_digest(str(request.get("token")), self.plan["token"]):
                wire.send(peer, wire.ERROR, b"wrong token: this control port belongs to another lab")
                return
            verb = self._verbs.get(request["verb"])
            if verb is None:
                wire.send(peer, wire.ERROR, f"unknown verb {request['verb']}".encode())
                return
            verb(peer, request)

    def _hello(self, peer: socket.socket, _: dict[str, Any]) -> None:
        answer = {
            "fingerprint": self.plan["fingerprint"],
            "kernel": platform.release(),
            "up_s": int(time.clock_gettime(time.CLOCK_BOOTTIME)),
        }
        wire.send(peer, wire.ANSWER, json.dumps(answer).encode())

    def _clock(self, peer: socket.socket, _: dict[str, Any]) -> None:
        while frame := wire.receive(peer):
            wire.send(peer, frame.kind)

    def _set_clock(self, peer: socket.socket, request: dict[str, Any]) -> None:
        if not self.plan["own_kernel"]:
            wire.send(peer, wire.ERROR, b"this lab runs on your own kernel: its clock stays as it is")
            return
        shifted_ns = time.time_ns() + 1000 * int(request["add_us"])
        time.clock_settime_ns(time.CLOCK_REALTIME, shifted_ns)
        wire.send(peer, wire.ANSWER, b"{}")

    def _run_until(self, peer: socket.socket, request: dict[str, Any]) -> None:
        if self.hold is None:
            wire.send(peer, wire.ERROR, b"this lab's clock is a real one: it cannot be told to run")
            return
        over_ns = self.hold.run_until(int(request["until_ns"]))
        wire.send(peer, wire.ANSWER, json.dumps({"over_ns": over_ns}).encode())

    def _end(self, peer: socket.socket, _: dict[str, Any]) -> None:
        wire.send(peer, wire.ANSWER, b"{}")
        self.ended.set()

    def _exec(self, peer: socket.socket, request: dict[str, Any]) -> None:
        try:
            child = self._child(request)
        except (OSError, SyntaxError) as error:
            why = error.strerror if isinstance(error, OSError) else error.msg
            wire.send(peer, wire.ERROR, f"cannot run {request['argv'][0]}: {why}".encode())
            return
        with child, self._outboxes.new(peer) as outbox:
            try:
                _relay(peer, child, outbox)
            finally:
                _end_group(child)
        _read_to_the_end(peer)

    def _child(self, request: dict[str, Any]) -> Child:
        start = functools.partial(_start, request)
        if not request["node"]:
            return start()
        return self.namespaces[self.plan["prefix"] + request["node"]].start(start)

    def _serve_ssh(self, peer: socket.socket, router: dict[str, Any]) -> None:
        # The socket stays one of the root namespace: management is out of band, routers need no interface for it.
        argv = ["/usr/sbin/sshd", "-i", "-f", router["sshd_config"]]
        with peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end = peer.fileno()
            daemon = self.namespaces[router["namespace"]].start(
                lambda: subprocess.Popen(
                    argv, stdin=end, stdout=end, stderr=subprocess.DEVNULL, start_new_session=True, cwd="/"
                )
            )
        daemon.wait()


def _start(request: dict[str, Any]) -> Child:
    """The command or the program of a request, in the namespaces of the calling thread."""
    if "python" in request:
        stdin, modules = bool(request.get("stdin")), request.get("modules")
        return Forked(request["python"], list(request["argv"]), stdin=stdin, modules=modules)
    return subprocess.Popen(
        list(request["argv"]),
        stdin=subprocess.PIPE if request.get("stdin") else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd="/",
    )


def _relay(peer: socket.socket, child: Child, outbox: Outbox) -> None:
    """Carry output, input and signals until the command has ended or the client has gone."""
    assert child.stdout is not None
    assert child.stderr is not None
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ, wire.STDOUT)
        selector.register(child.stderr, selectors.EVENT_READ, wire.STDERR)
        selector.register(peer, selectors.EVENT_READ, None)
        selector.register(outbox.waker, selectors.EVENT_READ, None)
        open_streams = 2
        while open_streams or not outbox.empty:
            for key, _ in selector.select():
                if key.fileobj == outbox.waker:
                    outbox.send()
                    continue
                if key.data is None:
                    frame = wire.receive(peer)
                    if frame is None:
                        return
                    _obey(frame, child)
                    continue
                data = os.read(key.fd, CHUNK_BYTES)
                if data:
                    outbox.put(key.data, data)
                    continue
                selector.unregister(key.fileobj)
                open_streams -= 1
                if not open_streams:
                    outbox.put(wire.EXIT, str(child.wait()).encode())


def _obey(frame: wire.Frame, child: Child) -> None:
    if frame.kind == wire.SIGNAL:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, int(frame.payload))
    elif frame.kind == wire.STDIN and child.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            if frame.payload:
                child.stdin.write(frame.payload)
                child.stdin.flush()
            else:
                child.stdin.close()


def _read_to_the_end(peer: socket.socket) -> None:
    """The client closes first: a socket that is closed with a signal unread is reset, and the emulator's network then
    drops the exit status that was on its way."""
    while peer.recv(CHUNK_BYTES):
        pass


def _end_group(child: Child) -> None:
    """A command does not outlive its connection: nothing that a dead test started goes on sending."""
    for sent, grace_s in ((signal.SIGTERM, 1.0), (signal.SIGKILL, 1.0)):
        try:
            os.killpg(child.pid, sent)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + grace_s
        while time.monotonic() < deadline:
            child.poll()
            try:
                os.killpg(child.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.01)
