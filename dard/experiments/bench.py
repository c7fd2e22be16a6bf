"""What a step costs, DARD's and the rivals', as ratios measured in one run, on a random model of LLaDA's shape.

Machines are noisy: every pair that is compared is measured alternately, and medians are compared. Rows with a bar are
promises; those without say what the prefix cache would give and take. What it takes is told from the embedded model,
because the answers of a random one turn at the slightest change.
"""

from __future__ import annotations

import copy
import gc
import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from rich.progress import Progress
from transformers import LlamaConfig, LlamaForCausalLM

from dard.analysis.causes import causes
from dard.analysis.diagnosis import diagnosing
from dard.core.errors import InputError
from dard.core.prompt import initial_state
from dard.core.settings import Settings
from dard.core.state import DecodeState
from dard.decoders import get_decoder, make_settings
from dard.decoding import loop
from dard.decoding.loop import one_step
from dard.decoding.scheduler import Scheduler
from dard.decoding.session import COMPARED, Session, comparison, decode
from dard.experiments.timing import Times, alternate, peak_during, ratio
from dard.models import load_model
from dard.models.backbone import BackboneModel
from dard.models.base import Answer, Question
from dard.recording import record
from dard.tasks import TASKS
from dard.trace import Diagnosis

BARS = {
    "a": 1.05, "b": 0.40, "c": 0.03, "d": 1.5, "e": 0.6, "i": 1.3, "j": 1.6, "l": 1.05, "m": 1.15, "n": 8.0, "o": 0.4,
    "p": 1.05, "q": 1.3,
}  # fmt: skip
RIVALS = ("dapd", "remix", "edit")  # rows i, j and k
VISITORS = (16, 1)  # rows o and p


class NumberTokenizer:
    """Stands in for a tokenizer: the benchmark's prompts are ids already."""

    unk_token_id = None
    all_special_ids: tuple[int, ...] = ()

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


def rival_seconds(
    model: BackboneModel, name: str, values: dict[str, Any], prompt: int, repeats: int, tick: Callable[[], None]
) -> Times:
    """A step of a decoder in the middle of a block, and the bare forward pass with the same rows. It is the third step:
    what looks back at earlier passes does so by then."""
    decoder, settings = get_decoder(name), make_settings(name, values)
    state = moment(model, settings, MOMENTS["middle"].replace("C", "U"), prompt)
    state = replace(state, memory=decoder.begin_block(settings, replace(state, memory=None)), record=False)
    for _ in range(2):
        state = one_step(decoder, model, settings, state)[1]
    question = decoder.ask(model, settings, state)
    return alternate(
        repeats,
        {
            "bare": lambda: model.logits(question.ids, question.positions, question.mask, question.rows),
            "step": partial(one_step, decoder, model, settings, state),
        },
        tick,
    )


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


