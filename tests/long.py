"""Made-up recordings of long texts, for pages that show them: no model wrote these words."""

from __future__ import annotations

import random

from dard.trace import Trace
from dard.trace.frames import Frame

TEXT = (
    "First we count the apples in every box . There are 12 boxes with 24 apples each , so 12 * 24 = 288 . \n "
    "Then nine of them are sold and three are given away , which leaves 276 . \n "
    "def total ( boxes , each ) : \n     return boxes * each \n "
    "Sally has seven red pens , Tom has two blue ones ; together they have nine . #### 276 \n "
)
WORDS = [*dict.fromkeys(TEXT.split(" "))]
MASK = 0


def words() -> dict[int, str]:
    """Words as vocabularies of today hold them: most bring the space before them along."""
    return {n + 1: word if word in ("", "\n", ".", ",", ";", ")") else f" {word}" for n, word in enumerate(WORDS)}


def long_trace(length: int, steps: int, block: int = 32, seed: int = 0, revoked: float = 0.3) -> Trace:
    """So many positions decided in so many steps, block by block; in some steps a token of the block is taken back."""
    pick = random.Random(seed)
    wanted = [1 + WORDS.index(word) for word in (TEXT.split(" ") * (length // 40 + 1))[:length]]
    tokens, frames = [9, 9] + [MASK] * length, [Frame([9, 9] + [MASK] * length)]
    for step in range(1, steps + 1):
        masked = [i for i in range(length) if tokens[2 + i] == MASK]
        least = masked[0] // block * block if masked else length
        here = [i for i in masked if i < least + block] or masked
        share = -(-len(masked) // (steps - step + 1))
        rest = [i for i in masked if i not in here]
        for i in pick.sample(here, min(share, len(here))) + rest[: max(0, share - len(here))]:
            tokens[2 + i] = wanted[i] if pick.random() < 0.95 or step == steps else pick.randrange(1, len(WORDS))
        held = [
            i
            for i in range(max(0, least - block), min(length, least + block))
            if tokens[2 + i] != MASK and i not in masked
        ]
        if held and step < steps - 2 and pick.random() < revoked:
            tokens[2 + pick.choice(held)] = MASK
        sure = {2 + i: round(pick.uniform(0.3, 1.0), 4) for i in masked}
        frames.append(Frame(list(tokens), sure, block=None))
    return Trace.of_frames(frames, MASK, words(), name="made up", settings={"block_length": block})
