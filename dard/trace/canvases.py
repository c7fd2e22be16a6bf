"""Passes over canvases of noise, collected by whoever saw them, as a trace: several canvases are one text.

Promises: the text is what was committed; what nobody measured is None. Numbers are read off logits a few rows at a
time, on their device, by the tensors' own methods: nothing of torch is imported here.
Does not know: the sampler, or which of its doors the passes came through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dard.core.errors import InputError
from dard.trace.frames import writing
from dard.trace.limits import MAX_LENGTH, MAX_STEPS, MAX_TEXT, MAX_TOKEN_TEXT, TOP_K
from dard.trace.noise import (
    ABOUT,
    BOUND,
    COMMITTED,
    LAST_PASS,
    MEAN,
    NAME,
    NOISE,
    STABLE,
    TEMPERATURE,
    drafts_moved,
    happened,
    note,
    say,
    state_of,
    sums_before,
)
from dard.trace.records import Start, Step, StepContext, Top
from dard.trace.trace import Trace
from dard.trace.words import Words

SLICE_VALUES = 1 << 22  # of logits looked at together
SURE = 0.005  # mean entropy below which diffusers' pipeline takes a canvas that is stable


@dataclass
class CanvasPass:
    """A pass over the canvas of one row. `drafts` are the most probable tokens; `after` is the canvas that the next
    pass finds and `accepted` what of it the sampler wrote: None where nobody knows."""

    drafts: list[int]
    after: list[int] | None = None
    accepted: list[bool] | None = None
    confidence: list[float] | None = None
    entropy: list[float] | None = None
    top: tuple[int, list[int], list[int]] | None = None  # how many each, ids and ten-thousandths
    facts: Mapping[str, float] = field(default_factory=dict)
    seconds: tuple[float, float] = (0.0, 0.0)


@dataclass
class Canvas:
    """A canvas of one row: what it began as, its passes, and what was committed, which is None until then."""

    noise: list[int] | None = None
    passes: list[CanvasPass] = field(default_factory=list)
    committed: list[int] | None = None
    ended_by: str = ""


def measured(logits: Any, temperature: float | None = None, top: int = TOP_K) -> list[dict[str, Any]]:
    """What logits [B, L, vocabulary] tell of every row of a batch, as `CanvasPass` takes it."""
    rows, length, vocabulary = logits.shape
    flat = logits.detach().reshape(rows * length, vocabulary)
    entropy: list[float] = []
    ids: list[list[int]] = []
    shares: list[list[float]] = []
    count = min(max(1, top), vocabulary)
    for part in flat.split(max(1, SLICE_VALUES // vocabulary)):
        logs = (part if temperature is None else part / temperature).float()
        logs = logs - logs.logsumexp(-1, keepdim=True)
        likely = logs.softmax(-1)
        entropy += (-(logs.clamp(min=-1e30) * likely).sum(-1)).clamp(min=0).tolist()
        best, index = likely.topk(count, dim=-1)
        ids += index.tolist()
        shares += best.clamp(max=1).tolist()
    first = flat.argmax(-1).tolist()  # as samplers take it, should there be a tie
    found = []
    for row in range(rows):
        here = slice(row * length, (row + 1) * length)
        kept = [(p, each) for p, each in zip(shares[here], ids[here], strict=True)]
        found.append(
            {
                "drafts": first[here],
                "entropy": entropy[here],
                "confidence": [p[0] for p, _ in kept],
                "top": (
                    count,
                    [token for _, each in kept for token in each],
                    [min(10_000, round(10_000 * share)) for p, _ in kept for share in p],
                )
                if top
                else None,
            }
        )
    return found


def within(entropy: Any, bound: float) -> Any:
    """Which positions an entropy bound accepts, of entropies [B, L]: the surest, while all before stay within it."""
    ordered, index = entropy.sort(-1)
    accepted = ordered.cumsum(-1) - ordered <= bound
    return accepted.new_zeros(accepted.shape).scatter(-1, index, accepted)


class Canvases:
    """Canvases as the callbacks of samplers tell of them: a streamer of transformers, or diffusers' pipeline."""

    def __init__(self, prompt: Sequence[int] = ()) -> None:
        self.prompts: list[list[int]] = [list(prompt)] if prompt else []
        self.rows: list[list[Canvas]] = []  # the canvases of every row of the batch
        self.facts: dict[str, float] = {}
        self.rule = ""

    def text(self, ids: list[list[int]]) -> None:
        """Text that is complete: the prompt, and then canvas after canvas."""
        if not self.rows and not any(self.prompts):
            self.prompts = ids
            return
        for canvases, row in zip(self.rows, ids, strict=True):
            canvases[-1].committed = row

    def drafts(self, found: list[dict[str, Any]], begins: bool = False, **more: Any) -> None:
        """A pass over the open canvas; `more` has what is known of it by row."""
        self.rows = self.rows or [[] for _ in found]
        for row, (canvases, each) in enumerate(zip(self.rows, found, strict=True)):
            if not canvases or begins or canvases[-1].committed is not None:
                canvases.append(Canvas())
            known = {name: values[row] for name, values in more.items()}
            canvases[-1].passes.append(CanvasPass(**each, **known, facts=self.facts))

    def stepped(self, scheduler: Any, step: int, canvas: Any, logits: Any) -> None:
        """A step of diffusers' DiffusionGemmaPipeline: the canvas after it, and the logits it was made of."""
        own = getattr(scheduler, "config", {})
        bound, high, low = (own.get(name) for name in ("entropy_bound", "t_max", "t_min"))
        steps = scheduler.num_inference_steps
        self.facts = {}
        if bound is not None and high is not None and low is not None:
            self.facts = {TEMPERATURE: low + (high - low) * ((steps - step) / steps), BOUND: bound}
        found = measured(logits, self.facts.get(TEMPERATURE))
        marked = getattr(scheduler, "_committed", None)
        if bound is not None:
            accepted = within(logits.new_tensor([each["entropy"] for each in found]), bound)
        elif marked is not None and marked.shape == canvas.shape:
            accepted = marked
        else:
            accepted = canvas == canvas.new_tensor([each["drafts"] for each in found])
            self.rule = "recorded · what holds the best guess counts as accepted"
        if step == 0:
            self.commit()
        self.drafts(found, step == 0, after=canvas.tolist(), accepted=accepted.tolist())

    def commit(self) -> None:
        """The open canvas is text, as diffusers' pipeline makes it: the draft where that was stable and sure (with the
        pipeline's own thresholds), otherwise what the canvas holds."""
        for canvases in self.rows:
            for canvas in canvases[-1:]:
                if canvas.committed is None:
                    *_, before, last = [None, *canvas.passes]
                    sure = last.entropy is not None and sum(last.entropy) / len(last.entropy) < SURE
                    stable = before is not None and before.drafts == last.drafts and sure
                    canvas.committed = last.drafts if stable or last.after is None else last.after
                    canvas.ended_by = STABLE if stable else LAST_PASS

    def finish(self, ids: list[list[int]]) -> None:
        """What was returned, without the prompt."""
        for canvases, row in zip(self.rows, ids, strict=True):
            for canvas in canvases:
                size = len(canvas.passes[0].drafts)
                canvas.committed, row = row[:size], row[size:]

    def traces(self, words: Any, ended: bool, **more: Any) -> list[Trace]:
        if ended:
            self.commit()
        prompts = self.prompts if len(self.prompts) == len(self.rows) else (self.prompts or [[]]) * len(self.rows)
        return [
            trace_of(prompt, canvases, words, **{"rule": self.rule or "recorded", **more})
            for prompt, canvases in zip(prompts, self.rows, strict=True)
        ]


