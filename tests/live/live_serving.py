"""How subject.py serves its flags: with pf.serve, or as a WSGI application."""

from __future__ import annotations

import json
import socketserver
import threading
import wsgiref.simple_server
from typing import Any

from paddle_flags import live

PREFIX = "/flags"


class Serving:
    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.servers: list[Any] = []

    def start(self) -> str:
        options = self.options
        both = {"settable": options["settable"], "audit": options["audit"]}
        places: dict[str, Any] = {}
        if "unix" in options:
            server = live.serve(options["unix"] or None, **both)
            self.servers.append(server)
            places["unix"] = server.address
        if options.get("tcp"):
            tokens = {t["label"]: live.Token(t["text"], may=t["may"]) for t in options["tokens"]}
            server = live.serve("127.0.0.1:0", tokens=tokens, **both)
            self.servers.append(server)
            places["port"] = int(server.address.rpartition(":")[2])
        if options.get("wsgi"):
            web = Web(options)
            self.servers.append(web)
            places.update(port=web.port, prefix=PREFIX)
        return json.dumps(places)

    def stop(self) -> None:
        while self.servers:
            self.servers.pop().close()


class _Threads(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True
    request_queue_size = 512


class _Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - of the base
        pass


class Web:
    """The WSGI application below a prefix, under the server of the standard library."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.tokens = {
            f"Bearer {t['text']}": live.User(t["label"], t["may"]) for t in options["tokens"]
        }
        self.app = live.app(
            authorize=lambda environ: self.tokens.get(environ.get("HTTP_AUTHORIZATION", "")),
            settable=options["settable"],
            audit=options["audit"],
            hosts=["localhost", "127.0.0.1"],
        )
        self.server = wsgiref.simple_server.make_server(
            "127.0.0.1", 0, self.answer, server_class=_Threads, handler_class=_Quiet
        )
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def answer(self, environ: dict[str, Any], start_response: Any) -> Any:
        path = environ["PATH_INFO"]
        if not path.startswith(PREFIX):
            start_response("404 Not Found", [])
            return []
        environ["SCRIPT_NAME"] = PREFIX
        environ["PATH_INFO"] = path[len(PREFIX) :]
        return self.app(environ, start_response)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
