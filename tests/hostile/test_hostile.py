"""Every attack of the table against one real server: what comes back, how long it takes and how much memory; and that
whoever came without bad intent noticed nothing."""

from __future__ import annotations

import asyncio
import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import cycle
from pathlib import Path

import httpx
import pytest

from tests.helpers import aside
from tests.hostile.attacks import ATTACKS, EXPERIMENT, Attack, stranger
from tests.visitors import crowd, memory_of, served, wishes
from visual.door import host_name, matches, policy

MEGABYTE = 1 << 20
KEPT_AT_MOST = 60  # megabytes more than before, after everything


class Server:
    """A page in a process of its own."""

    def __init__(self, address: str, process: int) -> None:
        self.address, self.process = address, process
        self.before = memory_of(process)

    def visit(self, deed: Callable, seed: object = 0) -> object:  # type: ignore[type-arg]
        """Let somebody do something."""

        async def go() -> object:
            async with httpx.AsyncClient(
                base_url=self.address, timeout=30, limits=httpx.Limits(max_connections=None)
            ) as client:
                config = (await client.get("/config")).json()
                return await deed(stranger(client, config, seed))

        return aside(asyncio.run, go())

    def holds(self) -> tuple[int, int]:
        """Its threads and open files; nothing where the system does not tell."""
        folders = [Path(f"/proc/{self.process}/{name}") for name in ("task", "fd")]
        threads, files = (len([*each.iterdir()]) if each.is_dir() else 0 for each in folders)
        return threads, files

    def forget_peak(self) -> None:
        Path(f"/proc/{self.process}/clear_refs").write_text("5")

    def peak(self) -> int:
        """The most memory since then."""
        status = Path(f"/proc/{self.process}/status").read_text()
        return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) << 10


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with served("--model", "embedded") as (address, process):
        made = Server(address, process)
        made.visit(innocent)  # everything is warm
        made.before = memory_of(process)
        yield made


async def innocent(one):  # type: ignore[no-untyped-def]
    """Somebody decodes a prompt and asks how the server is; both are answered, and the steps are right."""
    await one.decode(wishes()[0])
    assert not one.report.wrong, one.report.wrong
    begun = (await one.client.post("/gradio_api/call/health", json={"data": []}, headers=one.headers)).json()
    told = (await one.client.get(f"/gradio_api/call/health/{begun['event_id']}")).text
    assert told.startswith("event: complete"), told


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])
def test_an_attack_gets_a_sentence_and_little_else(attack: Attack, server: Server) -> None:
    measured = Path("/proc/self/clear_refs").exists()
    before = memory_of(server.process)
    if measured:
        server.forget_peak()
    began = time.monotonic()
    answer = server.visit(attack.deed, attack.name)
    seconds = time.monotonic() - began
    assert re.search(attack.back, str(answer), re.S), str(answer)[:500]
    if measured:
        assert server.peak() - before < attack.megabytes * MEGABYTE, f"{(server.peak() - before) / MEGABYTE:.0f} MB"
    assert seconds < 10 * attack.seconds  # a busy machine takes longer; a bomb took minutes


def test_afterwards_the_page_is_as_it_was(server: Server, figure: Callable[[str], None]) -> None:
    server.visit(innocent, "afterwards")
    more = (memory_of(server.process) - server.before) / MEGABYTE

    async def experiment(one):  # type: ignore[no-untyped-def]
        """What nobody listened to has left, so there is a place for this one."""
        end = time.monotonic() + 40
        while (answer := await one.join("mountLab", {"action": "experiment", "question": "mine", **EXPERIMENT}))[
            :3
        ] != "200":
            assert time.monotonic() < end, answer
            await asyncio.sleep(0.5)

    server.visit(experiment, "afterwards")
    figure(f"{len(ATTACKS)} attacks left the server with {more:.0f} MB more than before")
    assert more < KEPT_AT_MOST


def test_who_may_ask_may_also_frame_the_page_from_any_port() -> None:
    framing = policy(("school.example",), on_space=False).rpartition("frame-ancestors ")[2].split()
    assert framing == ["'self'", "https://school.example:*", "http://school.example:*"]
    assert matches(host_name("http://school.example:8000"), ("school.example",))


@pytest.mark.long
def test_many_visitors_among_attacks_lose_nothing(figure: Callable[[str], None]) -> None:
    """64 visitors and 10,000 decodes; some leave or reload in the middle, and strangers do what they can meanwhile.
    Fewer are asked for by DARD_SOAK=visitors,decodes."""
    visitors, decodes = map(int, os.environ.get("DARD_SOAK", "64,10000").split(","))
    with served("--model", "embedded") as (address, process):
        made = Server(address, process)
        made.visit(innocent)
        before = made.holds()
        over = threading.Event()

        def attack() -> None:
            for attack in cycle(ATTACKS):
                if over.is_set():
                    return
                with suppress(httpx.HTTPError, AssertionError):
                    made.visit(attack.deed, random.random())

        strangers = threading.Thread(target=attack)
        strangers.start()
        try:
            report = asyncio.run(crowd(address, process, visitors, decodes, 0))
        finally:
            over.set()
            strangers.join()
        figure("; ".join(f"{name} {value}" for name, value in report.rows()))
        assert (report.wrong, report.lost, report.stuck) == ([], [], [])
        _, second, last = report.memory
        figure(
            f"memory {second / MEGABYTE:.0f} → {last / MEGABYTE:.0f} MB; threads and files {before} → {made.holds()}"
        )
        assert last < 1.05 * second
        end = time.monotonic() + 60
        while (left := made.holds()) and any(now > was + 8 for now, was in zip(left, before, strict=True)):
            assert time.monotonic() < end, (before, left)
            time.sleep(1)
