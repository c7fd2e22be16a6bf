"""What a step costs on this machine, beside what it cost where the paper measured it.

Promises: a bare pass is timed beside every step; only the ratios carry over from one machine to another.
Does not know: whether a machine is busy.
"""

from __future__ import annotations

import time
from typing import Any

import torch

from dard.checkup.decoders import start
from dard.checkup.report import Notes
from dard.decoding.loop import finish
from dard.decoding.session import COMPARED, Session
from dard.experiments.cost import bare_pass, cost_of
from dard.experiments.published import LATENCY, Line
from dard.experiments.timing import seconds
from dard.models.base import Model
from dard.models.memory import GB
from dard.results.sweep import title_of

BLOCK = 32  # positions of a block that is timed, where no block is prescribed
BATCH = 4
MEASURED = ("Step (ms)", "Peak memory (GB)")


def speed(notes: Notes, model: Model) -> None:
    """A line for every decoder that is compared by default, and one for a batch."""
    prompt, length, block = start(model, 2 * BLOCK)
    told: dict[str, Any] = {"gen_length": length, "temperature": 0.0, "prefix_cache": "off"}
    bare = bare_pass(Session(model, prompt, **told, block_length=block))
    bare()  # the first pass is slower
    for name in COMPARED:
        found = cost_of(Session(model, prompt, name, **told, block_length=block))
        step, ratio = found["step_seconds"], found["step_seconds"] / found["bare_seconds"]
        peak = ""
        if found["memory"] and found["bare_memory"]:
            peak = (
                f", {found['memory'] / GB:.2f} GB at most, {found['memory'] / found['bare_memory']:.2f} times as much"
            )
        words = (
            f"{1000 * step:.1f} ms a step in blocks of {block}, {ratio:.2f} times a bare pass of "
            f"{1000 * found['bare_seconds']:.1f} ms{peak}{beside(name)}."
        )
        notes.add("ok", f"{title_of(name)} step", words, ratio=ratio, block=block, **found)
    throughput(notes, model, prompt, told | {"block_length": block})


def beside(decoder: str) -> str:
    """The paper's figures for a decoder, as ratios to its plain step."""
    plain = plain_line()
    if plain.decoder == decoder:
        return ""
    of = [line for line in LATENCY.lines if line.decoder == decoder]
    shown = ", ".join(
        f"{line.settings['block_length']}: "
        + " and ".join(f"{line.values[of] / plain.values[of]:.2f}" for of in MEASURED)
        for line in of
    )
    return f" (paper, time and memory by block: {shown})" if of else ""


def plain_line() -> Line:
    """The paper's step without shadow and revocation."""
    return min(LATENCY.lines, key=lambda line: line.values["Step (ms)"])


def throughput(notes: Notes, model: Model, prompt: list[int], told: dict[str, Any]) -> None:
    """Tokens per second of whole decodes, alone and four at a time."""
    rates = []
    for count in (1, BATCH):
        sessions = [Session(model, prompt, record=False, **told) for _ in range(count)]
        began = time.perf_counter()
        finish(sessions)
        if model.device.type == "cuda":
            torch.cuda.synchronize(model.device)
        rates.append(count * told["gen_length"] / (time.perf_counter() - began))
    pair = [seconds(bare_pass(Session(model, prompt, **told)), model.device) for _ in range(3)]
    words = (
        f"{rates[0]:.0f} tokens a second alone, {rates[1]:.0f} in a batch of {BATCH} "
        f"({rates[1] / rates[0]:.1f} times as many); a bare pass takes {1000 * min(pair):.1f} ms."
    )
    notes.add("ok", "throughput", words, alone=rates[0], batch=rates[1])
