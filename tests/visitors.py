"""Simulated visitors of a page: they decode, step, stop, branch, compare, reload and go away in the middle, by a seed.

Promises: the page is one that this starts itself, on the loopback; every step a visitor is told of is compared with
what the library makes of the same prompt; the requests are bounded in number and time, and the page ends with them.
Does not know: how the page does it. They speak to it as its own script does, through Gradio's queue and quick calls.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import os
import random
import secrets
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import httpx

import dard
from dard.core.errors import InputError
from dard.decoders import DECODERS
from dard.models.base import offers
from dard.tasks import TASKS

STUCK = 120.0  # seconds without an answer
STARTS_WITHIN = 180.0
Moment = tuple[list[int], str]  # tokens and states after a step
# How often a visitor does what, after which they think of the next.
DEEDS = {"decode": 8, "step": 3, "stop": 2, "branch": 2, "compare": 2, "reload": 1, "leave": 2}


@dataclass(frozen=True)
class Wish:
    """What a visitor asks for."""

    prompt: str
    decoder: str
    gen_length: int | None

    @property
    def settings(self) -> dict[str, Any]:
        return {} if self.gen_length is None else {"gen_length": self.gen_length}


@dataclass
class Report:
    """What happened. Times in seconds, memory in bytes."""

    deeds: Counter[str] = field(default_factory=Counter)
    decodes: int = 0
    waits: list[float] = field(default_factory=list)  # from asking for steps to the first of them
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    seconds: float = 0.0
    processor: float = 0.0  # seconds of the server
    memory: list[int] = field(default_factory=list)  # at the beginning, in the second and the last minute, or quarter

    def rows(self) -> Iterator[tuple[str, str]]:
        waits = [1000 * each for each in sorted(self.waits)] or [0.0]
        yield "visits", ", ".join(f"{name} {count}" for name, count in sorted(self.deeds.items()))
        yield (
            "decodes",
            f"{self.decodes} in {self.seconds:.0f} s, {self.decodes / max(self.seconds, 1e-9):.1f} a second",
        )
        yield (
            "wait for the first step",
            f"median {statistics.median(waits):.0f} ms, 95 % {waits[int(0.95 * (len(waits) - 1))]:.0f} ms",
        )
        yield "server's processor time", f"{1000 * self.processor / max(self.decodes, 1):.0f} ms a decode"
        yield "wrong steps", shortly(self.wrong)
        yield "lost runs", shortly(self.lost)
        yield "stuck", shortly(self.stuck)
        yield "memory", " → ".join(f"{each / 1e6:.0f} MB" for each in self.memory)


def shortly(found: list[str]) -> str:
    return str(len(found)) + (f": {found[0]}" if found else "")


@contextmanager
def served(*arguments: str) -> Iterator[tuple[str, int]]:
    """A page on a free port of the loopback: its address and the number of its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "DARD_BEHIND_PROXY": "1"}  # visitors have addresses of their own
    command = [sys.executable, "-m", "dard", "app", "--host", "127.0.0.1", "--port", str(port), *arguments]
    server = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=Path.cwd(), env=environment
    )
    try:
        address, end = f"http://127.0.0.1:{port}", time.monotonic() + STARTS_WITHIN
        while True:
            try:
                httpx.get(f"{address}/config", timeout=30)
                break
            except httpx.TransportError:
                if server.poll() is not None or time.monotonic() > end:
                    raise InputError("the page could not be started; try `dard app`, which says why") from None
                time.sleep(0.2)
        yield address, server.pid
    finally:
        server.terminate()
        server.wait()


def memory_of(process: int) -> int:
    """Resident bytes of a process; 0 where the system does not tell."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def processor_of(process: int) -> float:
    """Seconds of processor time a process has used; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


def wishes() -> list[Wish]:
    """Prompts of every task with every decoder the model has all for."""
    model = library()
    able = [name for name, decoder in DECODERS.items() if decoder.needs <= offers(model)]
    items = [item for task in TASKS.values() for item in task.test_items(1)]
    return [Wish(item.prompt, name, item.gen_length) for item in items for name in able]


def one_each(visitors: int) -> list[Wish]:
    """A first wish for everyone; the same ones again where visitors are many.

    >>> len(one_each(100)), one_each(100)[0] == wishes()[0]
    (100, True)
    """
    return list(islice(cycle(wishes()), visitors))


@cache
def library() -> Any:
    return dard.load_model("embedded")


@cache
def expected(wish: Wish) -> list[Moment]:
    """What the library makes of a wish."""
    trace = dard.decode(library(), wish.prompt, wish.decoder, **wish.settings)
    return [(step.tokens, step.states) for step in trace.steps]


