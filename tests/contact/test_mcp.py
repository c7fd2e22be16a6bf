"""The page's endpoints as tools of an assistant, through a client of mcp itself."""

from __future__ import annotations

import asyncio
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from dard.models.scripted import LOS_DIEGO
from tests.helpers import aside, started
from tests.test_package import ROOT


def test_an_assistant_asks_why_a_token_was_revoked() -> None:
    async def conversation(url: str) -> tuple[set[str], str, str, str]:
        async with (
            streamable_http_client(f"{url}gradio_api/mcp/") as (reading, writing, _),
            ClientSession(reading, writing) as assistant,
        ):
            await assistant.initialize()
            tools = {tool.name for tool in (await assistant.list_tools()).tools}
            asked = {"prompt": LOS_DIEGO, "settings": {"tau_c": 0.4, "tau_u": 0.5}}
            told = await assistant.call_tool("explain", asked)
            bad = await assistant.call_tool("explain", {**asked, "settings": {"tau_c": 7}})
            lost = {"prompt": LOS_DIEGO, "decoder": "standard", "settings": {"steps": 1}}
            why = await assistant.call_tool("diagnose", lost)
            return tools, *(each.content[0].text for each in (told, bad, why))  # type: ignore[return-value, union-attr]

    with started([sys.executable, "app.py", "--mcp"], ROOT) as url:
        tools, told, bad, why = aside(asyncio.run, conversation(url))
    assert {"decode", "compare", "step", "explain", "diagnose", "health"} <= tools
    assert "'Diego' at 4 was revoked" in told and "Los Angeles" in told
    assert "tau_c" in bad and "Lost in step 1: 'Los' at 3 and 'Diego' at 4 were written in the same pass" in why
