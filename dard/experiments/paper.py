"""Each table and quantitative figure of the paper: the command that makes it small, and what its full size needs.

The keys are the paper's own labels. A command runs on the embedded model as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass

_WEIGHTS = "the paper's numbers need its 8 B model (`--model`), its benchmark (`--task`) and a GPU"
_PICTURES = "the paper's numbers need MMaDA's weights, a GPU, and lmms-eval for the pictures"


@dataclass(frozen=True)
class Place:
    """A command without `dard` before it, or none; and one sentence on what the paper's own numbers need."""

    command: str | None
    needs: str = _WEIGHTS


# What the paper draws without numbers: the page draws the like of any decode, and each needs no more than that.
PICTURES = (
    "1_intro", "intro_example", "method", "3_method_sub", "qualitative_examples",
    *(f"appendix_qualitative_{number}" for number in range(1, 6)),
)  # fmt: skip

PAPER = {
    "attention_mask_ablation": Place("experiment mask-ablation"),
    "adaptive_logit_mixing": Place("experiment mixing-ablation"),
    "gen_block_length": Place("experiment lengths"),
    "candidate_transition_example": Place(
        "decode 'A man in a black shirt [MASK] [MASK] [MASK] [MASK] [MASK] [MASK] .' --why", _PICTURES
    ),
    "adaptive_weight_distribution": Place("experiment weight-statistics"),
    "ordering_alignment": Place("experiment ordering"),
    "accuracy_steps_llada": Place("experiment pareto"),
    "accuracy_steps_mmada": Place("experiment pareto --task captions", _PICTURES),
    "tau_ablation": Place("experiment thresholds"),
    "tps_performance_llada": Place("experiment pareto"),
    "tps_performance_mmada": Place("experiment pareto --task captions", _PICTURES),
    "latency_memory": Place("experiment cost"),
    "experiment_llm": Place("experiment pareto"),
    "experiment_lvlm": Place("experiment pareto --task captions", _PICTURES),
    "experiment_llada1_15": Place("experiment pareto"),
    "gen_length_ablation": Place("experiment budgets"),
    "fine_grained_multimodal_benchmark": Place(None, f"{_PICTURES} of MMVP, BLINK and HRBench: no small world has any"),
}
