"""The training loop: batches, schedule, checkpoints.

Promises: the learning rate falls to zero exactly when the budget ends, however slow the machine is, because the
schedule follows the share of the budget that is used up; a run that was interrupted continues from its last
checkpoint, and with a budget of steps it ends with the same weights as one that was not.
Does not know: what the words mean, or how good the model is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

from dard.core.errors import InputError
from dard.training.corpus import STAGES, Corpus
from dard.training.export import MODEL_FILES, read_back
from dard.training.muon import Optimiser
from dard.training.network import Network, Shape
from dard.training.vocabulary import build_tokenizer, word_list

Report = Callable[[str], None]


@dataclass(frozen=True)
class Budget:
    """How long to train: so many minutes of wall clock, or so many steps. One of the two."""

    minutes: float | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        if (self.minutes is None) == (self.steps is None):
            raise ValueError(f"a budget is either minutes or steps, got minutes={self.minutes} steps={self.steps}")
        amount = self.minutes if self.minutes is not None else self.steps
        if amount is None or amount <= 0:
            raise ValueError(f"a budget must be positive, got {amount}")

    def used(self, seconds: float, steps: int) -> float:
        """The share of the budget that is used up."""
        if self.minutes is not None:
            return seconds / (60 * self.minutes)
        assert self.steps is not None
        return steps / self.steps


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what is learned, except the budget."""

    seed: int = 0
    width: int = 128
    layers: int = 6
    heads: int = 4
    mlp: int = 352
    rows_per_source: int = 60_000
    shrink: int = 1
    matrix_rate: float = 0.005
    other_rate: float = 0.003
    warm_up: float = 0.03
    compiled: bool = True

    def shape(self) -> Shape:
        return Shape(len(word_list()), self.width, self.layers, self.heads, self.mlp)


# Small enough for a test: the machinery is the real one, the result is not.
SMOKE = Recipe(width=32, layers=2, heads=2, mlp=64, rows_per_source=400, shrink=8, compiled=False)


@dataclass(frozen=True)
class Trained:
    """A finished run; `started` says that it began with the weights of another model."""

    network: Network
    recipe: Recipe
    steps: int
    tokens: int
    seconds: float
    started: bool


def factor(used: float, warm_up: float) -> float:
    """The schedule: a short rise, then a straight line to zero at the end of the budget.

    >>> factor(0.0, 0.03), factor(0.03, 0.03), factor(1.0, 0.03)
    (0.0, 1.0, 0.0)
    """
    if used < warm_up:
        return used / warm_up
    return max(0.0, (1 - used) / (1 - warm_up))


def _begin_with(network: Network, folder: Path) -> None:
    """Give a network the weights of an exported one, if both have the same shape and the same words."""
    for name in MODEL_FILES:
        if not (folder / name).exists():
            raise InputError(f"{folder} holds no model to start from: there is no {name}")
    if Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab() != build_tokenizer().get_vocab():
        raise InputError(f"the model in {folder} knows other words than the worlds use now; train it from nothing")
    other = read_back(folder)
    if other.shape != network.shape:
        raise InputError(f"the model in {folder} has another shape: {other.shape}, not {network.shape}")
    network.load_state_dict(other.state_dict())


def run(
    recipe: Recipe,
    budget: Budget,
    work: Path,
    report: Report = print,
    checkpoint_seconds: float = 180,
    stop_after: int | None = None,
    start: Path | None = None,
) -> Trained:
    """Train until the budget is used up, continuing from `work` if it holds a checkpoint.

    `start` is the folder of a finished model whose weights a new run begins with, instead of random ones.
    `stop_after` ends the run after so many steps of this call, with a checkpoint, as an interruption would.
    """
    work.mkdir(parents=True, exist_ok=True)
    path = work / "checkpoint.pt"
    torch.manual_seed(recipe.seed)
    network = Network(recipe.shape())
    optimiser = Optimiser(network, recipe.matrix_rate, recipe.other_rate)
    step, tokens, seconds, started = 0, 0, 0.0, start is not None
    if path.exists():
        saved = torch.load(path, weights_only=True)
        if saved["recipe"] != asdict(recipe):
            raise InputError(f"{path} was made with another recipe; give another work folder: {saved['recipe']}")
        network.load_state_dict(saved["network"])
        optimiser.load_state_dict(saved["optimiser"])
        step, tokens, seconds, started = saved["step"], saved["tokens"], saved["seconds"], saved["started"]
        report(f"continuing at step {step}, {seconds / 60:.1f} minutes in")
    elif start is not None:
        _begin_with(network, start)

    def save() -> None:
        state: dict[str, Any] = {
            "recipe": asdict(recipe),
            "network": network.state_dict(),
            "optimiser": optimiser.state_dict(),
            "step": step,
            "tokens": tokens,
            "seconds": seconds,
            "started": started,
        }
        partial = path.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(path)

    report(f"{sum(p.numel() for p in network.parameters()):,} weights; preparing the corpus")
    corpus = Corpus(recipe.seed, recipe.rows_per_source, recipe.shrink)
    if recipe.compiled:
        # Layer by layer: all layers share one compilation per row length, which takes seconds, not minutes.
        torch._dynamo.config.recompile_limit = 4 * len(STAGES) * len(STAGES[0].groups)
        for block in network.blocks:
            block.compile(dynamic=False)

    first_step = step
    last = time.monotonic()
    last_save, last_report = last, last
    losses: dict[str, list[float]] = {}
    while budget.used(seconds, step) < 1 and step - first_step != stop_after:
        used = budget.used(seconds, step)
        batches = list(corpus.batches(step, used))
        hidden_words = sum(int(batch.hidden.sum()) for batch in batches)
        for batch in batches:
            hidden = torch.from_numpy(batch.hidden)
            targets = torch.from_numpy(batch.targets)[hidden]
            states = network(torch.from_numpy(batch.inputs), torch.from_numpy(batch.real))
            loss = F.cross_entropy(network.head(states[hidden]), targets, reduction="sum")
            (loss / hidden_words).backward()
            losses.setdefault(batch.group, []).append(loss.item() / max(1, len(targets)))
            tokens += int(batch.real.sum())
        optimiser.step(factor(used, recipe.warm_up))
        step += 1
        now = time.monotonic()
        seconds, last = seconds + now - last, now
        if now - last_report > 20:
            means = " ".join(f"{name} {sum(values) / len(values):.3f}" for name, values in losses.items())
            report(f"{100 * budget.used(seconds, step):5.1f} %  step {step}  {tokens / seconds:,.0f} words/s  {means}")
            losses.clear()
            last_report = now
        if now - last_save > checkpoint_seconds:
            save()
            last_save = now
    save()
    return Trained(network, recipe, step, tokens, seconds, started)
