"""How the embedded model is made: corpus, network, optimiser, loop, export, figures, model card."""

from dard.training.pipeline import train

__all__ = ["train"]
