"""Muon for the matrices inside the layers, AdamW for embeddings and norms.

Promises: one `step` per call with the learning rates it is given, and a state that can be saved and restored
exactly.
Does not know: schedules, data, or when to stop.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

# The quintic polynomial whose iteration pushes all singular values towards one.
_A, _B, _C = 3.4445, -4.7750, 2.0315
_ITERATIONS = 5


def orthogonalise(matrices: Tensor) -> Tensor:
    """The nearest matrices [n, rows, columns] with singular values close to one."""
    wide = matrices.shape[-2] <= matrices.shape[-1]
    x = matrices if wide else matrices.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(_ITERATIONS):
        square = x @ x.mT
        x = _A * x + (_B * square + _C * square @ square) @ x
    return x if wide else x.mT


class Muon(torch.optim.Optimizer):
    """Momentum, orthogonalised; equal shapes are handled in one batched product."""

    def __init__(self, matrices: list[nn.Parameter], momentum: float = 0.95, weight_decay: float = 0.02) -> None:
        shapes = sorted({tuple(matrix.shape) for matrix in matrices})
        groups = [{"params": [m for m in matrices if tuple(m.shape) == shape]} for shape in shapes]
        super().__init__(groups, {"lr": 0.0, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            updates: list[Tensor] = []
            for matrix in group["params"]:
                state = self.state[matrix]
                if not state:
                    state["average"] = torch.zeros_like(matrix)
                average: Tensor = state["average"]
                average.lerp_(matrix.grad, 1 - group["momentum"])
                updates.append(matrix.grad.lerp(average, group["momentum"]))
            larger_side = max(group["params"][0].shape)
            directions = orthogonalise(torch.stack(updates)) * (0.2 * larger_side**0.5)
            for matrix, direction in zip(group["params"], directions, strict=True):
                matrix.mul_(1 - group["lr"] * group["weight_decay"]).sub_(direction, alpha=group["lr"])


class Optimiser:
    """Both optimisers behind one schedule factor between 0 and 1."""

    def __init__(self, network: nn.Module, matrix_rate: float = 0.005, other_rate: float = 0.003) -> None:
        inside = [p for name, p in network.named_parameters() if p.ndim == 2 and "wte" not in name]
        others = [p for name, p in network.named_parameters() if p.ndim < 2 or "wte" in name]
        self._rates = (matrix_rate, other_rate)
        self._muon = Muon(inside)
        self._adam = torch.optim.AdamW(others, lr=other_rate, betas=(0.9, 0.98), weight_decay=0.0)

    def step(self, factor: float) -> None:
        """Update all weights with the learning rates times `factor`, and clear the gradients."""
        for optimiser, rate in zip((self._muon, self._adam), self._rates, strict=True):
            for group in optimiser.param_groups:
                group["lr"] = rate * factor
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

    def state_dict(self) -> dict[str, object]:
        return {"muon": self._muon.state_dict(), "adam": self._adam.state_dict()}

    def load_state_dict(self, state: dict[str, dict[str, object]]) -> None:
        self._muon.load_state_dict(state["muon"])
        self._adam.load_state_dict(state["adam"])
