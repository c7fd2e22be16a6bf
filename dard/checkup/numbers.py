"""The numbers of a network: finite weights, finite activations, and what its type costs against float32.

Promises: a network is left as it was found, also when it was computed in float32 for a moment.
Does not know: what a network is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from dard.checkup.network import logits, question
from dard.checkup.report import Notes
from dard.models.base import Model

CHANGED_AT_MOST = 0.25  # of the most probable tokens, on random text, where many a choice is close
ZERO_ROWS = 0.2  # of a matrix: so many are no accident
AT_ONCE = 1 << 24  # numbers that are looked at together


def weights(notes: Notes, model: Model) -> None:
    """No weight is left over, none is NaN or infinite, and no matrix is half empty."""
    network: Any = getattr(model, "network", None)
    if network is None:
        notes.add("skipped", "weights", "This model has no weights.")
        return
    unused = list(getattr(network, "unused_weights", ()))
    if unused:
        told = f"{len(unused)} tensors of the files have no place in the network, the first being {unused[0]}"
        notes.add("note", "leftovers", f"{told}: what they belong to is not computed.", unused=unused[:20])
    else:
        notes.add("ok", "leftovers", "Every tensor of the files has its place in the network, or needs none.")
    bad = [name for name, weight in network.named_parameters() if not finite(weight)]
    if bad:
        told = f"{bad[0]} holds NaN or infinity, as do {len(bad) - 1} other tensors."
        notes.add("fail", "weights", told, tensors=bad[:20])
        return
    empty = [name for name, weight in network.named_parameters() if half_empty(weight, int(network.config.vocab_size))]
    if empty:
        told = f"{empty[0]} has many rows of nothing but zeros, as have {len(empty) - 1} others: it was loaded in part."
        notes.add("fail", "weights", told, tensors=empty[:20])
        return
    count = sum(weight.numel() for weight in network.parameters())
    kinds = ", ".join(sorted({str(w.dtype).removeprefix("torch.") for w in network.parameters()}))
    notes.add("ok", "weights", f"{count:,} weights in {kinds}, all of them finite.", weights=count)


def finite(weight: Tensor) -> bool:
    if not weight.is_floating_point():
        return True
    return all(bool(torch.isfinite(part).all()) for part in weight.detach().flatten().split(AT_ONCE))


def half_empty(weight: Tensor, vocabulary: int) -> bool:
    """Whether a matrix, or one of several experts in a tensor, has rows of zeros: words may, layers do not."""
    if weight.dim() < 2 or vocabulary in weight.shape or not weight.is_floating_point():
        return False
    zeros = (weight.detach() == 0).all(dim=-1).float().mean(dim=-1)
    return bool((zeros > ZERO_ROWS).any())


def activations(notes: Notes, model: Model) -> None:
    """A pass over a few tokens has finite logits; if not, the module they stop being finite in."""
    network: Any = getattr(model, "network", None)
    first: list[str] = []
    hooks = [] if network is None else [
        module.register_forward_hook(lambda _m, _i, out, name=name: note(first, name, out))
        for name, module in network.named_modules() if not list(module.children())
    ]  # fmt: skip
    try:
        found = logits(model, question(model))
    finally:
        for hook in hooks:
            hook.remove()
    wrong = int((~torch.isfinite(found)).sum())
    if not wrong and not first:
        notes.add("ok", "finite", f"Logits lie between {float(found.min()):.1f} and {float(found.max()):.1f}.")
        return
    where = f", first in {first[0]}" if first else ""
    kind = str(getattr(network, "dtype", "")).removeprefix("torch.")
    share = f"{wrong} of {found.numel()} logits are NaN or infinite" if wrong else "NaN or infinity comes up"
    hint = "the weights are wrong" if kind == "float32" else f"{kind} overflows, or the weights are wrong"
    notes.add("fail", "finite", f"{share}{where}: {hint}.", where=first[:5])


def note(first: list[str], name: str, out: Any) -> None:
    for each in out if isinstance(out, tuple | list) else (out,):
        if isinstance(each, Tensor) and each.is_floating_point() and not bool(torch.isfinite(each).all()):
            first.append(name)


@contextmanager
def in_float32(network: Any) -> Iterator[None]:
    """The network computes in float32 meanwhile, one module's weights at a time, so that no second copy is needed."""
    own = network.dtype
    hooks, held = [], dict[int, tuple[nn.Module, nn.Parameter, Tensor]]()

    def widen(module: nn.Module, _: Any) -> None:
        for weight in module.parameters(recurse=False):
            if weight.dtype != torch.float32:  # else it is shared, and whoever came first has widened it
                held[id(weight)] = (module, weight, weight.data)
                weight.data = weight.data.float()

    def restore(module: nn.Module, _inputs: Any, _out: Any) -> None:
        for number, (owner, weight, data) in list(held.items()):
            if owner is module:
                weight.data = data
                del held[number]

    for module in network.modules():
        if next(module.parameters(recurse=False), None) is not None:
            hooks += [module.register_forward_pre_hook(widen), module.register_forward_hook(restore)]
    configs = {id(m.config): m.config for m in network.modules() if getattr(getattr(m, "config", None), "dtype", None)}
    try:
        for config in configs.values():
            config.dtype = torch.float32
        yield
    finally:
        for hook in hooks:
            hook.remove()
        for _, weight, data in held.values():
            weight.data = data
        for config in configs.values():
            config.dtype = own


def against_float32(notes: Notes, model: Model) -> None:
    """The same questions in the type of the weights and in float32: how many most probable tokens differ."""
    network: Any = getattr(model, "network", None)
    name = "precision"
    if network is None or getattr(network, "dtype", torch.float32) == torch.float32:
        notes.add("skipped", name, "It computes in float32: there is nothing to compare with.")
        return
    if getattr(network, "is_quantized", False) or getattr(network, "hf_device_map", None):
        notes.add("skipped", name, "Weights in fewer bits, or on several devices, are not computed in float32 here.")
        return
    asked = [question(model, seed) for seed in range(4)]
    own = torch.cat([logits(model, each) for each in asked])
    with in_float32(network):
        wide = torch.cat([logits(model, each) for each in asked])
    changed = float((own.argmax(-1) != wide.argmax(-1)).float().mean())
    largest, kind = float((own - wide).abs().max()), str(network.dtype).removeprefix("torch.")
    told = (
        f"Against float32 {kind} changes {changed:.0%} of the most probable tokens of {len(own)} positions; "
        f"logits differ by {largest:.3f} at most"
    )
    numbers = {"changed": changed, "largest": largest}
    if bool(torch.isfinite(wide).all()) and not bool(torch.isfinite(own).all()):
        notes.add("fail", name, f"In float32 all logits are finite: say dtype = 'float32', not {kind}.", **numbers)
    elif not bool(torch.isfinite(wide).all()):
        notes.add("fail", name, "In float32, too, logits are NaN or infinite: it is the weights.", **numbers)
    elif changed > CHANGED_AT_MOST:
        notes.add("fail", name, f"{told}: too many for rounding.", **numbers)
    else:
        notes.add("ok", name, f"{told}.", **numbers)
