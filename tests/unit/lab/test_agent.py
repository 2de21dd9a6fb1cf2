"""The agent's control port, on loopback."""

from __future__ import annotations

import json
import signal
import socket
import struct
import threading

import pytest

from slotcar_lab.agent import wire
from slotcar_lab.agent.server import Agent
from slotcar_lab.client import AgentAddress
from slotcar_lab.errors import LabError


def test_the_agent_reads_a_signal_that_comes_after_its_command_has_ended() -> None:
    """Else the connection is reset, and the emulator's network drops the exit status."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        theirs, _ = listener.accept()
    agent = Agent({"token": "t"}, {})
    serving = threading.Thread(target=agent._control, args=(theirs,), daemon=True)
    serving.start()
    with ours:
        request = {"token": "t", "verb": "exec", "node": "", "argv": ["true"]}
        ours.sendall(json.dumps(request).encode() + b"\n")
        ended = wire.receive(ours)
        assert ended is not None
        assert (ended.kind, ended.payload) == (wire.EXIT, b"0")
        wire.send(ours, wire.SIGNAL, str(int(signal.SIGTERM)).encode())
        ours.shutdown(socket.SHUT_WR)
        assert wire.receive(ours) is None
        serving.join()


def test_a_lab_that_ends_while_its_clock_is_measured_is_told_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def reset() -> None:
            accepted, _ = listener.accept()
            accepted.recv(4096)
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            accepted.close()

        resetting = threading.Thread(target=reset)
        resetting.start()
        with pytest.raises(LabError, match=r"while its clock was measured; see: slotcar lab status"):
            AgentAddress(listener.getsockname()[1], "t").measure_offset()
        resetting.join()
