"""The attacks, in one table: what is sent, what must come back, and how much memory and time that may take.

Promises: each is one line of `ATTACKS`; what came up once stays in it.
Does not know: the server's insides.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
import json
import random
import zlib
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import httpx
from PIL import Image

from dard.models.scripted import LOS_DIEGO
from dard.trace import Trace
from tests.visitors import Report, Visitor, unpacked

EXPERIMENT = {"experiment": "ordering", "task": "arithmetic", "model": "embedded", "samples": 100}


class Stranger(Visitor):
    """Somebody at an address of their own, who sends what they like."""

    async def send(self, path: str, body: Any = None, method: str = "POST", **more: Any) -> str:
        """The status and the answer."""
        headers = {"Content-Type": "application/json", **self.headers, **more.pop("headers", {})}
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        answer = await self.client.request(method, path, content=content, headers=headers, **more)
        assert answer.headers["x-content-type-options"] == "nosniff" and "frame-ancestors" in str(answer.headers)
        return f"{answer.status_code} {answer.text}"

    async def quick(self, name: str, data: Any, mount: str = "mountWatch") -> str:
        """A quick call, its answer unpacked."""
        body = {"component_id": self.part(mount)[0], "fn_name": name, "session_hash": self.name, "data": data}
        answer = await self.send("/gradio_api/component_server", body)
        return answer if not answer.startswith('200 "') else f"200 {json.dumps(unpacked(json.loads(answer[4:])))}"

    async def join(self, mount: str, event: Any, session: str = "") -> str:
        """A question that is put into the queue, and listened to by nobody."""
        part, number = self.part(mount)
        body = {"data": [], "event_data": event, "fn_index": number, "trigger_id": part}
        return await self.send("/gradio_api/queue/join", body | {"session_hash": session or self.name})

    async def hear(self, event: Any) -> str:
        """A question that is put into the queue, and all that is answered, as it stands."""
        joined = await self.join("mountWatch", event)
        if not joined.startswith("200"):
            return joined
        told = []
        async with self.client.stream("GET", f"/gradio_api/queue/data?session_hash={self.name}") as lines:
            async for line in lines.aiter_lines():
                told.append(line)
                if "process_completed" in line:
                    break
        return "".join(told)

    def other(self) -> Stranger:
        """Somebody else."""
        return Stranger(self.client, self.config, Report(), self.dice)


class Attack(NamedTuple):
    """What is done, what must come back, and the megabytes and seconds it may take."""

    name: str
    deed: Callable[[Stranger], Awaitable[str]]
    back: str  # a pattern
    megabytes: int = 30
    seconds: float = 3


def quick(name: str, data: Any, mount: str = "mountWatch") -> Callable[[Stranger], Awaitable[str]]:
    return lambda one: one.quick(name, data() if callable(data) else data, mount)


def sent(path: str, body: Any = None, method: str = "POST", **more: Any) -> Callable[[Stranger], Awaitable[str]]:
    return lambda one: one.send(path, body() if callable(body) else body, method, **more)


def heard(event: Any) -> Callable[[Stranger], Awaitable[str]]:
    return lambda one: one.hear(event)


def packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 9)).decode()


def file_of(what: bytes, megabytes: int) -> dict[str, str]:
    """A trace file whose steps are so many megabytes of something."""
    count = (megabytes << 20) // len(what)
    return {"data": packed(b'{"format":"dard-trace","version":3,"steps":[' + what * count + b"0]}")}


def file_with(part: str, value: Any) -> dict[str, str]:
    """A file that has one field, and a large one."""
    body = {"format": "dard-trace", "version": 3, part: value}
    return {"data": packed(json.dumps(body, ensure_ascii=False).encode())}


def with_empty_masks(length: int, masks: bool = True) -> dict[str, str]:
    """A small file that is large in memory: seven steps of a long region, each with an empty mask."""
    frames = [[1] * step + [0] * (length - step) for step in range(8)]
    body = json.loads(Trace.from_tokens(frames, 0).to_bytes(compress=False))
    mask = base64.b64encode(zlib.compress(bytes((2 * length + 1) * (2 * length // 8)), 9)).decode()
    for step in body["steps"] if masks else []:
        step["mask"] = mask
    return {"data": packed(json.dumps(body).encode())}


def with_blanks() -> dict[str, str]:
    """A trace whose answer ends in four million blanks."""
    body = json.loads(Trace.from_tokens([[0] * 4096, [1] + [2] * 4094 + [3]], 0).to_bytes(compress=False))
    body["token_text"] = {"0": "[MASK]", "1": " the answer is 4", "2": " " * 1000, "3": " x"}
    return {"data": packed(json.dumps(body).encode())}


def with_column(**more: Any) -> dict[str, str]:
    """A trace whose description names a column that it does not have."""
    body = json.loads(Trace.from_tokens([[1, 0], [1, 2]], 0).to_bytes(compress=False))
    body["about"]["columns"] = [{"name": "one"}, {"name": "two", **more}]
    return {"data": packed(json.dumps(body).encode())}


def picture() -> dict[str, str]:
    """Twenty megapixels of one colour."""
    file = io.BytesIO()
    Image.new("L", (5000, 4000)).save(file, "PNG")
    return {"data": base64.b64encode(file.getvalue()).decode()}


async def crowd_of_experiments(one: Stranger) -> str:
    """From one address, then each from another; nobody listens to any."""
    mine = [await one.join("mountLab", {"action": "experiment", "question": f"q{n}", **EXPERIMENT}) for n in range(10)]
    assert sum(answer.startswith("200") for answer in mine) == 1 and "an experiment of yours" in mine[-1], mine
    others = [one.other() for _ in range(120)]
    asked = {"action": "experiment", "question": "other", **EXPERIMENT}
    answers = await asyncio.gather(*(each.join("mountLab", asked) for each in others))
    assert sum(answer.startswith("200") for answer in answers) == 7
    assert "8 experiments are running" in (await one.quick("again", {"question": "other"}))  # the page hears of it
    return next(answer for answer in answers if not answer.startswith("200"))


async def crowd_of_decodes(one: Stranger) -> str:
    """From one address."""
    asked = {"action": "start", "prompt": LOS_DIEGO, "question": "many"}
    answers = await asyncio.gather(*(one.join("mountWatch", asked, f"{one.name}{n}") for n in range(130)))
    refused = [answer for answer in answers if not answer.startswith("200")]
    return refused[0] if refused else answers[0]


async def four_files(one: Stranger) -> str:
    """At once; meanwhile somebody else asks something."""
    file = file_of(b'{"index":1},', 3)
    going = [
        asyncio.create_task(each.quick("open_trace", file)) for each in (one, one.other(), one.other(), one.other())
    ]
    await asyncio.sleep(0.05)
    async with asyncio.timeout(2):
        assert "checked" in await one.other().quick("check", {"prompt": LOS_DIEGO})
    return (await asyncio.gather(*going))[0]


async def many_opened(one: Stranger) -> str:
    """Files that are kept: those of one visitor take no more than their share."""
    file = with_empty_masks(4096)
    answers = [await one.quick("open_trace", file) for _ in range(3)]
    return answers[-1][:100]


async def results_pushed_out(one: Stranger) -> str:
    """While somebody's results are there, somebody else looks at recorded ones again and again."""
    held = json.loads((await one.other().quick("lab_recorded", {"stem": "ordering-arithmetic"}, "mountLab"))[4:])
    for _ in range(60):
        await one.quick("lab_recorded", {"stem": "ordering-arithmetic"}, "mountLab")
    return await one.other().quick("lab_runs", {"lab": held["lab"], "variant": "", "only": "all"}, "mountLab")


