"""The one question the decoders ask a model, its answer, and how to put several questions at once.

A model is anything with the attributes and methods of `Model`. It is asked for logits at chosen rows of a sequence
in which every query sees exactly the keys a boolean mask allows, at explicit positions. It knows nothing of states,
shadows or steps. What else a question can ask for, a model may offer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from dard.core.errors import InputError

NO_MASK = -1  # the mask of a model that begins as noise
PARTS = ("name", "vocab_size", "mask_id", "max_length", "encode", "decode")  # of a model, whatever else it has


@dataclass(frozen=True)
class Question:
    """One forward pass: ids [S], positions [S], mask bool [S, S] (True: may see), rows [R] to read logits at.

    `attention` names the layers whose weights are wanted back, counted from 0, `layers` those whose own logits are;
    `soft` puts mixes in place of tokens.
    """

    ids: Tensor
    positions: Tensor
    mask: Tensor
    rows: Tensor
    attention: tuple[int, ...] = ()
    soft: Soft | None = None
    frozen: Frozen | None = None
    layers: tuple[int, ...] = ()
    noise: Noise | None = None

    @property
    def needs(self) -> frozenset[str]:
        """What a model must offer to answer it."""
        asked = {
            "attention": bool(self.attention),
            "layers": bool(self.layers),
            "soft": self.soft is not None,
            "noise": self.noise is not None,
        }
        return frozenset(name for name, wanted in asked.items() if wanted)


@dataclass(frozen=True)
class Soft:
    """In place of a token, a convex mix of token embeddings: at each of `positions` [K], which index the sequence,
    the embeddings of `ids` [K, m] by `weights` [K, m]. What the question's own ids say there has no effect."""

    positions: Tensor
    ids: Tensor
    weights: Tensor

    def __post_init__(self) -> None:
        count = len(self.positions)
        if self.ids.shape != self.weights.shape or self.ids.dim() != 2 or len(self.ids) != count:
            raise InputError(
                f"a soft input of {count} positions needs ids and weights [{count}, m], "
                f"not {list(self.ids.shape)} and {list(self.weights.shape)}"
            )
        if len(self.positions.unique()) != count:
            raise InputError("the positions of a soft input must differ from one another")
        total = self.weights.sum(dim=1, dtype=torch.float32)
        if not bool((self.weights >= 0).all() & ((total - 1).abs() < 0.01).all()):  # bfloat16 counts to three digits
            raise InputError("the weights of a soft input must be 0 or more and sum to 1 at every position")


@dataclass(frozen=True)
class Noise:
    """That the last canvas of the sequence is being denoised: where the prompt ends, and what the pass before told of
    it, as the model's `conditioning` has it (None: it is the first)."""

    prompt: int
    told: Tensor | None = None


@dataclass(frozen=True)
class Frozen:
    """The first `length` keys and values of a question shall be those of an earlier one, the `opening` of its block.

    Without an opening the question is the opening itself. No row to be read lies among the frozen ones.
    """

    length: int
    opening: Question | None = None


@dataclass(frozen=True)
class Answer:
    """`logits` float32 [R, vocab], which the caller may overwrite. `attention` float32 [layers asked for, S, S]: how
    much each row of the question looks at each key, the mean over heads; 0 in the rows of a prefix that was frozen
    in an earlier pass, which look nowhere in this one. `layers` float32 [layers asked for, R, vocab]: the logits that
    each layer's hidden states would give, were it the last one."""

    logits: Tensor
    attention: Tensor | None = None
    layers: Tensor | None = None


@runtime_checkable
class Model(Protocol):
    """What a decoder needs. `num_layers` bounds the reach of a token, `max_length` prompt and region together.

    A model that can do more than `logits` says so in `offers`, a set of names, and has a method for it:
    - `answer(questions)`, a list of `Answer`s: "batch" (several questions in one pass; without it there is always one),
      "attention", "layers", "soft", and "freeze" (it keeps keys and values). It is never asked for what it does not
      offer;
    - `with_image(*images)`, which gives a model with another `prefix`: "images";
    - `with_thinking()`, which gives a model that is told to think before it answers: "think";
    - `with_prefill(text)`, which gives a model that finds its answer begun with a text: "prefill";
    - `conditioning(logits)` and `canvas_length`: "noise". It knows no mask, its `mask_id` is NO_MASK, and it denoises
      canvases of so many random tokens; a pass is told what the one before made of a canvas.

    It may also have `encode_piece(text)`, for a piece of a template, which a chat model must not wrap; `prefix` and
    `suffix`, token ids before every prompt and at the end of every region; `end_ids`, further tokens that end a text;
    `special_ids`, all tokens that are marks and no text;
    `defaults`, settings; `chat`, whether `encode` wraps; `words`, all that it can read, if that is a closed list with
    spaces between them; and `block_size`, if it was trained on blocks of so many tokens, counted from the first token
    of the prompt, of which none sees a later one, with `pattern(positions)`: who may see whom there, bool [S, S].
    """

    name: str
    mask_id: int
    eos_id: int | None
    vocab_size: int
    num_layers: int
    max_length: int

    @property
    def device(self) -> torch.device: ...

    def logits(self, ids: Tensor, positions: Tensor, mask: Tensor, rows: Tensor) -> Tensor:
        """One forward pass; float32 [R, vocab], which the caller may overwrite."""
        ...

    def encode(self, prompt: str) -> list[int]: ...

    def decode(self, ids: Sequence[int]) -> str: ...

    def token_text(self, token: int) -> str: ...