def prefix_seconds(
    model: BackboneModel, values: dict[str, Any], prompt: int, repeats: int, tick: Callable[[], None]
) -> Times:
    """A step in the middle of a block, without and with the prompt's keys and values of the block's beginning."""
    decoder = get_decoder("dard")
    ways = {how: make_settings("dard", values | {"prefix_cache": how}) for how in ("off", "block")}
    opening, state = (moment(model, ways["off"], MOMENTS[name], prompt) for name in ("beginning", "middle"))
    state = replace(state, opening=opening, record=False)
    return alternate(
        repeats,
        {how: partial(one_step, decoder, model, settings, state) for how, settings in ways.items()},
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


# Settings under which the four need about as many passes: where one goes on alone there is nothing to share.
ALIKE: dict[str, Any] = {"n": 6, "per_pass": 4}


def compare_seconds(repeats: int, tick: Callable[[], None]) -> tuple[Times, str]:
    """A sum on the embedded model with four decoders, in shared passes and one after the other; and their passes."""
    model, item = load_model("embedded"), TASKS["arithmetic"].test_items(1)[0]

    def four() -> list[Session]:
        return list(comparison(model, item.prompt, gen_length=item.gen_length, **ALIKE).values())

    def alone() -> None:
        for session in four():
            session.run()

    times = alternate(repeats, {"together": lambda: loop.finish(four()), "alone": alone}, tick)
    sessions = four()
    loop.finish(sessions)
    return times, ", ".join(f"{s.decoder.name} {len(s.steps)}" for s in sessions)


def foreign_loop(model: BackboneModel, prompt: int, region: int) -> None:
    """Two passes of a plain sampler that is not ours, each committing an eighth of the region."""
    ids = torch.arange(prompt + region)[None] % (model.vocab_size - 1)
    ids[:, prompt:] = model.mask_id
    with torch.no_grad():
        for _ in range(2):
            p, token = model.network(ids, use_cache=False).logits.softmax(-1).max(-1)
            best = p[0].masked_fill(ids[0] != model.mask_id, -1).topk(region // 8).indices
            ids[0, best] = token[0, best]


def recording_seconds(model: BackboneModel, prompt: int, region: int, repeats: int, tick: Callable[[], None]) -> Times:
    """That loop by itself, recorded, and recorded with the top 5 of every masked position."""

    def recorded(top: bool) -> None:
        with record(model.network, mask_id=model.mask_id, top=top):
            foreign_loop(model, prompt, region)

    calls: dict[str, Callable[[], Any]] = {
        "bare": partial(foreign_loop, model, prompt, region),
        "recorded": partial(recorded, False),
        "with_top": partial(recorded, True),
    }
    return alternate(repeats, calls, tick)


def causes_seconds(repeats: int, tick: Callable[[], None]) -> Times:
    """The causes of one verdict in a template of 24 tokens on the embedded model, and one pass over that template."""
    city = " The city of [MASK] [MASK] is on the Southern California coast ."
    session = Session(load_model("embedded"), 2 * city, tau_c=0.4, tau_u=0.5)
    session.run()
    position = session.state.fixed.index(False)
    question = loop.ask(session.decoder, session.model, session.settings, session.at(1).state)
    return alternate(
        repeats,
        {
            "causes": lambda: causes(session, 2, position, shown=False),
            "pass": lambda: session.model.logits(question.ids, question.positions, question.mask, question.rows),
        },
        tick,
    )


def diagnosis_seconds(repeats: int, tick: Callable[[], None]) -> tuple[Times, str]:
    """The diagnosis of a wrong Sudoku up to its kind, on the embedded model, and its passes over the same rows, shared
    in the same way, and nothing else; and how many those are."""
    model: Any = copy.copy(load_model("embedded"))
    session = Session(model, TASKS["sudoku-open"].test_items(8, seed=5)[4].prompt, "standard", gen_length=16, steps=4)
    session.run()
    answer, batches = model.answer, list[list[Question]]()

    def search() -> Diagnosis:
        return next(diagnosis for diagnosis in diagnosing(session) if diagnosis.kind is not None)

    def noted(questions: list[Question]) -> list[Answer]:
        batches.append(questions)
        return answer(questions)

    model.answer = noted
    diagnosis = search()
    model.answer = answer
    times = alternate(repeats, {"diagnosis": search, "passes": lambda: [answer(each) for each in batches]}, tick)
    return times, f"{diagnosis.passes} passes in {len(batches)} shared ones, {diagnosis.rows} rows"


def visitor_seconds(visitors: int, repeats: int, tick: Callable[[], None]) -> Times:
    """So many visitors of the embedded model, each with three decodes one after the other, on shared passes and each in
    turn. The prompts are of all worlds in turn."""
    model = load_model("embedded")
    items = [item for group in zip(*(task.test_items(3) for task in TASKS.values()), strict=True) for item in group]

    def visit(scheduler: Scheduler, number: int) -> None:
        for item in (items[(number + each) % len(items)] for each in range(3)):
            own = {} if item.gen_length is None else {"gen_length": item.gen_length}
            for _ in scheduler.passes([Session(model, item.prompt, **own)]):
                pass

    def crowd(together: bool) -> None:
        scheduler = Scheduler()
        scheduler.together = together
        with ThreadPoolExecutor(visitors) as everybody:
            list(everybody.map(partial(visit, scheduler), range(visitors)))

    return alternate(repeats, {"shared": partial(crowd, True), "serial": partial(crowd, False)}, tick)


def run_bench(small: bool = False, repeats: int = 7, bar: Progress | None = None) -> dict[str, Any]:
    """Measure everything. `small` is a model of a second's work, for trying the command and for tests."""
    if repeats < 1 or repeats > 1000:
        raise InputError(f"--repeats = {repeats} is not allowed; it must be a whole number from 1 to 1000")
    hidden, layers, vocab, prompt, region, block = (
        (64, 2, 8192, 16, 32, 16) if small else (512, 8, 126464, 128, 256, 128)
    )
    long_prompt, sums = (64, 1) if small else (1024, 10)  # a picture is 1024 tokens to MMaDA
    task = (
        bar.add_task("bench", total=(20 + 2 * len(RIVALS)) * (repeats + 1) + 2 * (2 * repeats + 1) + sums)
        if bar
        else None
    )

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

    unwatched = {name: replace(each, record=False) for name, each in states.items()}

    def a_step() -> None:
        one_step(decoder, model, settings, unwatched["middle"])

    one = alternate(repeats, {"bare": bare, "step": a_step, "plain": lambda: plain_step(model, question)}, tick)

    def three_steps(moments: dict[str, DecodeState]) -> Callable[[], None]:
        def call() -> None:
            for each in moments.values():
                one_step(decoder, model, settings, each)

        return call

    runs = alternate(2 * repeats, {"recorded": three_steps(states), "unrecorded": three_steps(unwatched)}, tick)
    lanes, passes = compare_seconds(repeats, tick)
    needed = len(question.rows) * vocab * 4
    gc.collect()
    memory = peak_during(lambda: one_step(decoder, model, settings, state))
    prefix = {each: prefix_seconds(model, values, each, repeats, tick) for each in (prompt, long_prompt)}
    changed, total = prefix_changes(sums, tick)
    rivals = {name: rival_seconds(model, name, values, prompt, repeats, tick) for name in RIVALS}
    foreign = recording_seconds(model, prompt, region, repeats, tick)
    hidings = causes_seconds(repeats, tick)
    searches, searched = diagnosis_seconds(repeats, tick)
    visits = {count: visitor_seconds(count, repeats, tick) for count in VISITORS}

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

    a, b = ratio(one, "step", "bare"), ratio(one, "step", "plain")
    c = ratio(runs, "recorded", "unrecorded") - 1
    d = None if memory is None else (memory[1] - memory[0]) / needed
    e = ratio(lanes, "together", "alone")
    f, g = (ratio(times, "block", "off") for times in prefix.values())
    o, p = (ratio(times, "shared", "serial") for times in visits.values())
    l, m = (ratio(foreign, way, "bare") for way in ("recorded", "with_top"))
    n = ratio(hidings, "causes", "pass")
    q = ratio(searches, "diagnosis", "passes")
    return {
        "setup": (
            f"random model: hidden {hidden}, {layers} layers, vocabulary {vocab}; prompt {prompt}, "
            f"generation {region}, block {block}; {len(question.rows)} rows of logits; "
            f"{torch.get_num_threads()} threads; median of {repeats}"
        ),
        "seconds": {
            f"{what}_{name}": statistics.median(values)
            for what, times in {
                "one": one,
                "decode": runs,
                "compare": lanes,
                "foreign": foreign,
                "causes": hidings,
                "diagnosis": searches,
                **{f"prefix_{size}": times for size, times in prefix.items()},
                **rivals,
                **{f"visitors_{count}": times for count, times in visits.items()},
            }.items()
            for name, values in times.items()
        },
        "rows": [
            row("a", "a DARD step / the bare forward pass with the same rows", a, f"{a:.3f}"),
            row("b", "a DARD step / a step the plain way (head and float64 softmax on all rows)", b, f"{b:.3f}"),
            row("c", "recording the trace, as a share of a decode (its beginning, middle and end)", c, f"{c:.1%}"),
            row("d", "peak extra memory of a step / float32 logits of its rows", d, "—" if d is None else f"{d:.2f}"),
            row(
                "e",
                f"four decoders compared / the same decodes one after the other, embedded model, passes {passes}",
                e,
                f"{e:.3f}",
            ),
            row("f", f"a DARD step with the prefix cache / without, prompt {prompt}", f, f"{f:.3f}"),
            row("g", f"a DARD step with the prefix cache / without, prompt {long_prompt}", g, f"{g:.3f}"),
            row(
                "h",
                "tokens the prefix cache changes: four decoders, the embedded model, sums in blocks of 8",
                changed / total,
                f"{changed} of {total}",
            ),
            *(
                row(
                    key,
                    f"a step of {get_decoder(name).title} / the bare forward pass with the same rows",
                    step := ratio(times, "step", "bare"),
                    f"{step:.3f}",
                )
                for key, (name, times) in zip("ijk", rivals.items(), strict=True)
            ),
            row("l", "a sampler of someone else's, recorded without the top 5 / the same unrecorded", l, f"{l:.3f}"),
            row("m", "the same, recorded with the top 5 of every masked position", m, f"{m:.3f}"),
            row(
                "n",
                "the causes of a verdict, 24 tokens of a template / one pass over it, embedded model",
                n,
                f"{n:.2f}",
            ),
            row(
                "o", f"{VISITORS[0]} visitors on shared passes / one run after the other, embedded model", o, f"{o:.3f}"
            ),
            row("p", "a single visitor, in the same way", p, f"{p:.3f}"),
            row("q", f"a diagnosis up to its kind / its {searched}, and nothing else, embedded model", q, f"{q:.3f}"),
        ],
    }
