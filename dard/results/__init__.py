"""Variants of decoders on samples: the rows they give, the files that hold these, and the decode behind each.

Promises: whoever has a results file can make any run in it again.
Does not know: what the rows are for, tables, figures.
"""

from __future__ import annotations

from dard.results.file import Results
from dard.results.frames import load

__all__ = ["Results", "load"]