def offers(model: Model) -> frozenset[str]:
    """What a model can do beyond `logits`."""
    return getattr(model, "offers", frozenset())


def as_trained(model: Model, question: Question) -> Question:
    """The question under the mask the model really uses: what was asked for, as far as its own pattern allows it."""
    if getattr(model, "block_size", None) is None:
        return question
    return replace(question, mask=question.mask & model.pattern(question.positions))  # type: ignore[attr-defined]


def check_is_model(model: object) -> None:
    """Refuse what is no model, most often the name of one."""
    if isinstance(model, str):
        raise InputError(f"model = {model[:60]!r} is a name; load it first: dard.load_model({model[:60]!r})")
    if lacking := [name for name in PARTS if not hasattr(model, name)]:
        raise InputError(
            f"model is a {type(model).__name__}, which has no {lacking[0]}; give what dard.load_model returns, or "
            f"a model of your own, which has {', '.join(PARTS)} and more (docs/extend.md)"
        )


def check_needs(model: Model, needs: frozenset[str], who: str) -> None:
    """Refuse a model that does not offer what `who` needs.

    >>> from dard.models.scripted import los_diego
    >>> check_needs(los_diego(), frozenset({"soft"}), "it")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dard.core.errors.InputError: it needs soft inputs, which model 'los-diego' does not offer; it offers nothing but...
    """
    able = offers(model)
    if "noise" in able - needs:
        raise InputError(f"{who} needs masks, which model {model.name!r} does not know: it begins as noise")
    if missing := needs - able:
        spoken = [{"soft": "soft inputs", "noise": "a canvas of noise"}.get(name, name) for name in sorted(missing)]
        raise InputError(
            f"{who} needs {' and '.join(spoken)}, which model {model.name!r} does not offer; "
            f"it offers {', '.join(sorted(able)) or 'nothing but logits'}"
        )


def answer(model: Model, question: Question) -> Answer:
    """The answer to one question."""
    return answer_all(model, [question])[0]


def answer_all(model: Model, questions: Sequence[Question]) -> list[Answer]:
    """The answers to several independent questions, in one forward pass where the model can do that.

    A model that keeps no keys and values computes a frozen prefix anew, as it now is.
    """
    for question in questions:
        check_needs(model, question.needs, "a question")
        for what, layers in {"attention": question.attention, "logits": question.layers}.items():
            for layer in layers:
                if not 0 <= layer < (count := model.num_layers):
                    last = count - 1
                    raise InputError(f"{what} of layer {layer} is not there; {model.name!r} has layers 0 to {last}")
    able = offers(model)
    if "freeze" not in able:
        questions = [replace(question, frozen=None) for question in questions]
    more = getattr(model, "answer", None)
    if more is None:
        return [Answer(model.logits(q.ids, q.positions, q.mask, q.rows)) for q in questions]
    groups = [questions] if "batch" in able else [[question] for question in questions]
    answers = [each for group in groups for each in more(group)]
    if len(answers) != len(questions):
        raise InputError(f"model {model.name!r} gave {len(answers)} answers to {len(questions)} questions")
    return answers


def rows_of(question: Question, place: int) -> Tensor:
    """The rows of a question that predict a place of the sequence."""
    return question.rows[question.positions[question.rows] == place]


def with_token_hidden(
    question: Question, mask_id: int, place: int, rows: Tensor | None = None, visible: bool = False
) -> Question:
    """A question in which the token at a place of the sequence is hidden: from everyone, its id a mask; or from some
    rows alone, which see its shadow instead, if it has one. `visible` shows it to those rows, in its shadow's place."""
    ids, mask = question.ids.clone(), question.mask
    here, token = question.positions == place, question.ids != mask_id
    if rows is None:
        ids[here] = mask_id
    else:
        mask = mask.clone()
        mask[rows[:, None], (here & token).nonzero()[:, 0]] = visible
        mask[rows[:, None], (here & ~token).nonzero()[:, 0]] = not visible
    frozen = question.frozen
    if rows is None and frozen and frozen.opening and place < frozen.length:  # what is kept was computed from it
        frozen = Frozen(frozen.length, with_token_hidden(frozen.opening, mask_id, place))
    return replace(question, ids=ids, mask=mask, frozen=frozen)