class Visitor:
    """One browser tab, without the browser."""

    def __init__(self, client: httpx.AsyncClient, config: dict[str, Any], report: Report, dice: random.Random) -> None:
        self.client, self.config, self.report, self.dice = client, config, report, dice
        self.name = secrets.token_hex(6)
        self.headers = {"X-Forwarded-For": f"11.{dice.randrange(256)}.{dice.randrange(256)}.{dice.randrange(256)}"}

    def part(self, mount: str) -> tuple[int, int]:
        """The numbers of a tab's component and of its event."""
        part = next(each for each in self.config["components"] if each["props"].get("props", {}).get("mount") == mount)
        event = next(each for each in self.config["dependencies"] if each["targets"][0][0] == part["id"])
        return part["id"], event["id"]

    async def call(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        """A quick question."""
        body = {"component_id": self.part("mountWatch")[0], "fn_name": name, "session_hash": self.name, "data": request}
        answer = await self.client.post("/gradio_api/component_server", json=body, headers=self.headers)
        found = unpacked(answer.raise_for_status().json())
        if found["kind"] == "error":
            raise Refused(found["text"])
        return found

    async def ask(self, mount: str, **request: Any) -> AsyncIterator[dict[str, Any]]:
        """Answers of the queue, as they come. A tab has one connection for each of its questions here."""
        tab = secrets.token_hex(6)
        part, event = self.part(mount)
        body = {"data": [], "event_data": {"question": tab, **request}, "fn_index": event, "trigger_id": part}
        joined = await self.client.post(
            "/gradio_api/queue/join", json=body | {"session_hash": tab}, headers=self.headers
        )
        joined.raise_for_status()
        async with self.client.stream("GET", f"/gradio_api/queue/data?session_hash={tab}") as lines:
            heard = ""
            async for line in lines.aiter_lines():
                message = json.loads(line[5:]) if line.startswith("data:") else {}
                packed = reply_in(message) if message.get("msg") == "process_generating" else None
                if packed and packed != heard:
                    heard = packed
                    for reply in unpacked(packed)["replies"]:
                        if reply["kind"] == "error":
                            raise Refused(reply["text"])
                        yield reply
                if message.get("msg") in ("process_completed", "close_stream"):
                    return

    async def start(self, wish: Wish) -> str:
        asked = {"prompt": wish.prompt, "decoder": wish.decoder, "settings": wish.settings}
        async for reply in self.ask("mountWatch", action="start", **asked):
            if reply["kind"] == "view":
                return reply["run"]
        raise Refused("no run was begun")

    async def advance(self, run: str, leave_after: int | None = None, **more: Any) -> dict[int, list[Moment]]:
        """Steps by lane, in order. With `leave_after` the connection is cut after so many answers."""
        began, answers = time.perf_counter(), 0
        found: dict[int, list[Moment]] = {}
        mount, action = ("mountCompare", "passes") if more.pop("lanes", False) else ("mountWatch", "advance")
        async for reply in self.ask(mount, action=action, run=run, **more):
            if reply["kind"] != "steps":
                continue
            if not answers:
                self.report.waits.append(time.perf_counter() - began)
            answers += 1
            for each in reply["steps"]:
                found.setdefault(each["branch"], []).append((each["step"]["tokens"], each["step"]["states"]))
            if answers == leave_after:
                break
        return found

    def check(self, what: str, found: list[Moment], wanted: list[Moment], whole: bool = True) -> None:
        if found != (wanted if whole else wanted[: len(found)]):
            self.report.wrong.append(f"{what}: {len(found)} steps, {len(wanted)} expected")
        self.report.decodes += whole

    async def decode(self, wish: Wish) -> None:
        found = await self.advance(await self.start(wish))
        self.check(f"{wish}", found.get(0, []), expected(wish))

    async def step(self, wish: Wish) -> None:
        run, wanted = await self.start(wish), expected(wish)
        for number in range(min(3, len(wanted))):
            found = await self.advance(run, steps=1)
            self.check(f"step {number + 1} of {wish}", found.get(0, []), [wanted[number]], whole=False)

    async def stop(self, wish: Wish) -> None:
        run = await self.start(wish)
        going = asyncio.create_task(self.advance(run))
        await asyncio.sleep(self.dice.random() / 20)
        await self.call("stop", {"run": run})
        found = (await going).get(0, [])
        self.check(f"stopped {wish}", found, expected(wish), whole=False)
        rest = await self.call("steps", {"run": run, "since": 0})
        told = [(each["step"]["tokens"], each["step"]["states"]) for each in rest["steps"]]
        self.check(f"what was made of {wish}", told, expected(wish), whole=False)

    async def branch(self, wish: Wish) -> None:
        """Masks a position again after the first step, and goes on from there."""
        run = await self.start(wish)
        await self.advance(run)
        session = dard.Session(library(), wish.prompt, wish.decoder, **wish.settings)
        session.step()
        position = next(i for i, given in enumerate(session.state.fixed) if not given)
        session = session.edit(position, state="M")
        edit = {"run": run, "branch": 0, "step": 1, "position": position, "state": "M"}
        async for _ in self.ask("mountWatch", action="branch", **edit):
            pass
        found = await self.advance(run, branch=1)
        session.run()
        wanted = [(step.tokens, step.states) for step in session.steps[1:]]
        self.check(f"a branch of {wish}", found.get(1, []), wanted)

    async def compare(self, wish: Wish) -> None:
        names = self.dice.sample(sorted({each.decoder for each in wishes()}), 4)
        lanes = [{"decoder": name, "settings": wish.settings} for name in names]
        async for reply in self.ask("mountCompare", action="compare", prompt=wish.prompt, lanes=lanes):
            if reply["kind"] == "lanes":
                found = await self.advance(reply["run"], lanes=True)
                for number, name in enumerate(names):
                    one = Wish(wish.prompt, name, wish.gen_length)
                    self.check(f"{one} in company", found.get(number, []), expected(one))

    async def reload(self, wish: Wish) -> None:
        run = await self.start(wish)
        await self.advance(run, steps=1)
        (await self.client.get("/")).raise_for_status()
        shown = await self.call("show", {"run": run})
        step = shown["payload"]["steps"][0]
        self.check(f"{wish} after a reload", [(step["tokens"], step["states"])], expected(wish), whole=False)

    async def leave(self, wish: Wish) -> None:
        await self.advance(await self.start(wish), leave_after=1)

    async def live(self, most: int) -> None:
        """One deed after the other, until so many decodes were made by all."""
        all_wishes, names = wishes(), list(DEEDS)
        while self.report.decodes < most:
            deed = self.dice.choices(names, list(DEEDS.values()))[0]
            wish = self.dice.choice(all_wishes)
            try:
                await asyncio.wait_for(getattr(self, deed)(wish), STUCK)
            except TimeoutError:
                self.report.stuck.append(f"{deed} {wish}")
            except (Refused, httpx.HTTPError, KeyError) as error:
                self.report.lost.append(f"{deed} {wish}: {type(error).__name__} {error}"[:300])
            self.report.deeds[deed] += 1


class Refused(Exception):
    """The page declined, in a sentence."""


def reply_in(message: dict[str, Any]) -> str | None:
    """The packed answer in a message: whole in the first, as a change of it in those that follow."""
    data = message.get("output", {}).get("data") or [{}]
    if isinstance(data[0], dict):
        return data[0].get("props", {}).get("reply")
    return next((value for _, path, value in data[0] if path == ["props", "reply"]), None)


def unpacked(text: str) -> dict[str, Any]:
    return json.loads(gzip.decompress(base64.b64decode(text)))


async def crowd(address: str, process: int, visitors: int, decodes: int, seed: int) -> Report:
    """So many visitors, until they have made so many decodes together."""
    report = Report()
    # The server closes a connection that nobody used for five seconds; a browser would ask again where that crosses.
    limits = httpx.Limits(max_connections=None, keepalive_expiry=2)
    async with httpx.AsyncClient(base_url=address, timeout=STUCK, limits=limits) as client:
        config = (await client.get("/config")).json()
        everybody = [Visitor(client, config, report, random.Random(f"{seed} {n}")) for n in range(visitors)]
        firsts = zip(everybody, one_each(visitors), strict=True)
        await asyncio.gather(*(each.decode(wish) for each, wish in firsts))  # everything is warm
        report.memory.append(memory_of(process))
        report.waits.clear()
        report.decodes, began, used = 0, time.perf_counter(), processor_of(process)

        async def look() -> None:
            """Memory goes up and down with every answer: what counts is the middle of a minute, or of a quarter."""
            seen: list[tuple[float, int]] = []
            while report.decodes < decodes:
                seen.append((time.perf_counter() - began, memory_of(process)))
                await asyncio.sleep(0.2)
            whole = time.perf_counter() - began
            span = min(60.0, whole / 4)
            for start in (span, whole - span):
                found = [each for at, each in seen if start <= at <= start + span]
                report.memory.append(int(statistics.median(found or [memory_of(process)])))

        await asyncio.gather(look(), *(each.live(decodes) for each in everybody))
        report.seconds, report.processor = time.perf_counter() - began, processor_of(process) - used
    return report


def soak(visitors: int, decodes: int, seed: int = 0, serial: bool = False) -> Report:
    """Start a page, send visitors, end it."""
    for name, value, most in (("visitors", visitors, 256), ("decodes", decodes, 1_000_000)):
        if not 1 <= value <= most:
            raise InputError(f"--{name} = {value} is not allowed; it must be a whole number from 1 to {most}")
    with served(*["--serial"] * serial) as (address, process):
        return asyncio.run(crowd(address, process, visitors, decodes, seed))
