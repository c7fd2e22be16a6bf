"""Uniform noise with an entropy bound, as DiffusionGemma decodes: what is accepted is written, all else is noise again.

Of every pass's predictions, at a temperature that falls from pass to pass, the surest are accepted while the entropies
of the others among them add up to the bound at most; every position that is not accepted gets a random token. A canvas
ends when its most probable tokens have not changed and are sure on average, or with its last pass; then these become
text. Tokens, passes and random numbers are those of transformers' `generate` under the same seed, on a CPU.
A block is a canvas; `block_length`, `temperature`, `eos` = last and `prefix_cache` have no effect here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from dard.core.settings import Settings, setting
from dard.core.state import DecodeState
from dard.decoders.base import Decision, Decoder, sweep
from dard.decoders.predict import Prediction, top_values
from dard.models.base import Answer, Model, Noise, Question
from dard.trace import Step
from dard.trace.canvases import within
from dard.trace.limits import TOP_K
from dard.trace.noise import (
    ABOUT,
    ACCEPTED,
    BOUND,
    COMMITTED,
    DRAFT,
    LAST_PASS,
    MEAN,
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
from dard.trace.words import Words


@dataclass(frozen=True, kw_only=True)
class RenoiseSettings(Settings):
    max_denoising_steps: int = setting(48, "passes over a canvas, at most", int, low=1, high=20_000)
    entropy_bound: float = setting(
        0.1, "bound on what the entropies of the surer accepted tokens add up to, in nats", float, low=0, open_low=True,
        high=1000,
    )  # fmt: skip
    t_min: float = setting(0.4, "temperature that the last pass comes near to", float, low=0, open_low=True, high=10)
    t_max: float = setting(0.8, "temperature of the first pass", float, low=0, open_low=True, high=10)
    stability_threshold: int = setting(
        1, "passes for which the most probable tokens must stay, for a canvas to end early", int, low=0, high=1000
    )
    confidence_threshold: float = setting(
        0.005, "mean entropy below which it may", float, low=0, open_low=True, high=1000
    )


@dataclass(frozen=True)
class Memory:
    """What a canvas remembers: its random numbers, how many passes it had, its drafts, the last one at the end, and
    what the next pass is told of the last."""

    random: Tensor
    passes: int = 0
    drafts: tuple[tuple[int, ...], ...] = ()
    told: Tensor | None = None


class Renoise(Decoder):
    name = "renoise"
    title = "Entropy bound on noise"
    rule = "as many as an entropy budget allows, the rest is noise again"
    Settings = RenoiseSettings
    needs = frozenset({"noise"})
    states = NOISE + DRAFT + ACCEPTED + COMMITTED
    about = replace(ABOUT, later=False)
    grid = sweep("entropy_bound", 0.05, 0.1, 0.2, 0.5)

    def opened(self, model: Model, settings: RenoiseSettings, state: DecodeState) -> DecodeState:
        """A canvas begins with random tokens."""
        random = generator(settings.seed, state.memory)
        block = state.block_range
        noise = torch.randint(0, model.vocab_size, (1, len(block)), generator=random)[0].tolist()
        tokens = (*state.tokens[: block.start], *noise, *state.tokens[block.stop :])
        return replace(state, tokens=tokens, memory=Memory(random.get_state()), drafts={})

    def ask(self, model: Model, settings: RenoiseSettings, state: DecodeState) -> Question:
        """All text up to the canvas, in order, and the canvas, of which every position sees everything."""
        end, size = len(state.prompt) + state.block_range.stop, len(state.block_range)
        mask = torch.ones(end, end, dtype=torch.bool).tril()
        mask[end - size :] = True
        return Question(
            ids=torch.tensor([*state.prompt, *state.tokens[: state.block_range.stop]]),
            positions=torch.arange(end),
            mask=mask,
            rows=torch.arange(end - size, end),
            noise=Noise(len(state.prompt), state.memory.told),
        )

    def decide(
        self, model: Model, settings: RenoiseSettings, state: DecodeState, question: Question, answer: Answer
    ) -> Decision:
        memory, block = state.memory, state.block_range
        random = generator(settings.seed, memory)

        # Predict: at this pass's temperature, sampled and most probable.
        left = torch.tensor(settings.max_denoising_steps - memory.passes, dtype=torch.int32)
        share = left / settings.max_denoising_steps
        temperature = settings.t_min + (settings.t_max - settings.t_min) * share
        logits = answer.logits / temperature.to(answer.logits.device)
        probability = torch.softmax(logits, dim=-1, dtype=torch.float32)
        sampled = torch.multinomial(probability.cpu(), num_samples=1, generator=random)[:, 0]
        draft = logits.argmax(-1)
        drafts = tuple(draft.tolist())
        entropy = torch.distributions.Categorical(logits=logits[None]).entropy()

        # Accept what the bound lets in, and make noise of the rest.
        accepted = within(entropy, settings.entropy_bound)[0].tolist()
        noise = torch.randint(0, model.vocab_size, (1, len(block)), generator=random)[0].tolist()
        canvas = [s if a else n for s, a, n in zip(sampled.tolist(), accepted, noise, strict=True)]

        # Stop where the drafts are stable and sure.
        window = memory.drafts[-settings.stability_threshold :] if settings.stability_threshold else ()
        stable = len(window) == settings.stability_threshold and all(each == drafts for each in window)
        sure = bool(entropy.mean() < settings.confidence_threshold)
        passes = memory.passes + 1
        over = (stable and sure) or passes == settings.max_denoising_steps

        decision = Decision(
            memory=Memory(
                random.get_state(),
                passes,
                (*memory.drafts, drafts)[-max(2, settings.stability_threshold) :],
                model.conditioning(logits),  # type: ignore[attr-defined]
            ),
            facts={TEMPERATURE: float(temperature), BOUND: settings.entropy_bound, MEAN: float(entropy.mean())},
        )
        before = memory.drafts[-1] if memory.drafts else None
        if over:
            decision.ended_by = STABLE if stable and sure else LAST_PASS
            commit(model, decision, state, drafts)
        else:
            for n, i in enumerate(block):
                decision.tokens[i] = canvas[n]
                decision.states[i] = state_of(accepted[n], drafts[n], before[n] if before else None)
                if not accepted[n]:
                    decision.drafts[i] = drafts[n]
        held = torch.tensor([d if over or not a else c for d, a, c in zip(drafts, accepted, canvas, strict=True)])
        shares = probability.gather(1, held[:, None].to(probability.device))[:, 0].tolist()
        decision.confidence = dict(zip(block, shares, strict=True))
        spread = entropy[0].tolist()
        decision.columns = {
            "entropy": dict(zip(block, spread, strict=True)),
            "sum": dict(zip(block, sums_before(spread), strict=True)),
        }
        decision.notes = {"entropy": note(decision.facts)}
        decision.events = told(state, decision, memory.drafts, drafts)
        if state.record:
            best, index = top_values(probability, TOP_K)
            total = logits.logsumexp(-1)
            prediction = Prediction(draft, probability.max(-1).values, total, index, best, entropy[0], list(block))
            decision.paths = {"x": (list(block), prediction)}
        return decision

    def block_done(self, state: DecodeState) -> bool:
        return not state.free(NOISE + DRAFT + ACCEPTED)

    def say(self, step: Step, position: int, words: Words) -> str:
        return say(step, position, words)


def generator(seed: int, memory: Memory | None) -> torch.Generator:
    """The random numbers of a decode, from its beginning or as a canvas left them."""
    random = torch.Generator().manual_seed(seed)
    if memory is not None:
        random.set_state(memory.random)
    return random


def commit(model: Model, decision: Decision, state: DecodeState, drafts: Sequence[int]) -> None:
    """The drafts become text. Where they end it, padding follows, and no canvas begins after this one."""
    block, ends = state.block_range, {model.eos_id, *getattr(model, "end_ids", ())} - {None}
    padding: int | None = getattr(model, "pad_id", None)
    end = next((n for n, token in enumerate(drafts) if token in ends), None)
    for n, i in enumerate(block):
        after = padding if end is not None and n > end else None
        decision.tokens[i], decision.states[i] = (drafts[n] if after is None else after), COMMITTED
    if end is not None:
        for i in range(block.stop, len(state.tokens)):
            decision.tokens[i], decision.states[i] = (drafts[end] if padding is None else padding), COMMITTED


def told(
    state: DecodeState, decision: Decision, earlier: Sequence[Sequence[int]], drafts: Sequence[int]
) -> dict[str, list[int]]:
    """What happened, in the words of canvases."""
    states = "".join(decision.states.get(i, letter) for i, letter in enumerate(state.states))
    tokens = [decision.tokens.get(i, token) for i, token in enumerate(state.tokens)]
    events = happened(state.states, states, state.tokens, tokens)
    previous, last = (earlier[-2] if len(earlier) > 1 else None), (earlier[-1] if earlier else None)
    events |= drafts_moved(state.block_range, drafts, last, previous)
    events["committed"] = [i for i, letter in decision.states.items() if letter == COMMITTED]
    return events
