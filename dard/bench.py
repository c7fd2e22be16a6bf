"""What a DARD step costs, as ratios measured in one run, on a random model of LLaDA's shape.

Machines are noisy: every pair that is compared is measured alternately, and medians are compared. Rows with a bar are
promises; those without say what the prefix cache would give and take. What it takes is told from the embedded model,
because the answers of a random one turn at the slightest change.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from rich.progress import Progress
from transformers import LlamaConfig, LlamaForCausalLM

from dard.decoders import get_decoder, make_settings, step
from dard.models import load_model
from dard.models.backbone import BackboneModel
from dard.models.base import Question
from dard.session import COMPARED, Session, decode, run_together
from dard.settings import Settings
from dard.state import DecodeState, InputError, initial_state
from dard.tasks import TASKS

BARS = {"a": 1.10, "b": 0.50, "c": 0.03, "d": 2.5, "e": 1.10}


class NumberTokenizer:
    """Stands in for a tokenizer: the benchmark's prompts are ids already."""

    unk_token_id = None

    def decode(self, ids: list[int], **_: Any) -> str:
        return " ".join(map(str, ids))


def random_model(hidden: int, layers: int, vocab: int, length: int) -> BackboneModel:
    """LLaDA's shape in small, with weights large enough that predictions differ from position to position."""
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=hidden,
        intermediate_size=3 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=max(1, hidden // 64),
        num_key_value_heads=max(1, hidden // 64),
        vocab_size=vocab,
        max_position_embeddings=length,
        initializer_range=0.1,
        tie_word_embeddings=False,
        attn_implementation="sdpa",
    )
    network = LlamaForCausalLM(config)
    return BackboneModel(network, NumberTokenizer(), mask_id=vocab - 1, eos_id=None, name="random", max_length=length)


# Eighths of a block, spread over it: the beginning, the middle and the end of a decode.
MOMENTS = {"beginning": "MMMMMMMM", "middle": "MMCMUMCU", "end": "UUCUUMUU"}


def moment(model: BackboneModel, settings: Settings, letters: str, prompt: int) -> DecodeState:
    """A state in the first block, with random tokens where the pattern `letters` has C or U."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(0, model.vocab_size - 1, (prompt,), generator=generator).tolist()
    state = initial_state(model, ids, settings.gen_length, settings.block_length)
    block = state.block_length
    states = (letters * block)[:block] + "M" * (len(state.tokens) - block)
    tokens, confidence = list(state.tokens), list(state.confidence)
    for i in range(block):
        if states[i] != "M":
            tokens[i] = int(torch.randint(0, model.vocab_size - 1, (1,), generator=generator))
            confidence[i] = 0.6 + 0.4 * float(torch.rand(1, generator=generator))
    values = tuple(confidence)
    state = replace(state, tokens=tuple(tokens), states=states, confidence=values, reliability=values)
    return replace(state, memory=get_decoder("dard").begin_block(settings, state))


def plain_step(model: BackboneModel, question: Question) -> torch.Tensor:
    """The plain way: the head on all rows, float64 softmax over all of them."""
    with torch.inference_mode():
        logits = model.network(
            input_ids=question.ids[None],
            attention_mask=question.mask[None, None],
            position_ids=question.positions[None],
            use_cache=False,
        ).logits
        p = torch.softmax(logits.double(), dim=-1)
        return p.max(dim=-1).values


def alternate(repeats: int, calls: dict[str, Callable[[], Any]], tick: Callable[[], None]) -> dict[str, float]:
    """Median seconds of each call, taken in turns after one warm-up."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(repeats + 1):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            if number:
                times[name].append(time.perf_counter() - began)
            tick()
    return {name: statistics.median(values) for name, values in times.items()}


def peak_extra_bytes(call: Callable[[], Any]) -> int | None:
    """How far the resident memory of this process rises above its present level during a call (Linux only)."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not reset.exists():
        return None
    gc.collect()

    def kilobytes(field: str) -> int:
        return int(next(line for line in status.read_text().splitlines() if line.startswith(field)).split()[1])

    try:
        reset.write_text("5")  # forget the highest level so far
    except OSError:
        return None
    before = kilobytes("VmRSS")
    call()
    return (kilobytes("VmHWM") - before) * 1024


def prefix_seconds(
    model: BackboneModel, values: dict[str, Any], prompt: int, repeats: int, tick: Callable[[], None]
) -> dict[str, float]:
    """A step in the middle of a block, without and with the prompt's keys and values of the block's beginning."""
    decoder = get_decoder("dard")
    ways = {how: make_settings("dard", values | {"prefix_cache": how}) for how in ("off", "block")}
    opening, state = (moment(model, ways["off"], MOMENTS[name], prompt) for name in ("beginning", "middle"))
    state = replace(state, opening=opening)
    return alternate(
        repeats,
        {how: partial(step, decoder, model, settings, state, record=False) for how, settings in ways.items()},
        tick,
    )


def prefix_changes(count: int, tick: Callable[[], None]) -> tuple[int, int]:
    """Of the tokens all decoders write on the embedded model for so many sums: how many the cache changes, and all."""
    model, changed, total = load_model("embedded"), 0, 0
    for item in TASKS["arithmetic"].test_items(count):
        for name in COMPARED:
            plain, cached = (
                decode(model, item.prompt, name, gen_length=item.gen_length, block_length=8, prefix_cache=how).tokens
                for how in ("off", "block")
            )
            changed += sum(a != b for a, b in zip(plain, cached, strict=True))
            total += len(plain)
        tick()
    return changed, total


def run_bench(small: bool = False, repeats: int = 7, bar: Progress | None = None) -> dict[str, Any]:
    """Measure everything. `small` is a model of a second's work, for trying the command and for tests."""
    if repeats < 1 or repeats > 1000:
        raise InputError(f"--repeats = {repeats} is not allowed; it must be a whole number from 1 to 1000")
    hidden, layers, vocab, prompt, region, block = (
        (64, 2, 8192, 16, 32, 16) if small else (512, 8, 126464, 128, 256, 128)
    )
    long_prompt, sums = (64, 1) if small else (1024, 10)  # a picture is 1024 tokens to MMaDA
    task = bar.add_task("bench", total=11 * (repeats + 1) + sums) if bar else None

    def tick() -> None:
        if bar is not None and task is not None:
            bar.advance(task)

    model = random_model(hidden, layers, vocab, long_prompt + region)
    values = {"gen_length": region, "block_length": block}
    decoder, settings = get_decoder("dard"), make_settings("dard", values)
    states = {name: moment(model, settings, letters, prompt) for name, letters in MOMENTS.items()}
    state = states["middle"]
    question = decoder.ask(model, settings, state)

    def bare() -> None:
        model.logits(question.ids, question.positions, question.mask, question.rows)

    def one_step() -> None:
        step(decoder, model, settings, state, record=False)

    one = alternate(repeats, {"bare": bare, "step": one_step, "plain": lambda: plain_step(model, question)}, tick)

    def whole_decode(record: bool) -> Callable[[], None]:
        """One step at each moment, as a session makes it."""
        session = Session(model, list(state.prompt), "dard", record=record, gen_length=region, block_length=block)

        def call() -> None:
            for each in states.values():
                session._states[-1] = each
                session.step()

        return call

    runs = alternate(repeats, {"recorded": whole_decode(True), "unrecorded": whole_decode(False)}, tick)
    compared = random_model(64, 2, 512, 64)

    def four() -> list[Session]:
        return [Session(compared, list(range(8)), name, gen_length=24) for name in COMPARED]

    def one_after_the_other() -> None:
        for session in four():
            session.run()

    lanes = alternate(repeats, {"together": lambda: run_together(four()), "alone": one_after_the_other}, tick)
    needed = len(question.rows) * vocab * 4
    peak = peak_extra_bytes(lambda: step(decoder, model, settings, state, record=True))
    prefix = {each: prefix_seconds(model, values, each, repeats, tick) for each in (prompt, long_prompt)}
    changed, total = prefix_changes(sums, tick)

    def row(key: str, what: str, value: float | None, shown: str) -> dict[str, Any]:
        limit = BARS.get(key)
        return {
            "key": key,
            "what": what,
            "value": value,
            "shown": shown,
            "bar": limit,
            "bar_shown": "" if limit is None else f"≤ {limit:g}" if key != "c" else f"≤ {limit:.0%}",
            "holds": None if limit is None else value is not None and value <= limit,
        }

    a, b = one["step"] / one["bare"], one["step"] / one["plain"]
    c = runs["recorded"] / runs["unrecorded"] - 1
    d = None if peak is None else peak / needed
    e = lanes["together"] / lanes["alone"]
    f, g = (times["block"] / times["off"] for times in prefix.values())
    return {
        "setup": (
            f"random model: hidden {hidden}, {layers} layers, vocabulary {vocab}; prompt {prompt}, "
            f"generation {region}, block {block}; {len(question.rows)} rows of logits; "
            f"{torch.get_num_threads()} threads; median of {repeats}"
        ),
        "seconds": {
            **{f"one_{k}": v for k, v in one.items()},
            **{f"decode_{k}": v for k, v in runs.items()},
            **{f"compare_{k}": v for k, v in lanes.items()},
            **{f"prefix_{size}_{k}": v for size, times in prefix.items() for k, v in times.items()},
        },
        "rows": [
            row("a", "a DARD step / the bare forward pass with the same rows", a, f"{a:.3f}"),
            row("b", "a DARD step / a step the plain way (head and float64 softmax on all rows)", b, f"{b:.3f}"),
            row("c", "recording the trace, as a share of a decode (its beginning, middle and end)", c, f"{c:.1%}"),
            row("d", "peak extra memory of a step / float32 logits of its rows", d, "—" if d is None else f"{d:.2f}"),
            row("e", "four decoders compared / the same decodes one after the other", e, f"{e:.3f}"),
            row("f", f"a DARD step with the prefix cache / without, prompt {prompt}", f, f"{f:.3f}"),
            row("g", f"a DARD step with the prefix cache / without, prompt {long_prompt}", g, f"{g:.3f}"),
            row(
                "h",
                "tokens the prefix cache changes: four decoders, the embedded model, sums in blocks of 8",
                changed / total,
                f"{changed} of {total}",
            ),
        ],
    }