async def runs_pushed_out(one: Stranger) -> str:
    """While somebody's run is there, somebody else opens more than are kept."""
    file = with_empty_masks(8, masks=False)
    held = json.loads((await one.other().quick("open_trace", file))[4:])["run"]
    for _ in range(26):
        await asyncio.gather(*(one.quick("open_trace", file) for _ in range(8)))
    return await one.other().quick("show", {"run": held})


async def endless_body(one: Stranger) -> str:
    async def parts() -> Any:
        for _ in range(40):
            yield b" " * (1 << 20)

    answer = await one.client.post(
        "/gradio_api/component_server", content=parts(), headers={"Content-Type": "application/json", **one.headers}
    )
    return f"{answer.status_code} {answer.text}"


async def many_streams(one: Stranger) -> str:
    """That never end, from one address; somebody else is let in meanwhile."""
    asked = [one.client.build_request("GET", f"/gradio_api/heartbeat/{n}", headers=one.headers) for n in range(310)]
    streams = [await one.client.send(each, stream=True) for each in asked]
    assert "checked" in await one.other().quick("check", {"prompt": LOS_DIEGO})
    refused = await one.send("/config", method="GET")
    await asyncio.gather(*(each.aclose() for each in streams))
    return refused


HALF = '{"data":[],"fn_index":0,"session_hash":"s","event_data":{"question":"q","action":"start","prompt":"\\ud800"}}'
WHOLE = HALF.replace("\\ud800", "\\ud83d\\ude00 \\\\ud800")
JOIN, SERVER = "/gradio_api/queue/join", "/gradio_api/component_server"
CLASS = {"component_id": 1, "fn_name": "__init__", "session_hash": "s", "data": 1}
WIDE = "a" * (23 << 20) + "😀"
WORDS = {str(number): "x" for number in range(300_000)}
MISSING = "broken at .*: it (is missing|has 300000 entries)"
PARTS = b'{"data":{"prompt":[' + b"[]," * 400_000 + b"0]}}"

