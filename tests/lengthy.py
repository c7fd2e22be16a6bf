"""Long decodes for tests: `lengthy` makes one without a model, `Lengthy` is a model without weights that takes them.

The answer is running text, numbers and code, as a tokenizer with spaces of its own cuts it, decoded block by block with
candidates, revocations and words that are replaced.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from dard.core.state import changes
from dard.trace import Step, Trace
from dard.trace.about import About, Path, Threshold, masked_states
from dard.trace.records import Start, Top

MASK, END = 0, 1
PROSE = """Each of the 37 boxes holds 128 apples, so there are 37 * 128 = 4736 apples in the store. On Monday 1250 of \
them were sold, which leaves 4736 - 1250 = 3486 apples. A third of these are green: 3486 / 3 = 1162.
"""
CODE = """```python
def count(boxes, each):
    total = 0
    for box in range(boxes):
        if box % 2:
            total += each
    return total
```
"""
ENDING = "So the answer is\n#### 1162\n"
PIECE = re.compile(r"\n| ?\d| ?[A-Za-z]{1,6}| +|.", re.S)  # digits are tokens of their own, long words are two


def pieces(length: int) -> list[str]:
    """The tokens of an answer of so many, less a few that are left for its end."""
    body: list[str] = []
    ending = PIECE.findall(ENDING)
    room = length - len(ending) - 3
    while len(body) < room:
        body += PIECE.findall(PROSE) + PIECE.findall(CODE)
    return [*body[:room], *ending][: length - 3] if room > 0 else body[: max(0, length - 3)]


def lengthy(length: int, passes: int, block: int = 32, seed: int = 0, shadow: bool = False) -> Trace:
    """`passes` at most: every block takes its share of them."""
    chance = random.Random(seed)
    texts = pieces(length)
    ids = {text: number for number, text in enumerate(sorted({*texts, " wrong", " 17"}), 2)}
    words = {MASK: "[MASK]", END: "[EOS]", **{number: text for text, number in ids.items()}}
    settled = [ids[text] for text in texts] + [END] * (length - len(texts))
    tokens, states, confidence = [MASK] * length, ["M"] * length, [0.0] * length
    steps: list[Step] = []
    blocks = [range(start, min(start + block, length)) for start in range(0, length, block)]
    for number, places in enumerate(blocks):
        count = max(1, (number + 1) * passes // len(blocks) - number * passes // len(blocks))
        order = [(chance.random() * count * 0.8, i) for i in places]
        for k in range(count):
            last = k == count - 1
            before, was = list(tokens), "".join(states)
            for when, i in order:
                if states[i] == "M" and (when <= k or last):
                    early = chance.random() < 0.3 and not last
                    wrong = early and chance.random() < 0.4
                    tokens[i] = chance.choice([ids[" wrong"], ids[" 17"]]) if wrong else settled[i]
                    states[i] = "C" if early else "U"
                elif states[i] == "C":
                    if tokens[i] != settled[i] and chance.random() < 0.4 and not last:
                        tokens[i], states[i] = MASK, "M"
                    elif chance.random() < 0.35 or last:
                        tokens[i], states[i] = settled[i], "U"
                confidence[i] = round(chance.random() * (0.5 if states[i] == "M" else 1.0), 4)
            now = "".join(states)
            paths = {}
            if shadow:
                paths = {
                    "x": Top([*places], 2, [t for i in places for t in (settled[i], END)], [7000, 2000] * len(places))
                }
            events = changes(was, now, before, tokens)
            steps.append(
                Step(len(steps) + 1, (places.start, places.stop), list(tokens), now,
                     {"confidence": list(confidence)}, paths, events, forward_seconds=0.01)
            )  # fmt: skip
    about = About(paths=[Path("x", "x")], thresholds=[Threshold("tau_u", "", "U", "τ_u", 0.8)], title="theirs",
                  states=masked_states("MCU"))  # fmt: skip
    text = "".join(words[token] for token in settled if token != END)
    start = Start([MASK] * length, "M" * length, [0.0] * length)
    return Trace(
        "theirs", 8, "theirs", {"block_length": block}, "How many apples are green?", [2], MASK, END,
        [False] * length, start, steps, words, text, about,
    )  # fmt: skip


class Lengthy:
    """Takes 2,048 positions and knows the answer; how sure it is goes up and down with how many words it sees."""

    name, num_layers, max_length, mask_id, eos_id = "lengthy", 2, 2048, MASK, END
    device, offers = torch.device("cpu"), frozenset({"batch"})

    def __init__(self, length: int = 1024) -> None:
        texts = pieces(length)
        self.texts = ["[MASK]", "[EOS]", "?", *sorted({*texts, " wrong", " 17"})]
        ids = {text: number for number, text in enumerate(self.texts)}
        self.vocab_size = len(self.texts)
        self.settled = torch.tensor([ids[text] for text in texts] + [END] * (length - len(texts)))

    def encode(self, prompt: str) -> list[int]:
        return [2] * max(1, len(prompt.split()))

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.texts[token] for token in ids)

    def token_text(self, token: int) -> str:
        return self.texts[token]

    def answer(self, questions: Any) -> list[Any]:
        from dard.models import Answer

        return [Answer(self.logits(q.ids, q.positions, q.mask, q.rows)) for q in questions]

    def logits(self, ids: Tensor, positions: Tensor, mask: Tensor, rows: Tensor) -> Tensor:
        places = (positions[rows] - (positions.max() + 1 - len(self.settled))).clamp(0, len(self.settled) - 1)
        known = (mask[rows] & (ids != self.mask_id)[None]).sum(1)
        noise = torch.sin(places.float() * 12.9898 + known.float() * 0.7) * 43758.5453
        sure = 1.5 + 7.0 * (noise - noise.floor())
        logits = torch.zeros(len(rows), self.vocab_size)
        logits[torch.arange(len(rows)), self.settled[places]] = sure
        logits[:, MASK] = -20.0
        return logits
