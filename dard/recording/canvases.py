"""Canvases of noise, recorded as a network's sampler denoises them: DiffusionGemma's `generate`, and what calls it so.

    with dard.record(network, tokenizer) as recording:
        network.generate(ids)
    recording.trace

Promises: as `watching` has it; the text is what the sampler returned. Which tokens it accepted is what its own sampler
says; where nobody says, what holds the most probable token counts as accepted, and the trace's rule tells so.
Does not know: the sampler's rule, or what runs inside a graph that torch.compile made.

How it sees: passes of the decoder have a canvas, those of the encoder the text that is complete, so an encoder's pass
after a canvas says what was committed. The next pass's canvas is what the last one left. Self-conditioning is an
argument like any other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from dard.core.errors import InputError, plain
from dard.recording.arguments import end_id, layers_of, model_name, parameters, token_ids
from dard.recording.measuring import logits_of
from dard.recording.watching import Watch
from dard.trace import Trace
from dard.trace.canvases import Canvas, CanvasPass, measured, trace_of
from dard.trace.limits import TOP_K
from dard.trace.noise import BOUND, LAST_PASS, STABLE, TEMPERATURE

SETTINGS = ("max_denoising_steps", "t_min", "t_max", "stability_threshold", "confidence_threshold", "max_new_tokens")


def begins_as_noise(network: Any) -> bool:
    """Whether a network denoises a canvas that begins as random tokens: it says how long one is, or is told what the
    pass before predicted."""
    config = getattr(network, "config", None)
    named = isinstance(getattr(config, "canvas_length", None), int)
    return isinstance(network, nn.Module) and (named or "self_conditioning_logits" in parameters(network.forward))


@dataclass
class Pass:
    """A pass over a canvas [B, L], and what was read off its logits, by row."""

    state: Tensor
    began: float = field(default_factory=time.perf_counter)
    answered: float | None = None
    ended: float | None = None
    found: list[dict[str, Any]] | None = None
    accepted: Tensor | None = None
    facts: dict[str, float] = field(default_factory=dict)


@dataclass
class Block:
    """The passes over one canvas, and what was committed [B, L]."""

    passes: list[Pass] = field(default_factory=list)
    committed: Tensor | None = None


class CanvasRecording(Watch):
    """A recording of canvases, under way, and what it has. The arguments are those of `Recording`.

    `settings` are filled with those of transformers' own `generate`, where that is what runs.
    """

    def __init__(
        self,
        network: nn.Module,
        tokenizer: Any = None,
        *,
        top: bool = True,
        name: str = "",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(network)
        self.config = getattr(network, "config", None)
        self.tokenizer = getattr(tokenizer, "tokenizer", tokenizer)  # of a processor
        self.top, self.name, self.settings = top, name, dict(settings or {})
        self._prompt: Tensor | None = None
        self._blocks: list[Block] = []
        self._sampler: Any = None
        self._generation: Any = None
        self._runs = 0
        self._encoding: Any = None

    def _replaced(self) -> Mapping[str, Any]:
        ours: dict[str, Any] = {}
        for name, seen in {"generate": self._generating, "_prepare_sampler": self._sampling}.items():
            if callable(own := getattr(self.network, name, None)):
                ours[name] = seen(own)
        encoder = getattr(self.network, "get_encoder", lambda: None)()
        encoder = getattr(getattr(self.network, "model", None), "encoder", None) if encoder is None else encoder
        if isinstance(encoder, nn.Module):
            self._handles.append(encoder.register_forward_pre_hook(self._encodes, with_kwargs=True))
        return ours

    # What else is seen than the passes over canvases.

    def _generating(self, generate: Callable[..., Any]) -> Callable[..., Any]:
        """The network's own `generate`, which returns what it committed."""

        def seen(*args: Any, **kwargs: Any) -> Any:
            self._runs += 1
            out = generate(*args, **kwargs)
            if self._handles and self._runs == 1:
                try:
                    self.finish(out)
                except Exception as trouble:
                    self._say(plain(trouble))
            return out

        return seen

    def _sampling(self, prepare: Callable[..., Any]) -> Callable[..., Any]:
        """What makes transformers' sampler of the settings that are in force."""

        def seen(config: Any, *args: Any, **kwargs: Any) -> Any:
            self._generation, self._sampler = config, prepare(config, *args, **kwargs)
            return self._sampler

        return seen

    def _encodes(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if torch.compiler.is_compiling() or self._runs > 1:
            return
        try:
            ids = token_ids(args, kwargs, parameters(module.forward))
            if ids is not None and self._open is None:
                self._encoded(ids)
        except Exception as trouble:
            self._cannot(f"a pass of {type(module).__name__} cannot be read ({plain(trouble)})")

    def _encoded(self, ids: Tensor) -> None:
        """Text that is complete, and goes into a cache: the prompt, or the canvas before."""
        block = self._blocks[-1] if self._blocks else None
        if block is None:
            self._prompt = ids.detach().clone() if self._prompt is None else torch.cat([self._prompt, ids], dim=1)
            return
        whole = self._text()
        if ids.shape[1] >= whole.shape[1] and torch.equal(ids[:, : whole.shape[1]], whole):
            ids = ids[:, whole.shape[1] :]  # everything was read anew
        if not ids.shape[1]:
            return
        if block.committed is None and ids.shape == block.passes[-1].state.shape:
            self._conclude(block.passes[-1], None)
            block.committed = ids.detach().clone()
        elif block.committed is None or not torch.equal(ids, block.committed):
            self._say("a text that does not go on with the recorded one was left out; record each run by itself")

    def _text(self) -> Tensor:
        """All that is complete, [B, T]."""
        assert self._prompt is not None
        return torch.cat([self._prompt, *(b.committed for b in self._blocks if b.committed is not None)], dim=1)

    # Passes over canvases.

    def _begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._runs > 1:
            self._say("another run of generate was left out; record each run by itself")
            return
        ids = kwargs.get("decoder_input_ids")
        if not isinstance(ids, Tensor):
            name = type(self.network).__name__
            self._cannot(f"{name} was called without decoder_input_ids, a canvas of which the noise is known")
            return
        context = kwargs.get("input_ids")
        if isinstance(context, Tensor):
            self._encoded(context)
        if self._prompt is None:
            self._prompt = ids[:, :0].detach().clone()
        state = ids.detach().clone()
        block = self._blocks[-1] if self._blocks else None
        if block is None or block.committed is not None:
            block = Block()
            self._blocks.append(block)
        else:
            if block.passes[-1].state.shape != state.shape:
                self._say(f"a pass over {list(state.shape)} tokens does not go on with the canvas, and was left out")
                return
            self._conclude(block.passes[-1], state)
        one = Pass(state)
        if (generation := self._generation) is not None:
            number, most = len(block.passes), generation.max_denoising_steps
            low, high = generation.t_min, generation.t_max
            if low is not None and high is not None:
                one.facts[TEMPERATURE] = low + (high - low) * ((most - number) / most)
            one.facts[BOUND] = generation.sampler_config.entropy_bound
        block.passes.append(one)
        self._open = one

    def _answer(self, one: Pass, output: Any) -> None:
        logits = logits_of(output)
        if logits is not None and logits.dim() == 3 and logits.shape[:2] == one.state.shape:
            one.found = measured(logits, one.facts.get(TEMPERATURE), TOP_K if self.top else 0)

    def _conclude(self, last: Pass, state: Tensor | None) -> None:
        """A pass is over when the next begins, or its canvas was committed."""
        last.ended = time.perf_counter()
        accepted = getattr(self._sampler, "accepted_token_mask", None)
        if isinstance(accepted, Tensor) and accepted.shape == last.state.shape:
            last.accepted = accepted.detach().clone()
        elif state is not None and last.found is not None:
            last.accepted = state == torch.tensor([each["drafts"] for each in last.found], device=state.device)

    def _end_of_run(self, failed: bool) -> None:
        if self._blocks and (block := self._blocks[-1]).committed is None:
            self._conclude(block.passes[-1], None)
            if not failed:
                self._say("what the last pass led to is not known; call recording.finish(out)")

    def finish(self, out: Any) -> None:
        """Tell the result: ids [B, T] of the canvases, or of the prompt and the canvases, or an object with
        `sequences`."""
        ids = getattr(out, "sequences", out[0] if isinstance(out, tuple | list) and len(out) else out)
        prompt = self._known
        widths = [block.passes[0].state.shape[1] for block in self._blocks]
        if isinstance(ids, Tensor) and ids.shape == (len(prompt), prompt.shape[1] + sum(widths)):
            ids = ids[:, prompt.shape[1] :]
        if not isinstance(ids, Tensor) or ids.shape != (len(prompt), sum(widths)):
            was = list(ids.shape) if isinstance(ids, Tensor) else type(ids).__name__
            raise InputError(f"finish was given {was}; it takes token ids of shape {[len(prompt), sum(widths)]}")
        last = self._blocks[-1]
        if last.committed is None:
            self._conclude(last.passes[-1], None)
        for block, part in zip(self._blocks, ids.split(widths, dim=1), strict=True):
            block.committed = part.detach().clone()

    # What there is.

    @property
    def _known(self) -> Tensor:
        if self._unread:
            more = f", and {len(self._unread) - 1} more" if len(self._unread) > 1 else ""
            raise InputError(f"{self._unread[0]}{more}")
        if not self._blocks or self._prompt is None:
            raise InputError(
                f"no pass of {type(self.network).__name__} over a canvas was seen; record the very module that the "
                "sampler calls"
            )
        return self._prompt

    @property
    def trace(self) -> Trace:
        """What was recorded until now, of the first row of the batch."""
        return self._trace(0)

    @property
    def traces(self) -> list[Trace]:
        """The same for every row of the batch."""
        return [self._trace(row) for row in range(len(self._known))]

    def _trace(self, row: int) -> Trace:
        prompt = self._known
        generation, settings = self._generation, dict(self.settings)
        if generation is not None:
            told = {name: getattr(generation, name, None) for name in SETTINGS}
            told[BOUND] = generation.sampler_config.entropy_bound
            settings = {name: value for name, value in told.items() if value is not None} | settings
        says = "recorded" if self._sampler is not None else "recorded · what holds the best guess counts as accepted"
        return trace_of(
            prompt[row].tolist(),
            [self._canvas(block, row) for block in self._blocks],
            self.tokenizer,
            name=self.name,
            rule=says,
            model=model_name(self.config, self.network),
            settings=settings,
            eos_id=end_id(self.tokenizer, generation if generation is not None else self.config),
            num_layers=layers_of(getattr(self.config, "text_config", self.config)),
        )

    def _canvas(self, block: Block, row: int) -> Canvas:
        """A canvas as one row of the batch had it: a row that is done waits for the others, unchanged."""
        passes: list[CanvasPass] = []
        committed = None if block.committed is None else block.committed[row].tolist()
        ended = ""
        for number, one in enumerate(block.passes):
            later = block.passes[number + 1] if number + 1 < len(block.passes) else None
            passes.append(self._pass(one, later, row))
            if self._stops([*passes]):
                ended = STABLE
                break
        if not ended and self._generation is not None and len(passes) == self._generation.max_denoising_steps:
            ended = LAST_PASS
        return Canvas(block.passes[0].state[row].tolist(), passes, committed, ended)

    def _pass(self, one: Pass, later: Pass | None, row: int) -> CanvasPass:
        found = one.found[row] if one.found else {"drafts": one.state[row].tolist()}
        ended = one.ended or time.perf_counter()
        forward = (one.answered or one.began) - one.began if one.state.device.type == "cpu" else 0.0
        made = CanvasPass(**found, facts=one.facts, seconds=(forward, ended - one.began - forward))
        after = None if later is None else later.state[row].tolist()
        accepted = None if one.accepted is None else one.accepted[row].tolist()
        return replace(made, after=after, accepted=accepted)

    def _stops(self, passes: list[CanvasPass]) -> bool:
        """Whether a row was done after these passes, by transformers' own criterion."""
        stable = getattr(self._generation, "stability_threshold", None)
        below = getattr(self._generation, "confidence_threshold", None)
        last = passes[-1]
        if stable is None or below is None or last.entropy is None or len(passes) <= stable:
            return False
        same = all(one.drafts == last.drafts for one in passes[-1 - stable :])
        return same and sum(last.entropy) / len(last.entropy) < below
