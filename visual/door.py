"""What stands before the page: whoever comes in is let in, refused in one sentence, or given a name.

Promises: a request for another host, or made by a page of another site, gets nowhere; what the page does not use is
closed; a body is JSON, bounded in bytes and parts, and of large ones few are in memory together; answers say what a
browser may make of them, and who may frame the page. A visitor is known by their address.
Does not know: what is asked, or Gradio's insides; only the addresses under which it is asked.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from fnmatch import fnmatchcase
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import parse_qs, urlsplit

from visual.server.reading import give_back

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

API = "/gradio_api/"
POSTS = tuple(API + name for name in ("queue/join", "call/", "run/", "component_server", "cancel", "reset", "mcp"))
CLOSED = tuple(
    [API + name for name in ("upload", "proxy=", "file", "deep_link", "stream", "process_recording", "vibe-", "dev/")]
    + [API + name for name in ("undo-vibe", "run-history", "runs", "profiling")]
    + ["/monitoring", "/proxy=", "/file", "/login"]
)
QUICK = API + "component_server"  # files come this way, and no other
FILE_AT_MOST, QUESTION_AT_MOST = 24 << 20, 1 << 20  # bytes of a body
PARTS_AT_MOST = 50_000  # lists, objects and entries of a body; files in it are one text each
LARGE = 256 << 10  # bytes above which a body counts as large
LARGE_AT_ONCE = 2  # of these are looked at together
HELD_AT_MOST = 96 << 20  # bytes of all large bodies that are on their way
SECONDS_FOR_A_BODY = 60
OPEN_AT_MOST = 300  # requests of one visitor that are not answered yet; a tab has two that stay open
HUGGING_FACE = ("*.hf.space", "huggingface.co", "*.huggingface.co")
HALF = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u[dD]([89a-fA-F])|.)", re.S)

# How many listen to the answers of a session, or of an event, by its name.
LISTENERS: Counter[str] = Counter()


class Refused(Exception):
    """A request that gets no further: the status and the sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Door:
    """An ASGI application around another."""

    def __init__(
        self, app: Any, names: Sequence[str] = (), own: Sequence[str] = (), behind_proxy: bool | None = None
    ) -> None:
        """`names`: hosts it answers to, is asked by and may be framed by beside its `own`; * is any part of one. Behind
        a proxy visitors are told apart by what that says of them."""
        on_space = "SPACE_ID" in os.environ
        self.app = app
        self.names = (*names, *(HUGGING_FACE if on_space else ()))
        self.hosts = (*self.names, *own, *own_names())
        self.behind_proxy = (
            on_space or bool(os.environ.get("DARD_BEHIND_PROXY")) if behind_proxy is None else behind_proxy
        )
        self.policy = policy(self.names, on_space).encode()
        self.held = 0
        self.open = Counter[str]()
        self.turns = asyncio.Semaphore(LARGE_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        begun = False

        async def marked(message: MutableMapping[str, Any]) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = [
                    *message.get("headers", ()),
                    (b"x-content-type-options", b"nosniff"),
                    (b"content-security-policy", self.policy),
                ]
            await send(message)

        try:
            await self.let_in(scope, receive, marked)
        except Refused as refused:
            await say(marked, refused.status, str(refused))
        except Exception as error:
            logging.getLogger(__name__).error("a request could not be answered", exc_info=error)
            if begun:
                raise
            await say(marked, 400, f"the server could make nothing of that request ({type(error).__name__})")

    async def let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        path = scope["path"]
        scope["visitor"] = visitor = visitor_in(scope, headers, self.behind_proxy)
        self.check_names(headers)
        if path.startswith(CLOSED):
            raise Refused(404, "this page does not offer that")
        if self.open[visitor] >= OPEN_AT_MOST:
            raise Refused(429, "too much is open for your address already; close some of it")
        self.open[visitor] += 1
        try:
            if scope["method"] in ("GET", "HEAD", "OPTIONS"):
                await self.listening(scope, receive, send)
            elif not path.startswith(POSTS):
                raise Refused(404, "this page does not offer that")
            else:
                await self.with_body(scope, headers, receive, send)
        finally:
            self.open[visitor] -= 1
            if not self.open[visitor]:
                del self.open[visitor]

    def check_names(self, headers: dict[str, str]) -> None:
        """Refuse a name that is not this page's: behind it there may be somebody else's page in a visitor's browser."""
        forwarded = headers.get("x-forwarded-host", "").split(",")
        given = [headers.get("host", ""), *filter(None, map(str.strip, forwarded))]
        for host in given:
            if not is_address(host_name(host)) and not matches(host_name(host), self.hosts):
                raise Refused(
                    403,
                    f"this page does not answer to the name {host_name(host)[:100]!r}; "
                    "whoever serves it can allow that with --allow-host, or DARD_HOSTS",
                )
        origin = headers.get("origin")
        if origin is None or origin in [f"{scheme}://{host}" for host in given for scheme in ("http", "https")]:
            return
        if not matches(host_name(origin), self.names):
            raise Refused(
                403,
                f"a page of {origin[:100]!r} may not ask this one; "
                "whoever serves it can allow that with --allow-host, or DARD_HOSTS",
            )

    async def listening(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a question without a body, remembering who listens to what."""
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        path = scope["path"].rstrip("/")
        name = query.get("session_hash", [""])[0] if path.endswith("queue/data") else ""
        if path.startswith(API + "call/"):
            name = path.rpartition("/")[2]
        if not name:
            return await self.app(scope, receive, send)
        LISTENERS[name] += 1
        try:
            await self.app(scope, receive, send)
        finally:
            LISTENERS[name] -= 1
            if not LISTENERS[name]:
                del LISTENERS[name]

    async def with_body(self, scope: Scope, headers: dict[str, str], receive: Receive, send: Send) -> None:
        """Take the whole body, look at it, and hand it on; of large ones only a few at a time."""
        most = FILE_AT_MOST if scope["path"].startswith(QUICK) else QUESTION_AT_MOST
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 12 or int(length) > most:
            raise Refused(413, f"a request holds more than {most >> 20} MB; that is too much for this page")
        empty = length == "0" and "transfer-encoding" not in headers
        if not empty and headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refused(415, "this page is asked in JSON (Content-Type: application/json)")
        held, parts = 0, []
        try:
            async with asyncio.timeout(SECONDS_FOR_A_BODY):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return
                    parts.append(message.get("body", b""))
                    held += len(parts[-1])
                    self.held += len(parts[-1])
                    if held > most:
                        raise Refused(413, f"a request holds more than {most >> 20} MB; that is too much for this page")
                    if self.held > HELD_AT_MOST:
                        raise Refused(503, "the page is reading the files of others; try again in a moment")
                    if not message.get("more_body"):
                        break
            body = b"".join(parts)
            parts.clear()
            check_body(body)
            if held <= LARGE:
                await self.app(scope, replay(body, receive), send)
            else:
                async with self.turns:
                    await self.app(scope, replay(body, receive), send)
        except TimeoutError:
            raise Refused(408, f"a request took longer than {SECONDS_FOR_A_BODY} seconds to arrive") from None
        finally:
            self.held -= held
            parts.clear()
            if held > LARGE:
                give_back()


def check_body(body: bytes) -> None:
    """Refuse what would become very many objects, or holds half of a character."""
    if sum(body.count(sign) for sign in (b"[", b"{", b",")) > PARTS_AT_MOST:
        raise Refused(413, f"a request holds more than {PARTS_AT_MOST} parts; that is too much for this page")
    if b"\\u" in body and any(found[1] for found in HALF.finditer(body)):
        raise Refused(400, "a request holds half of a character, a lone surrogate; leave it out")


def replay(body: bytes, receive: Receive) -> Receive:
    """The same body once more, and then whatever comes."""
    waiting = [body]

    async def again() -> MutableMapping[str, Any]:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return again


async def say(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"detail": sentence}).encode()
    kind = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": kind})
    await send({"type": "http.response.body", "body": body})


def host_name(value: str) -> str:
    """The name in a Host header or an Origin.

    >>> host_name("Localhost:7860"), host_name("https://a.example"), host_name("[::1]:7860"), host_name("null")
    ('localhost', 'a.example', '::1', 'null')
    """
    try:
        return (urlsplit(value if "//" in value else f"//{value}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def matches(name: str, names: Iterable[str]) -> bool:
    return any(fnmatchcase(name, each) for each in names)


def is_address(name: str) -> bool:
    """Whether a host is a number: no foreign name can stand for that.

    >>> is_address("192.168.0.7"), is_address("::1"), is_address("evil.example")
    (True, True, False)
    """
    try:
        return bool(ip_address(name))
    except ValueError:
        return False


def own_names() -> tuple[str, ...]:
    """What this machine is called."""
    own = socket.gethostname().lower()
    return ("localhost", own, f"{own}.local", *filter(None, [os.environ.get("SPACE_HOST", "").lower()]))


def visitor_in(scope: Scope, headers: dict[str, str], behind_proxy: bool) -> str:
    """Who asks: the address of the connection; behind a proxy the last public one that it was forwarded for, because
    what stands before that anybody can write. Of the newer kind everybody has more than can be counted, so there it is
    the first half, which tells their network.

    >>> [visitor_in({"client": (each, 1)}, {}, False) for each in ("::ffff:8.8.4.4", "2a00:1:2:3:4::5")]
    ['8.8.4.4', '2a00:1:2:3::']
    >>> visitor_in({"client": ("10.0.0.1", 1)}, {"x-forwarded-for": "me, 8.8.8.8, 10.0.0.2"}, True)
    '8.8.8.8'
    """
    peer = (scope.get("client") or ("",))[0]
    told = [each.strip() for each in headers.get("x-forwarded-for", "").split(",")] if behind_proxy else []
    last = next((each for each in reversed(told) if is_address(each) and not ip_address(each).is_private), peer)
    if not is_address(last) or (address := ip_address(last)).version == 4:
        return last
    return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))


def policy(names: Sequence[str], on_space: bool) -> str:
    """The page runs its own scripts, which Gradio writes into it, and loads nothing from elsewhere but the traces that
    a link names (`?url=`), from the hub and where that keeps its files."""
    framing = " ".join(f"{scheme}://{name}:*" for name in names for scheme in ("https", "http"))  # at any port
    space = " https://*.hf.space" if on_space else ""
    return "; ".join(
        [
            "default-src 'self'",
            "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            f"connect-src 'self' data: blob: https://huggingface.co https://*.huggingface.co https://*.hf.co{space}",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            f"frame-ancestors 'self' {framing}".strip(),
        ]
    )
