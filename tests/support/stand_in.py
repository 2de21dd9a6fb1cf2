"""Stands for a program that the server of `prefork.py` forks: its environment, folder, output, and how it ends.

    python -I -S stand_in.py SOCKET PROGRAM ARGUMENT...

It imports little: that it begins quickly is what it is for.
"""

import json
import os
import signal
import socket
import sys


def main() -> None:
    path, program, *arguments = sys.argv[1:]
    umask = os.umask(0o077)
    request = {
        "program": program, "argv": arguments, "environment": dict(os.environ), "umask": umask,
        "cwd": os.getcwd(),  # noqa: PTH109 - pathlib takes longer to import than all else here
    }  # fmt: skip
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.connect(path)
        socket.send_fds(server, [json.dumps(request).encode()], [1, 2])
        server.recv(64)
        code = int(server.recv(64))
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


main()
