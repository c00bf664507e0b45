"""The program that zot starts as the private extension of a client: it relays frames to the client.

A copy of this file runs without this package, in the directory with the socket.
"""

import os
import socket
import threading
import time

PIECE_BYTES = 65536

# zot waits five seconds for hello, which the client sends.
CONNECT_SECONDS = 4.0


def _write_all(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def _receive(connection: socket.socket) -> None:
    try:
        while True:
            data = connection.recv(PIECE_BYTES)
            if not data:
                break
            _write_all(data)
    except OSError:
        pass  # zot or the client is gone.
    # The client has closed the connection: there is nothing left to relay.
    os._exit(0)


def _connect() -> socket.socket:
    # When zot restarts a relay, the client may still be closing the old connection.
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect("socket")
            return connection
        except OSError:
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def main() -> None:
    connection = _connect()
    threading.Thread(target=_receive, args=(connection,), daemon=True).start()
    try:
        while True:
            data = os.read(0, PIECE_BYTES)
            if not data:
                break
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        # The client sends its last frames, then `_receive` ends the process.
        threading.Event().wait(5)
    except OSError:
        pass


if __name__ == "__main__":
    main()
