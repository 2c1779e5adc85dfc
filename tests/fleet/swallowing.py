"""A proxy for TCP that passes a request on, and then ends the connection in place of an answer."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self


class Swallowing:
    """Passes everything, but for the answer to the next request that contains some text."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._text = b""
        self.swallowed = 0
        self._threads: list[threading.Thread] = []

    def swallow(self, text: bytes) -> None:
        self._text = text

    def __enter__(self) -> Self:
        self._run(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _run(self, function, *arguments) -> None:
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                self._run(self._serve, self._listener.accept()[0])

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self._to)) as server:
            swallowing = threading.Event()
            back = threading.Thread(target=self._back, args=(server, client, swallowing))
            back.start()
            with suppress(OSError):
                while data := client.recv(1 << 16):
                    if self._text and self._text in data:
                        self._text = b""
                        swallowing.set()
                    server.sendall(data)
            for each in (client, server):
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            back.join()

    def _back(
        self, server: socket.socket, client: socket.socket, swallowing: threading.Event
    ) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 16):
                if swallowing.is_set():
                    self.swallowed += 1
                    break
                client.sendall(data)
        for each in (client, server):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