def trace_of(
    prompt: Sequence[int],
    canvases: Sequence[Canvas],
    words: Any = None,
    *,
    name: str = "",
    rule: str = "",
    model: str = "",
    settings: Mapping[str, Any] | None = None,
    eos_id: int | None = None,
    num_layers: int = 1,
) -> Trace:
    """The trace of a text that was made canvas by canvas."""
    sizes = [size_of(canvas) for canvas in canvases]
    passes = [one for canvas in canvases for one in canvas.passes]
    if not passes:
        raise InputError("no pass over a canvas was seen; there is nothing to tell")
    if sum(sizes) > MAX_LENGTH or len(passes) > MAX_STEPS:
        raise InputError(
            f"canvases of {sum(sizes)} positions in {len(passes)} passes are too large; "
            f"a trace holds {MAX_LENGTH} positions and {MAX_STEPS} steps"
        )
    word, write = writing(words)
    quoting = Words(lambda token: (word or "<{}>".format)(token))
    begun = [canvas.noise or [0] * size for canvas, size in zip(canvases, sizes, strict=True)]
    tokens = [token for each in begun for token in each]
    builder = Builder(len(tokens), settings or {}, num_layers, quoting)
    start = Start(tokens, NOISE * len(tokens), [0.0] * len(tokens))
    builder.at(start.tokens, start.states, list(start.confidence), {})
    begin = 0
    for canvas, size in zip(canvases, sizes, strict=True):
        builder.canvas(canvas, begin, begin + size)
        begin += size
    text = builder.tokens
    seen = {*prompt, *start.tokens, *(t for s in builder.steps for t in {*s.read, *s.tokens})}
    seen |= {token for step in builder.steps for top in step.paths.values() for token in top.ids}
    written = [token for token, state in zip(text, builder.states, strict=True) if state == COMMITTED]
    end = written.index(eos_id) if eos_id in written else len(written)
    used = [column for column in ABOUT.columns if any(column.name in step.columns for step in builder.steps)]
    tops = any(step.paths for step in builder.steps)
    return Trace(
        model=model[:300],
        num_layers=num_layers,
        decoder=NAME,
        settings=dict(settings or {}),
        prompt=write(list(prompt))[:MAX_TEXT],
        prompt_tokens=list(prompt),
        mask_id=None,
        eos_id=eos_id,
        fixed=[False] * len(tokens),
        start=start,
        steps=builder.steps,
        token_text={} if word is None else {token: word(token)[:MAX_TOKEN_TEXT] for token in sorted(seen)},
        text=write(written[:end])[:MAX_TEXT],
        block_size=None,
        about=replace(
            ABOUT,
            columns=used,
            paths=ABOUT.paths if tops else (),
            title=(name or "Recording")[:100],
            rule=rule[:100],
            unmeasured=True,
            later=False,
        ),
    )


