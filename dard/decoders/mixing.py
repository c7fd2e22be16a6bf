"""How far a masked position trusts the x path after its neighbours were promoted or demoted (the paper's Eqs. 5 and 6).

Promises: plain Python, no torch, so that whoever shows a trace can check its weights.
Does not know: logits, states, settings.
"""

from __future__ import annotations


def mixing_weights(
    masked: list[int], promoted: list[int], demoted: list[int], decay: float, p0: float
) -> tuple[list[float], list[float], list[float]]:
    """P_t^i, D_t^i and w_t^i of the masked positions (Eqs. 5 and 6) with the kernel K(i, j) = λ^|i − j|.

    >>> P, D, w = mixing_weights([3], promoted=[], demoted=[4], decay=0.917, p0=0.1)
    >>> round(w[0], 2)
    0.1
    """
    places = [*masked, *promoted, *demoted]
    kernel = [decay**distance for distance in range(max(places) - min(places) + 1)] if places else []
    P = [sum(kernel[abs(i - j)] for j in promoted) for i in masked]
    D = [sum(kernel[abs(i - j)] for j in demoted) for i in masked]
    return P, D, [(p + p0) / (p + d + p0) for p, d in zip(P, D, strict=True)]
