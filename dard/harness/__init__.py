"""Evaluation harnesses of others: lm-eval and lmms-eval ask, a decoder of ours answers, and every decode is kept.

`answers.py` does the work, `runs.py` writes the folder a run leaves behind, `lm.py` and `lmms.py` are the thin classes
that the two harnesses want to see; each of these imports its harness, and nothing else does.

Promises: what a harness gets is what `dard.decode` would give.
Does not know: how a harness scores.
"""

from __future__ import annotations

from typing import Any


def manifest() -> Any:
    """What lmms-eval finds by the entry point "lmms_eval.models": the name of the model, and where its class is."""
    from lmms_eval.models.registry_v2 import ModelManifest

    return ModelManifest(model_id="dard", simple_class_path="dard.harness.lmms.DardLmms")
