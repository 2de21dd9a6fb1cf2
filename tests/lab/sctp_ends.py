"""Both ends of a connection of SCTP: `listen PORT` takes what `send ADDRESS PORT` sends, and ends with it."""

import socket
import sys

PACKETS, BYTES = 20, 1000


def listen(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP) as listening:
        listening.bind(("", port))
        listening.listen()
        print("listening", flush=True)
        connection, _ = listening.accept()
        with connection:
            taken = 0
            while piece := connection.recv(65_536):
                taken += len(piece)
    assert taken == PACKETS * BYTES, taken


def send(address: str, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP) as connection:
        connection.connect((address, port))
        for _ in range(PACKETS):
            connection.sendall(bytes(BYTES))


if sys.argv[1] == "listen":
    listen(int(sys.argv[2]))
else:
    send(sys.argv[2], int(sys.argv[3]))
