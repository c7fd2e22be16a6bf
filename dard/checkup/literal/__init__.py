"""Slow, literal references of the decoders, written from their papers before our own code was read.

Promises: plain loops over positions, one full forward of the network per step with the head on every row, softmax in
float64. One `Moment` per forward pass.
Does not know: the library. Nothing here imports any other of its rooms, so that what agrees was written twice.
"""

from dard.checkup.literal.passes import Moment
from dard.checkup.literal.plain import entropy_bound, saber, standard, threshold
from dard.checkup.literal.rivals import dapd, edit, remix
from dard.checkup.literal.shadows import dard, wino

__all__ = ["Moment", "dapd", "dard", "edit", "entropy_bound", "remix", "saber", "standard", "threshold", "wino"]
