"""Decoding loops of the shapes people write, for tests of what is recorded of them, and a network with a cache.

None of them knows of a recording. Each keeps what its canvas held before the first pass and after each, and returns its
result beside that. They import nothing of ours: the shapes are those of LLaDA's sampler (with and without guidance),
Fast-dLLM's three (no cache, prefix cache, dual cache), Saber's, WINO's and Dream's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

MASK, VOCABULARY, LENGTH = 0, 40, 64


class Out(NamedTuple):
    logits: Tensor
    past_key_values: tuple[Tensor, Tensor] | None


class Network(nn.Module):
    """One attention layer that looks both ways, with a cache of keys and values that can be written into."""

    def __init__(self, seed: int = 0, size: int = 24, sharpness: float = 2.5) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.tokens, self.places = nn.Embedding(VOCABULARY, size), nn.Embedding(LENGTH, size)
        self.mix, self.head = nn.Linear(size, 3 * size), nn.Linear(size, VOCABULARY)
        with torch.no_grad():
            self.head.weight.mul_(sharpness * 4)
            self.head.bias[MASK] = -30.0

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: tuple[Tensor, Tensor] | None = None,
        replace_position: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
    ) -> Out:
        x = self.tokens(input_ids) if inputs_embeds is None else inputs_embeds
        if position_ids is None:
            begin = 0
            if replace_position is not None:
                begin = int(replace_position[0].int().argmax())
            elif past_key_values is not None:
                begin = past_key_values[0].shape[1]
            position_ids = torch.arange(begin, begin + x.shape[1])
        q, k, v = self.mix(x + self.places(position_ids)).chunk(3, dim=-1)
        if replace_position is not None and past_key_values is not None:
            keys, values = (part.clone() for part in past_key_values)
            keys[replace_position], values[replace_position] = k.flatten(0, 1), v.flatten(0, 1)
            k, v = keys, values
        elif past_key_values is not None:
            k, v = (torch.cat([old, new], dim=1) for old, new in zip(past_key_values, (k, v), strict=True))
        weights = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        if attention_mask is not None:
            weights = weights.masked_fill(~attention_mask[:, 0], -1e9)
        return Out(self.head(x + weights.softmax(-1) @ v), (k, v))


class Run(NamedTuple):
    """What a loop returned, and every state of its canvas."""

    out: Tensor
    states: list[Tensor]


def canvas(prompt: Tensor, length: int) -> Tensor:
    return torch.cat([prompt, torch.full((len(prompt), length), MASK)], dim=1)


def surest(x: Tensor, logits: Tensor, count: int, end: int, noise: float = 0.0) -> None:
    """Writes the `count` surest guesses of each row into the masks before `end`."""
    shaken = logits - noise * torch.rand(logits.shape).log().neg().log() if noise else logits
    guess = shaken.argmax(-1)
    sure = logits.double().softmax(-1).gather(-1, guess[..., None])[..., 0]
    sure[x != MASK] = -1
    sure[:, end:] = -1
    for row in range(len(x)):
        best = sure[row].topk(min(count, int((sure[row] >= 0).sum()))).indices
        x[row, best] = guess[row, best]


def llada(
    network: Any,
    prompt: Tensor,
    length: int = 12,
    block: int = 6,
    per_pass: int = 2,
    guidance: float = 0.0,
    **more: Any,
) -> Run:
    """The surest of a block, so many per pass; with guidance a second half of the batch has no prompt."""
    x = canvas(prompt, length)
    given, states = x != MASK, [x.clone()]
    for start in range(prompt.shape[1], x.shape[1], block):
        for _ in range(-(-block // per_pass)):
            if guidance:
                blank = x.clone()
                blank[given] = MASK
                both = network(torch.cat([x, blank])).logits
                first, second = both.chunk(2)
                logits = second + (guidance + 1) * (first - second)
            else:
                logits = network(x).logits
            surest(x, logits, per_pass, start + block, **more)
            states.append(x.clone())
    return Run(x, states)


def above(x: Tensor, logits: Tensor, threshold: float, end: int) -> None:
    """Writes every guess above a threshold into the masks before `end`, at least one."""
    p, guess = logits.softmax(-1).max(-1)
    p[x != MASK] = -1
    p[:, end:] = -1
    for row in range(len(x)):
        chosen = (p[row] > threshold).nonzero()[:, 0] if (p[row] > threshold).any() else p[row].argmax()[None]
        if p[row].max() > 0:
            x[row, chosen] = guess[row, chosen]


def fast(
    network: Any, prompt: Tensor, cache: str = "none", length: int = 12, block: int = 6, threshold: float = 0.5
) -> Run:
    """Block by block all guesses above a threshold. A cache is filled by a pass over everything; after that the rest of
    the canvas ("prefix") or only the block ("dual") is passed, as a slice that is written into."""
    x = canvas(prompt, length)
    states = [x.clone()]
    for start in range(prompt.shape[1], x.shape[1], block):
        end = start + block
        whole = network(x)
        above(x, whole.logits, threshold, end)
        states.append(x.clone())
        keys, values = whole.past_key_values
        here = torch.zeros_like(x, dtype=torch.bool)
        here[:, start:end] = True
        while (x[:, start:end] == MASK).any():
            if cache == "none":
                above(x, network(x).logits, threshold, end)
            elif cache == "prefix":
                logits = network(x[:, start:], past_key_values=(keys[:, :start], values[:, :start])).logits
                above(x[:, start:], logits, threshold, block)
            else:
                logits = network(x[:, start:end], past_key_values=(keys, values), replace_position=here).logits
                above(x[:, start:end], logits, threshold, block)
            states.append(x.clone())
    return Run(x, states)


def saber(network: Any, prompt: Tensor, length: int = 12, n: int = 3) -> Run:
    """At least n per pass, and of what stands the one that lost most confidence is taken back."""
    x = canvas(prompt, length)
    free, before, states = x == MASK, torch.zeros(x.shape), [x.clone()]
    while (x == MASK).any():
        p, guess = network(input_ids=x).logits.softmax(-1).max(-1)
        sure = p.masked_fill(x != MASK, -1)
        chosen = sure[0].topk(min(n, int((x == MASK).sum()))).indices
        x[0, chosen] = guess[0, chosen]
        if (x == MASK).any():
            drop = (p - before).masked_fill(~free | (x == MASK), torch.inf)
            x[0, drop[0].topk(1, largest=False).indices] = MASK
        before = p
        states.append(x.clone())
    return Run(x, states)


def wino(network: Any, prompt: Tensor, length: int = 12, block: int = 6, back: float = 0.3) -> Run:
    """A shadow of the block at the end, at the block's positions: it judges a token without seeing it."""
    text = prompt.shape[1] + length
    x = canvas(prompt, length + block)
    states = [x[:, :text].clone()]
    for start in range(prompt.shape[1], text, block):
        positions = torch.cat([torch.arange(text), torch.arange(start, start + block)])
        mask = torch.ones(1, 1, text + block, text + block, dtype=torch.bool)
        mask[..., text:] = False
        mask[..., text:, text:] = True
        mask[..., text:, start : start + block] = ~torch.eye(block, dtype=torch.bool)
        for _ in range(20):
            if not (x[:, start : start + block] == MASK).any():
                break
            held = x[0, start : start + block].clone()
            logits = network(x, attention_mask=mask, position_ids=positions).logits
            above(x, logits, 0.4, start + block)
            p = logits[0, text:].softmax(-1).gather(1, held[:, None])[:, 0]
            lost = ((held != MASK) & (p < back)).nonzero()[:1, 0]
            x[0, start + lost] = MASK
            states.append(x[:, :text].clone())
    return Run(x[:, :text], states)


def dream(
    network: Any, prompt: Tensor, length: int = 8, hook: Callable[..., Tensor] = lambda step, x, logits: x
) -> Run:
    """The prediction of a position is read one place to the left; a hook sees every state, the first without a step."""
    x = hook(None, canvas(prompt, length), None)
    states = [x.clone()]
    for step in range(length):
        logits = network(x).logits
        logits = torch.cat([logits[:, :1], logits[:, :-1]], dim=1)
        surest(x, logits, 1, x.shape[1])
        x = hook(step, x, logits)
        states.append(x.clone())
    return Run(x, states)
