"""Visitors over HTTP, without a browser: who leaves frees a place, who talks nonsense is told so, and a short soak."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest
from torch import Tensor

import dard
from dard.models.scripted import LOS_DIEGO, los_diego
from tests.helpers import aside, serving
from tests.visitors import Report, Visitor, Wish, soak, unpacked
from visual.page import build_page, launch_options
from visual.server.endpoints import TABLE, endpoints
from visual.server.programs import Programs
from visual.server.studio import Studio

LONG = Wish("The city of" + " [MASK]" * 100, "standard", None)


@pytest.fixture(scope="module")
def studio() -> Studio:
    """On a model that takes a twentieth of a second for a pass."""
    model = los_diego()
    quick = model.logits

    def slow(*call: Tensor) -> Tensor:
        time.sleep(0.05)
        return quick(*call)

    model.logits = slow  # type: ignore[method-assign]
    made = Studio(("embedded",))
    made.models.loaded["embedded"] = model
    return made


@pytest.fixture(scope="module")
def server(studio: Studio) -> Iterator[str]:
    page = build_page(studio)
    with serving(page, **launch_options()) as url:
        yield url


def visiting(server: str, deed: Callable[[Visitor], Awaitable[None]]) -> None:
    async def visit() -> None:
        async with httpx.AsyncClient(base_url=server, timeout=30) as client:
            config = (await client.get("/config")).json()
            await deed(Visitor(client, config, Report(), random.Random(0)))

    aside(asyncio.run, visit())


def test_no_table_of_all_questions_is_made_after_each(studio: Studio) -> None:
    """Under many visitors it took more memory with every question."""
    queue = build_page(studio)._queue
    queue.event_analytics["one"] = {"function": "decode", "status": "success", "process_time": 1.0}
    queue.events_recorded += 1
    assert queue.compute_analytics_summary([*queue.event_analytics.values()]) == {"functions": {}}


def test_a_closed_tab_frees_its_place(studio: Studio, server: str) -> None:
    found: list[str] = []

    async def leave(visitor: Visitor) -> None:
        found.append(await visitor.start(LONG))
        await visitor.advance(found[0], leave_after=1)
        assert Programs(studio).health()["under_way"] == 1

    visiting(server, leave)
    end = time.monotonic() + 3
    while Programs(studio).health()["under_way"] and time.monotonic() < end:
        time.sleep(0.05)
    assert Programs(studio).health()["under_way"] == 0
    assert not studio.runs.kept[found[0]].lanes[0].trace.finished


NONSENSE = [
    None, True, -1, 0, 1, 10**30, 0.5, 1e308, "", "dard", "<img src=x onerror=alert(1)>", "x" * 5000, "\u202e\x00",
    LOS_DIEGO, "[MASK]", "../../etc/passwd", [], {}, [[]] * 50, {"__class__": 1}, {"tau_c": "x"}, {"gen_length": 10**9},
    [{"decoder": "dard", "settings": {}}] * 4, [{"step": 0, "position": 4, "token": "a"}],
]  # fmt: skip
FIELDS = sorted({"action", "question", *(name for each in TABLE for name in each.request.model_fields)})


def test_nonsense_is_refused_and_the_page_lives_on(server: str, caplog: pytest.LogCaptureFixture) -> None:
    dice = random.Random(0)
    programs = endpoints(Programs(Studio()), "program")
    queued = [each.name for each in TABLE if each.queue and "page" in each.by]

    def nonsense(known: dict[str, Any]) -> Any:
        chosen = dice.sample(FIELDS, 8)
        return (
            known | {name: dice.choice(NONSENSE) for name in chosen} if dice.random() < 0.9 else dice.choice(NONSENSE)
        )

    async def talk(visitor: Visitor) -> None:
        run = await visitor.start(LONG)
        client, config = visitor.client, visitor.config
        parts = {each["id"]: each for each in config["components"] if "server_fns" in each["props"]}
        calls = [(number, name) for number, part in parts.items() for name in part["props"]["server_fns"]]
        assert len(calls) > 15
        for number, name in calls * 3:
            body = {"component_id": number, "fn_name": name, "session_hash": "s", "data": nonsense({"run": run})}
            answer = await client.post("/gradio_api/component_server", json=body)
            assert answer.status_code < 500, (name, body["data"])
            assert "could not do that" not in unpacked(answer.json()).get("text", ""), (name, body["data"])
        for event in config["dependencies"]:
            for _ in range(5):
                if event["api_visibility"] == "public":
                    name, count = event["api_name"], len(programs[event["api_name"]].request.model_fields)
                    body = {"data": [dice.choice(NONSENSE) for _ in range(count)]}
                    begun = (await client.post(f"/gradio_api/call/{name}", json=body)).json()["event_id"]
                    told = (await client.get(f"/gradio_api/call/{name}/{begun}")).text
                    assert told.startswith("event: complete") or '"error": "' in told, (name, body, told)
                else:
                    sent = nonsense({"run": run, "action": dice.choice(queued)})
                    body = {
                        "data": [],
                        "event_data": sent,
                        "fn_index": event["id"],
                        "session_hash": f"s{dice.random()}",
                    }
                    assert (await client.post("/gradio_api/queue/join", json=body)).status_code < 500, sent

    with caplog.at_level(logging.ERROR, logger="visual"):
        visiting(server, talk)
        visiting(server, steps)
    assert [record.getMessage() for record in caplog.records if record.name.startswith("visual")] == []


async def steps(visitor: Visitor) -> None:
    found = await visitor.advance(await visitor.start(LONG), steps=2)
    assert len(found[0]) == 2


def test_a_short_soak_ends_with_nothing_wrong_lost_or_stuck() -> None:
    report = aside(soak, 4, 20)
    assert (report.wrong, report.lost, report.stuck) == ([], [], [])
    assert report.decodes >= 20 and len(report.waits) > 10 and report.processor > 0
    with pytest.raises(dard.InputError, match="--visitors = 0"):
        soak(0, 20)