ATTACKS = [
    Attack("experiments from everywhere", crowd_of_experiments, "^429 .*8 experiments are running or waiting", 60, 8),
    Attack("130 decodes nobody listens to", crowd_of_decodes, "^429 .*for your address already|^200", 40, 8),
    Attack("a file that unfolds", quick("open_trace", lambda: file_of(b"[],", 63)), "more than 32 MB", 80),
    Attack("a file of brackets", quick("open_trace", lambda: file_of(b"[],", 3)), "at most 300000 are read"),
    Attack("a file of commas", quick("open_trace", lambda: file_of(b"0,", 12)), "entries; at most 4000000", 40),
    Attack("a file of steps", quick("open_trace", lambda: file_of(b"{},", 0)), "broken", 20),
    Attack("a text of wide characters", quick("open_trace", lambda: file_with("text", WIDE)), MISSING, 260),
    Attack("words without a trace", quick("open_trace", lambda: file_with("token_text", WORDS)), MISSING, 120),
    Attack("settings without an end", quick("open_trace", lambda: file_with("settings", WORDS)), MISSING, 120),
    Attack("a file of names", quick("open_trace", lambda: file_of(b'"":0,', 4)), "named entries; at most 500000", 40),
    Attack("four files at once", four_files, "model: it is missing", 220, 6),
    Attack("a long region", quick("open_trace", lambda: with_empty_masks(8192)), "at most 4096 are shown here", 60),
    Attack("files that are kept", many_opened, '^200 {"kind": "view"', 160, 15),
    Attack("an answer that ends in blanks", quick("open_trace", with_blanks), '^200 {"kind": "view"', 60),
    Attack("a picture for no model", quick("open_image", picture), "no model of this page takes pictures", 10),
    Attack("a mirror of nothing", quick("open_trace", lambda: with_column(mirror="nope")), "none of the other columns"),
    Attack("a column that mirrors itself", quick("open_trace", lambda: with_column(mirror="two")), "none of the other"),
    Attack("an upload", sent("/gradio_api/upload", lambda: b"x" * (8 << 20)), "^404", 20),
    Attack("a large body", sent(SERVER, lambda: b" " * (30 << 20)), "^413 .*more than 24 MB", 10),
    Attack("a body without an end", endless_body, "^413 .*more than 24 MB", 60),
    Attack("streams without an end", many_streams, "^429 .*too much is open for your address", 40, 8),
    Attack("a large question", sent(JOIN, lambda: b" " * (2 << 20)), "^413 .*more than 1 MB", 10),
    Attack("a body of brackets", sent(SERVER, PARTS), "^413 .*more than 50000 parts", 20),
    Attack("a form", sent(SERVER, b"a=1", headers={"Content-Type": "application/x-www-form-urlencoded"}), "^415"),
    Attack("plain text from a page elsewhere", sent(JOIN, b"{}", headers={"Content-Type": "text/plain"}), "^415"),
    Attack("a page elsewhere", sent(JOIN, {}, headers={"Origin": "https://evil.example"}), "^403 .*evil"),
    Attack("a page on another port", sent(JOIN, {}, headers={"Origin": "http://127.0.0.1:1"}), "^403 .*may not ask"),
    Attack("a page without a name", sent(JOIN, {}, headers={"Origin": "null"}), "^403 .*may not ask"),
    Attack("a rebound name", sent("/config", method="GET", headers={"Host": "evil.example:7860"}), "^403 .*evil"),
    Attack("a forwarded name", sent("/", method="GET", headers={"X-Forwarded-Host": "evil.example"}), "^403 .*evil"),
    Attack("a file of the system", sent("/gradio_api/file=/etc/passwd", method="GET"), "^404"),
    Attack("a request through us", sent("/gradio_api/proxy=http://127.0.0.1:1/", method="GET"), "^404"),
    Attack("a link that is stored", sent("/gradio_api/deep_link?session_hash=x", method="GET"), "^404"),
    Attack("half a character", sent(JOIN, HALF.encode()), "^400 .*half of a character"),
    Attack("a whole one, and one that is spelled", sent(JOIN, WHOLE.encode()), "^(200|400|429|500) (?!.*half)"),
    Attack("half a name", sent(SERVER, b'{"component_id":1,"fn_name":"\\uDFFF","session_hash":"s","data":1}'), "^400"),
    Attack("no such part", sent(SERVER, {"component_id": 10**9, "fn_name": "x", "session_hash": "s", "data": 1}), "^4"),
    Attack("a part of another kind", sent(SERVER, {"component_id": [], "fn_name": 1, "session_hash": 2}), "^400"),
    Attack("a function of Python", sent(SERVER, CLASS), "^4"),
    Attack("no such event", sent(JOIN, {"data": [], "fn_index": 10**6, "session_hash": "s"}), "^4"),
    Attack("deep brackets", sent(SERVER, b"[" * 40_000 + b"]" * 40_000), "^400"),
    Attack("a question that is text", heard("x"), '^(?!.* at 0x)(?!.*functools).*process_completed'),
    Attack("no question", heard(None), '^(?!.* at 0x)(?!.*functools).*process_completed'),
    Attack("an unknown action", heard({"question": "q", "action": "__class__"}), '^(?!.* at 0x).*process_completed'),
    Attack("others' results", results_pushed_out, '^200 {"kind": "runs"', 40, 8),
    Attack("others' runs", runs_pushed_out, '^200 {"kind": "view"', 40, 10),
]  # fmt: skip


def stranger(client: httpx.AsyncClient, config: dict[str, Any], seed: object) -> Stranger:
    return Stranger(client, config, Report(), random.Random(f"{seed}"))
