"""The layer view: what each layer of the model would have said at a position, so that one sees where a word comes from.

The pass of a step is made again, and the hidden state of every layer at the position's rows goes through the final norm
and the head. The last layer's must be what the pass itself said.
Does not know: any decoder's rule, files, or who is looking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from dard.analysis.causes import at_step, question_about
from dard.core.errors import InputError
from dard.decoders.predict import predict
from dard.decoding.session import Session
from dard.models.base import answer_all, check_needs
from dard.models.memory import memory_guard
from dard.trace.layers import LayerRow, Layers

CLOSE = 0.01  # of two logits of the same, one of them made with everything else


def layers(session: Session, step: int | None = None, position: int | None = None) -> Layers:
    """What each layer would have said of a position in a step (from 1); of a model that offers "layers".

    >>> import dard
    >>> session = dard.Session(dard.load_model("embedded"), "The city of [MASK] [MASK] is in California .")
    >>> _ = session.run()
    >>> found = layers(session, 1, 3)
    >>> [session.model.token_text(token) for token in found.rows[0].tokens][-1], len(found.rows[0].confidence)
    ('San', 6)
    """
    before = at_step(session, step, "layers", "trace.layers_at(step, position)")
    return layers_before(before, position, session.steps[len(before.steps)].tokens)


def layers_before(session: Session, position: int | None, after: Sequence[int]) -> Layers:
    """The same for the step that this session would make next; `after` are the tokens that there are then."""
    model, state = session.model, session.state
    check_needs(model, frozenset({"layers"}), "the view of layers")
    question, rows = question_about(session, position)
    assert position is not None
    question = replace(question, rows=rows, layers=tuple(range(model.num_layers)), attention=())
    with memory_guard(f"every layer of a step of model {model.name!r}", model.device):
        answer = answer_all(model, [question])[0]
    assert answer.layers is not None
    if not torch.allclose(answer.layers[-1], answer.logits, rtol=CLOSE, atol=CLOSE):
        raise InputError(f"layers cannot be read off model {model.name!r}: its last one does not say what it said")
    held = [token for token in (after[position], state.tokens[position]) if token != model.mask_id]
    token = held[0] if held else predict(answer.logits[-1:].clone(), mask_id=model.mask_id).choices[0][0]
    size = len(state.prompt) + len(state.tokens)
    told = []
    for number, row in enumerate(rows.tolist()):
        said = predict(answer.layers[:, number].cpu(), mask_id=model.mask_id, top=1, also=(token,))
        top, own = said.top_probability.double().clamp(0, 1).T.tolist()
        told.append(LayerRow(said.token.tolist(), [round(p, 6) for p in top], [round(p, 6) for p in own], row >= size))
    return Layers(state.step + 1, position, token, told)
