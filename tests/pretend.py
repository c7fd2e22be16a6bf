"""A pretend GPU: tensors that say they are on "pretend:0" and hold CPU data, and rules that refuse what CUDA would.

Under `pretending()` an operation that mixes devices raises, as on a GPU; copies, CPU scalars of no dimension and CPU
indices are allowed. It counts what costs time on a real one: transfers between devices, and synchronisations, where the
computer must wait for the device. `put` moves a network there. Knows nothing of what is run on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only

aten = torch.ops.aten
COPIES = {aten._to_copy.default, aten.copy_.default, aten.set_.source_Storage}
INDEXED = {aten.index.Tensor, aten.index_put_.default, aten.index_put.default, aten._index_put_impl_.default}
# The number of results is read from the data: the computer waits for it.
WAITS = {
    aten._local_scalar_dense.default,
    aten.nonzero.default,
    aten.masked_select.default,
    aten._unique2.default,
    aten.equal.default,
    aten.is_nonzero.default,
}
MATH = 0  # the way of scaled_dot_product_attention that is made of ordinary operations


@cache
def register() -> None:
    torch.utils.backend_registration._setup_privateuseone_for_python_backend("pretend")


class OnDevice(Tensor):
    """CPU data that says it is elsewhere."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor, device: torch.device) -> OnDevice:
        made = Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=device,
            requires_grad=False,
        )
        made.held = held
        return made

    def __repr__(self, **_: Any) -> str:
        return f"{self.held!r} on {self.device}"

    def numpy(self, **_: Any) -> Any:
        raise TypeError(f"can't convert {self.device} device type tensor to numpy")

    def untyped_storage(self) -> Any:
        return self.held.untyped_storage()

    def tolist(self) -> Any:
        return self.cpu().tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise AssertionError(f"{func} was called outside pretending()")


class Pretending(TorchDispatchMode):
    """Runs everything on the held data, after a look at where it all is."""

    def __init__(self) -> None:
        super().__init__()
        self.transfers = self.waits = 0
        self.room: int | None = None  # numbers a single result may have

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        tensors = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, Tensor)]
        devices = {each.device for each in tensors if isinstance(each, OnDevice)}
        if func is aten._fused_sdp_choice.default:
            return MATH
        target = kwargs.get("device")
        target = torch.device(target) if target is not None else None
        copies = func in COPIES
        if devices and not copies:
            strangers = [each for each in tensors if not isinstance(each, OnDevice) and each.dim()]
            if func in INDEXED:  # CPU indices are allowed, CPU data or values are not
                data = [args[0], *(value for value in args[2:3] if isinstance(value, Tensor) and value.dim())]
                strangers = [each for each in data if not isinstance(each, OnDevice)]
                sent = [i for i in args[1] if isinstance(i, Tensor) and not isinstance(i, OnDevice)]
                self.transfers += any(i.numel() > 0 for i in sent)
                self.waits += any(i.dtype == torch.bool for i in args[1] if isinstance(i, Tensor))
            if strangers or len(devices) > 1:
                where = sorted({str(each.device) for each in tensors})
                raise RuntimeError(f"Expected all tensors to be on the same device, but found {where} in {func}")
        self.waits += func in WAITS and bool(devices)
        if copies and func is not aten._to_copy.default:
            self.transfers += len({each.device for each in tensors}) > 1
            place = args[0].device
        else:
            place = target or (next(iter(devices)) if devices else torch.device("cpu"))
            self.transfers += func is aten._to_copy.default and place != args[0].device and args[0].numel() > 0
        if place.type == "pretend" and place.index is None:
            place = torch.device("pretend", 0)
        if target is not None:
            kwargs["device"] = torch.device("cpu")
        inner_args, inner_kwargs = tree_map_only(OnDevice, lambda each: each.held, (args, kwargs))
        if func is aten.histc.default:  # a GPU counts whole numbers, too
            inner_args = (inner_args[0].float(), *inner_args[1:])
        out = func(*inner_args, **inner_kwargs)
        if func in (aten._local_scalar_dense.default, aten.equal.default) or place.type != "pretend":
            return out
        first = args[0] if args else None
        if func.__name__.split(".")[0].endswith("_") and isinstance(first, OnDevice):
            return first  # changed in its place
        if self.room is not None:
            for made in tree_flatten(out)[0]:
                if isinstance(made, Tensor) and made.numel() > self.room:
                    raise torch.OutOfMemoryError(f"pretend out of memory. Tried to allocate {made.numel()} numbers.")
        return tree_map_only(Tensor, lambda each: OnDevice(each, place), out)


def as_index(index: Any) -> Any:
    """An index in which lists are tensors of the computer, as they are before they are sent."""
    if isinstance(index, tuple):
        return tuple(as_index(part) for part in index)
    return torch.tensor(index, dtype=None if index else torch.long) if isinstance(index, list) else index


class FromLists(TorchFunctionMode):
    """What is made of lists is made on the computer and sent to a device without asking any mode; here it asks."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in (torch.tensor, torch.as_tensor) and torch.device(kwargs.get("device") or "cpu").type == "pretend":
            return func(*args, **kwargs | {"device": "cpu"}).to(kwargs["device"])
        if func in (Tensor.__getitem__, Tensor.__setitem__) and isinstance(args[0], OnDevice):
            args = (args[0], as_index(args[1]), *args[2:])
        return func(*args, **kwargs)


@contextmanager
def pretending() -> Iterator[Pretending]:
    register()
    with torch.no_grad(), FromLists(), Pretending() as mode:
        yield mode


def put(network: nn.Module, device_of: Callable[[str], str] = lambda name: "pretend:0") -> nn.Module:
    """Move a network's weights and buffers; `device_of` names the device of each module by its name."""
    for name, module in network.named_modules():
        device = torch.device(device_of(name))
        for key, weight in module._parameters.items():
            if weight is not None:
                module._parameters[key] = nn.Parameter(OnDevice(weight.data, device), requires_grad=False)
        for key, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[key] = OnDevice(buffer, device)
    return network
