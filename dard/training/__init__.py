"""How the embedded model is made: corpus, network, optimiser, loop, export, figures, model card.

Promises: a folder is written only after training has ended, and loads like any other model's.
Does not know: experiments, the page.
"""

from dard.training.pipeline import train

__all__ = ["train"]
