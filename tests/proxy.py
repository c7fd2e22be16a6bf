"""A small proxy between a browser and a page, whose cables can be pulled.

Promises: every request goes to the next of its servers, in turn; answers are handed on as they come; `cut` ends all
connections in the middle of whatever they carry.
Does not know: what is asked.
"""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from typing import Any

from tests.helpers import free_port

ALONE = frozenset({"connection", "transfer-encoding", "keep-alive", "content-length"})  # of one stretch of the way


class Proxy:
    """Where it listens, and what it may do to those who come."""

    def __init__(self, *servers: int) -> None:
        self.turns: Iterator[int] = cycle(servers)
        self.open: set[socket.socket] = set()
        self.port = free_port()
        self.requests: list[str] = []

    def cut(self) -> int:
        """End the connections that may be cut; how many there were."""
        ended = 0
        for each in [*self.open]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
                ended += 1
        return ended


@contextmanager
def proxied(*servers: int, only: Callable[[str], bool] = lambda path: True) -> Iterator[tuple[str, Proxy]]:
    """A proxy before servers of this machine, by their ports; only some of its connections can be cut."""
    proxy = Proxy(*servers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None: ...

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            proxy.requests.append(self.path)
            behind = http.client.HTTPConnection("127.0.0.1", next(proxy.turns), timeout=120)
            if only(self.path):
                proxy.open.add(self.connection)
            try:
                headers = {name: value for name, value in self.headers.items() if name.lower() not in ALONE}
                behind.request(self.command, self.path, body, headers)
                answer = behind.getresponse()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in (*ALONE, "date", "server"):
                        self.send_header(name, value)
                self.send_header("Connection", "close")
                self.end_headers()
                while part := answer.read1(65536):
                    self.wfile.write(part)
                    self.wfile.flush()
            except (OSError, http.client.HTTPException):
                pass
            finally:
                self.close_connection = True
                proxy.open.discard(self.connection)
                if behind.sock:  # whoever is behind shall notice
                    with suppress(OSError):
                        behind.sock.shutdown(socket.SHUT_RDWR)
                behind.close()

        do_POST = do_HEAD = do_OPTIONS = do_GET

    listening = ThreadingHTTPServer(("127.0.0.1", proxy.port), Handler)
    listening.daemon_threads = True
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{proxy.port}/", proxy
    finally:
        listening.shutdown()
        proxy.cut()
        listening.server_close()
