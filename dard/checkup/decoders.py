"""Every decoder against its literal reference on these very weights, over a few positions, pass by pass.

Promises: both are asked the same, and the first difference is told with both probabilities.
Does not know: what a decoder does; which reference is whose is said by their names.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from dard.checkup import literal
from dard.checkup.literal.rivals import eager
from dard.checkup.network import tokens
from dard.checkup.report import Mark, Notes
from dard.core.errors import InputError
from dard.decoders import DECODERS
from dard.decoders.base import Decoder
from dard.decoding.session import Session
from dard.models.base import Model, Question, answer_all, offers
from dard.trace import Step

POSITIONS = 32
PROMPT = 8
CLOSE = {torch.float32: 2e-5, torch.bfloat16: 0.02, torch.float16: 0.003}  # two probabilities that rounding may swap
TOLD = 1e-3  # apart: what is shown of two confidences differs
MOST_PASSES = 4 * POSITIONS


class AsNetwork:
    """A model called as its network is, on full sequences, for the references, which know of nothing else."""

    def __init__(self, model: Model) -> None:
        self.model: Any = model

    def __deepcopy__(self, _: Any) -> AsNetwork:
        return self

    def set_attn_implementation(self, _: str) -> None:
        """It gives attention as it is."""

    def get_input_embeddings(self) -> Any:
        return SimpleNamespace(weight=self.model.body.get_input_embeddings().weight.detach().float().cpu())

    def __call__(
        self,
        position_ids: Tensor,
        attention_mask: Tensor,
        input_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_attentions: bool = False,
        use_cache: bool = False,
    ) -> Any:
        positions = position_ids[0]
        mask = attention_mask[0, 0]
        mask = mask if mask.dtype == torch.bool else mask == 0
        if inputs_embeds is not None:
            return SimpleNamespace(logits=self.of_vectors(inputs_embeds, positions, mask)[None])
        assert input_ids is not None
        layers = tuple(range(self.model.num_layers)) if output_attentions else ()
        asked = Question(input_ids[0], positions, mask, torch.arange(len(positions)), attention=layers)
        answer = answer_all(self.model, [asked])[0]
        seen = () if answer.attention is None else tuple(layer[None, None].cpu() for layer in answer.attention)
        return SimpleNamespace(logits=answer.logits.cpu()[None], attentions=seen)

    def of_vectors(self, vectors: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        """Logits where everything is visible, of vectors in place of tokens."""
        model, body = self.model, self.model.body
        if getattr(model, "block_size", None):
            mask = mask & model.pattern(positions)
        with torch.no_grad():
            hidden = body(
                inputs_embeds=vectors.to(body.dtype).to(model.device),
                position_ids=(positions + getattr(model, "first_position", 0))[None].to(model.device),
                attention_mask=seen_by(body, mask[None, None].to(model.device)),
                **{name: value for name, value in model.forward_arguments.items() if name != "window"},
            ).last_hidden_state[0]
            if model.shifted:
                hidden = torch.cat([hidden[:1], hidden[:-1]])
            return model.head(hidden).float().cpu()


def seen_by(body: Any, mask: Tensor) -> Any:
    """The mask as a network takes it: by its kinds of layers, where some see near positions only."""
    return {"full_attention": mask, "sliding_attention": mask} if hasattr(body.config, "local_attention") else mask


def decoders(notes: Notes, model: Model, positions: int = POSITIONS) -> None:
    """A line for every decoder of the project."""
    for name, decoder in DECODERS.items():
        reference = getattr(literal, name, None)
        if missing := decoder.needs - offers(model):
            notes.add("skipped", name, f"It needs {' and '.join(sorted(missing))}, which this model does not offer.")
        elif reference is None:
            notes.add("skipped", name, "There is no literal version of it to compare with.")
        else:
            against(notes, model, decoder, reference, positions)
    eager.cache_clear()  # it holds on to networks


def start(model: Model, positions: int) -> tuple[list[int], int, int]:
    """A prompt of plain tokens, the length of the region after it, and that of its blocks."""
    block = getattr(model, "block_size", None)
    room = min(positions, model.max_length - PROMPT)
    if block is None:
        return tokens(model, 7, PROMPT).tolist(), room, max(1, room // 2)
    before = block * max(1, math.ceil(PROMPT / block))
    room = max(positions, block)  # whole blocks, one at least
    return tokens(model, 7, before).tolist(), min(room, model.max_length - before) // block * block, block


def against(notes: Notes, model: Model, decoder: Decoder, reference: Callable[..., Any], positions: int) -> None:
    """One decoder: equal to the end, a tie, or the first difference."""
    prompt, length, block = start(model, positions)
    alike = {"gen_length": length, "block_length": block, "temperature": 0.0, "eos": "free", "prefix_cache": "off"}
    session = Session(model, prompt, decoder, record=False, **alike)
    values = session.settings.as_dict()
    known = {name: values[name] for name in inspect.signature(reference).parameters if name in values}
    given = {**known, "block_length": block}
    if values.get("per_pass") is not None:
        raise InputError(
            f"per_pass = {values['per_pass']} has no literal version; leave it out of the model's settings"
        )
    network: Any = getattr(model, "network", None)
    close = CLOSE.get(getattr(network, "dtype", torch.float32), CLOSE[torch.float32])
    name, passes = decoder.name, 0
    for moment in reference(AsNetwork(model), prompt, [model.mask_id] * length, model.mask_id, **given):
        if session.finished or passes == MOST_PASSES:
            break
        step, passes = session.step(), passes + 1
        if found := difference(model, step, moment, close):
            mark, told = found
            notes.add(mark, name, f"Equal for {passes - 1} passes. {told}.", passes=passes, closest=moment.closest)
            return
    told = f"{passes} passes over {length} positions, token for token as in its literal version."
    notes.add("ok", name, told, passes=passes)


def difference(model: Model, step: Step, moment: literal.Moment, close: float) -> tuple[Mark, str] | None:
    """Where a pass differs from the reference's, if it does: a tie if both saw the same numbers, of which two were
    close enough for rounding to swap them."""
    sure = [value or 0.0 for value in step.confidence]
    unlike = [i for i, value in enumerate(moment.confidence) if not abs(value - sure[i]) <= 10 * close + TOLD]
    other = [
        i for i, state in enumerate(moment.states) if step.tokens[i] != moment.tokens[i] or step.states[i] != state
    ]
    if not unlike and not other:
        return None
    place = (unlike or other)[0]
    ours = f"{model.token_text(step.tokens[place])!r} ({step.states[place]}) at {sure[place]:.4f}"
    token, state, value = moment.tokens[place], moment.states[place], moment.confidence[place]
    theirs = f"{model.token_text(token)!r} ({state}) at {value:.4f}"
    told = f"Then, at position {place}, it has {ours} and the literal version {theirs}"
    if unlike or moment.closest >= close:
        return "fail", f"{told}, and nothing up to there was close" if not unlike else told
    return "ok", f"{told}: a tie, as two of the numbers compared up to there are {moment.closest:.1e} apart"
