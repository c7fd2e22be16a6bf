"""Routed experts as layers of their own, so that a mixture can be stored in few bits.

transformers stacks the matrices of all experts of a layer into one weight, and what quantises looks at linear layers
only: of a mixture, nearly all of which is experts, next to nothing would get smaller. Apart, each expert is quantised
as it is read, and what it says is the same. Stacked they are faster, so this is for weights in few bits alone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


class Expert(nn.Module):
    """One expert; its layers bear the names they have in a checkpoint."""

    def __init__(self, width: int, inner: int, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(width, inner, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x))


class Experts(nn.ModuleList):
    """In place of the stacked ones: called with tokens [S, width], whom each was sent to, and what that weighs."""

    def forward(self, tokens: Tensor, chosen: Tensor, weights: Tensor) -> Tensor:
        out = torch.zeros_like(tokens)
        for number in chosen.unique().tolist():
            row, place = (chosen == number).nonzero(as_tuple=True)
            said = self[number](tokens[row]) * weights[row, place, None]
            out.index_add_(0, row, said.to(out.dtype))
        return out


def are_stacked(module: nn.Module) -> bool:
    stacked = getattr(module, "gate_up_proj", None)
    return isinstance(stacked, nn.Parameter) and stacked.dim() == 3


def use_what_fits(network: Any) -> None:
    """The kernel that takes all experts of a layer at once wants rows of whole 16 bytes; small ones go one by one."""
    stacked = [module for module in network.modules() if are_stacked(module)]
    rows = [weight for module in stacked for weight in (module.gate_up_proj, module.down_proj)]
    if any(weight.shape[-1] * weight.element_size() % 16 for weight in rows):
        network.set_experts_implementation("eager")


def apart(family: Any, config: Any) -> tuple[Any, Any]:
    """A class of networks, and its config, with experts apart where it has any. The class keeps its name and the config
    loses its type, for these tell transformers what to do with a checkpoint's weights: rename, but not stack."""

    class Apart(family):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            for module in list(self.modules()):
                for name, each in module.named_children():
                    if are_stacked(each):
                        sizes = (each.hidden_dim, each.intermediate_dim, each.act_fn)
                        setattr(module, name, Experts(Expert(*sizes) for _ in range(each.num_experts)))

    Apart.__name__ = family.__name__
    config = copy.deepcopy(config)
    config.model_type = f"{config.model_type}, experts apart"
    return Apart, config
