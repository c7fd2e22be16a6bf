"""Two real answers, shown: whether they make sense is for a reader to say.

Promises: nothing is judged.
Does not know: what is right.
"""

from __future__ import annotations

from dard.checkup.report import Notes
from dard.core.errors import InputError
from dard.decoding.session import COMPARED, decode
from dard.models.base import Model

TEMPLATE = "The city of [MASK] [MASK] is on the Southern California coast ."  # the paper's
QUESTION = "Q : Mia has 9 coins . She finds 3 more and sells 2 . How many coins ? A :"
ENDS = (COMPARED[0], COMPARED[-1])
LONGEST = 64


def answers(notes: Notes, model: Model) -> None:
    """The paper's template and a grade-school question, by the first and the last of the decoders compared."""
    for what, prompt in (("template", TEMPLATE), ("question", QUESTION)):
        for name in ENDS:
            size = getattr(model, "block_size", None)
            told = (
                {}
                if prompt == TEMPLATE
                else {"gen_length": LONGEST // 2 if model.max_length < 2 * LONGEST else LONGEST}
            )
            try:
                trace = decode(model, prompt, name, block_length=size, **told)
            except InputError as error:  # a vocabulary of its own
                notes.add("skipped", f"{what}, {name}", f"It cannot be asked: {error}.")
                continue
            text = trace.text if prompt == TEMPLATE else trace.text[len(trace.prompt) :] or trace.text
            shown = " ".join(text.split())[:200]
            notes.add("ok", f"{what}, {name}", f"{shown!r} after {trace.num_steps} passes.", text=trace.text)