def size_of(canvas: Canvas) -> int:
    rows = [canvas.noise, canvas.committed, *(one.drafts for one in canvas.passes)]
    lengths = {len(row) for row in rows if row is not None}
    if len(lengths) != 1:
        raise InputError(f"the passes over a canvas have {sorted(lengths)} positions; a canvas keeps its length")
    return lengths.pop()


class Builder:
    """Makes steps of passes, one after the other."""

    def __init__(self, length: int, settings: Mapping[str, Any], num_layers: int, words: Words) -> None:
        self.length, self.settings, self.num_layers, self.words = length, dict(settings), num_layers, words
        self.steps: list[Step] = []

    def at(self, tokens: list[int], states: str, confidence: list[float | None], drafts: Mapping[int, int]) -> None:
        """Where it stands."""
        self.tokens, self.states, self.confidence, self.drafts = tokens, states, confidence, drafts

    def canvas(self, canvas: Canvas, begin: int, end: int) -> None:
        earlier: list[int] | None = None
        before: list[int] | None = None
        for number, one in enumerate(canvas.passes, 1):
            last = number == len(canvas.passes)
            committed = canvas.committed if last else None
            self.steps.append(self.step(one, before, earlier, committed, begin, end, canvas.ended_by))
            earlier, before = before, one.drafts

    def step(
        self,
        one: CanvasPass,
        before: list[int] | None,
        earlier: list[int] | None,
        committed: list[int] | None,
        begin: int,
        end: int,
        ended_by: str,
    ) -> Step:
        here = range(begin, end)
        tokens, states, confidence = list(self.tokens), list(self.states), list(self.confidence)
        accepted = one.accepted or [False] * len(one.drafts)
        drafts: dict[int, int] = {}
        for n, i in enumerate(here):
            if committed is not None:
                tokens[i], states[i] = committed[n], COMMITTED
            else:
                tokens[i] = one.drafts[n] if one.after is None else one.after[n]
                states[i] = state_of(accepted[n], one.drafts[n], before[n] if before else None)
                if not accepted[n]:
                    drafts[i] = one.drafts[n]
            confidence[i] = self.share(one, n, drafts.get(i, tokens[i]))
        events = happened(self.states, "".join(states), self.tokens, tokens)
        events |= drafts_moved(here, one.drafts, before, earlier)
        if committed is not None:
            events["committed"] = list(here)
        step = Step(
            index=len(self.steps) + 1,
            block=(begin, end),
            tokens=tokens,
            states="".join(states),
            columns={"confidence": confidence},
            drafts=drafts,
            events={name: positions for name, positions in events.items() if positions},
            facts={name: round(float(value), 6) for name, value in one.facts.items()},
            ended_by=ended_by or "a commit" if committed is not None else None,
            forward_seconds=round(max(0.0, one.seconds[0]), 6),
            other_seconds=round(max(0.0, one.seconds[1]), 6),
        )
        if one.entropy is not None:
            step.facts[MEAN] = round(sum(one.entropy) / len(one.entropy), 6)
            step.columns["entropy"] = self.row(one.entropy, begin)
            if BOUND in step.facts:
                step.columns["sum"] = self.row(sums_before(one.entropy), begin)
            step.notes = {"entropy": note(step.facts)}
        if one.top is not None:
            step.paths = {"x": Top(list(here), *one.top)}
        step._link = StepContext(
            self.tokens, self.states, self.confidence, [False] * self.length, self.num_layers, self.settings,
            ABOUT.kinds, self.drafts,
        )  # fmt: skip
        step.why = {i: say(step, i, self.words) for i in sorted({i for each in step.events.values() for i in each})}
        self.at(tokens, step.states, confidence, drafts)
        return step

    @staticmethod
    def share(one: CanvasPass, n: int, token: int) -> float | None:
        """The probability of a token, if it is the most probable one or listed."""
        if one.confidence is not None and token == one.drafts[n]:
            return round(one.confidence[n], 6)
        if one.top is None:
            return None
        count, ids, p = one.top
        listed = ids[n * count : (n + 1) * count]
        return p[n * count + listed.index(token)] / 10_000 if token in listed else None

    def row(self, values: Sequence[float], begin: int) -> list[float | None]:
        row: list[float | None] = [None] * self.length
        row[begin : begin + len(values)] = [round(value, 6) for value in values]
        return row
