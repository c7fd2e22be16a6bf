"""What a text says of a decode, checked on the decode: one checker for the gallery and the guided tour.

A claim is an object: `step` (from 1) and `position` say where, `says` quotes the sentence it stands for, and every
other entry is one of `CHECKS`, all of which must hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import dard
from dard.analysis.reach import contaminated
from dard.tasks.judge import judge
from dard.trace import Step
from dard.trace.annotations import annotated_step
from dard.trace.plain_words import plain_summary

PLACE = {"step", "position", "says", "versus", "lane"}
Check = Callable[[Any, dard.Trace, Any, int], bool]


def sees(step: Step, path: str, query: int, key: int) -> bool:
    """Whether the query of a path saw a position's token in this step."""
    assert step.mask is not None
    return bool(step.mask[query + (len(step.mask) // 2 if path == "s" else 0)][key])


def dependence(step: Step, one: int, other: int) -> tuple[float, float]:
    """How much the later of two in a rule's order depends on the earlier one, and the limit; both were free to go."""
    assert step.graph is not None and step.graph.cells is not None and not {one, other} & step.graph.blocked.keys()
    first, second = sorted(step.graph.positions.index(i) for i in (one, other))
    return round(step.graph.cells[second, first] / 255, 2), round(step.graph.limit, 2)


def verdict(trace: dard.Trace, step: Step, position: int) -> dard.Verdict:
    """A verdict of a trace of the embedded model, with its causes."""
    session = dard.Session(dard.load_model(trace.model), trace.prompt, trace.decoder, **trace.settings)
    session.run()
    *_, found = dard.examine(session, step.index, position)
    return found


def diagnosis(trace: dard.Trace) -> dard.Diagnosis:
    """Where a trace of the embedded model was lost; looked for once."""
    if trace.diagnosis is None:
        trace.diagnosis = dard.diagnose(trace, dard.load_model(trace.model))
    return trace.diagnosis


CHECKS: dict[str, Check] = {
    # at a step and a position
    "token": lambda wanted, trace, step, position: trace.word(step.tokens[position]) == wanted,
    "state": lambda wanted, trace, step, position: step.states[position] == wanted,
    "event": lambda wanted, trace, step, position: position in step.happened(wanted),
    "confidence": lambda wanted, trace, step, position: round(step.confidence[position], 2) == wanted,
    "between": lambda wanted, trace, step, position: wanted[0] < step.confidence[position] <= wanted[1],
    "weight": lambda wanted, trace, step, position: round(step.weights[position], 2) == wanted,
    "best": lambda wanted, trace, step, position: all(
        trace.word(step.top[path].at(position)[0][0]) == word for path, word in wanted.items()
    ),
    "made_of": lambda wanted, trace, step, position: (
        wanted in [trace.word(word) for word, share in step.soft.at(position) if share > 0.1]
    ),
    # of the verdict of a step on a position, and its causes
    "verdict": lambda wanted, trace, step, position: round(verdict(trace, step, position).actual, 3) == wanted,
    "deciding": lambda wanted, trace, step, position: (
        {str(c.position): [round(c.without, 3), c.state] for c in verdict(trace, step, position).deciding} == wanted
    ),
    "others_at_most": lambda wanted, trace, step, position: all(
        round(cause.without, 3) <= wanted
        for cause in verdict(trace, step, position).causes
        if cause not in verdict(trace, step, position).deciding
    ),
    "close_call": lambda wanted, trace, step, position: (
        [cause.state for cause in verdict(trace, step, position).deciding] == wanted[0] * [wanted[1]]
    ),
    # at a step
    "surest_of": lambda wanted, trace, step, position: all(step.confidence[i] > wanted[1] for i in wanted[0]),
    "surest_first": lambda wanted, trace, step, position: (
        step.confidence[wanted[0]] >= max(p for i in wanted[1:] for _, p in step.paths["x"].at(i))
    ),
    "best_at": lambda wanted, trace, step, position: all(
        trace.word(next(iter(step.paths.values())).at(int(at))[0][0]) == word for at, word in wanted.items()
    ),
    "kinds_before": lambda wanted, trace, step, position: set(step.states_before) >= set(wanted),
    "mask_rows": lambda wanted, trace, step, position: len(step.mask) == wanted,
    "one_of_each": lambda wanted, trace, step, position: (
        all(bool(row[i]) != bool(row[i + len(row) // 2]) for row in step.mask for i in range(len(row) // 2)) is wanted
    ),
    "sees_blank": lambda wanted, trace, step, position: all(
        bool(step.mask[query + len(step.mask) // 2][key + len(step.mask) // 2]) for query, key in wanted
    ),
    "mixed": lambda wanted, trace, step, position: 0 < step.weights[wanted] < 1,
    "unmixed": lambda wanted, trace, step, position: (step.soft is None) is wanted,
    "blocked": lambda wanted, trace, step, position: (
        list(step.graph.blocked[wanted[0]])[: len(wanted) - 1] == wanted[1:]
    ),
    "free": lambda wanted, trace, step, position: dependence(step, *wanted[:2]) == tuple(wanted[2:]),
    "only": lambda wanted, trace, step, position: all(step.happened(event) == at for event, at in wanted.items()),
    "words": lambda wanted, trace, step, position: all(
        trace.word(step.tokens[int(at)]) == word for at, word in wanted.items()
    ),
    "masked": lambda wanted, trace, step, position: [i for i, s in enumerate(step.states) if s == "M"] == wanted,
    "surer": lambda wanted, trace, step, position: step.confidence[wanted[0]] > step.confidence[wanted[1]],
    "sees": lambda wanted, trace, step, position: all(sees(step, *one) for one in wanted),
    "hidden": lambda wanted, trace, step, position: not any(sees(step, *one) for one in wanted),
    "weights": lambda wanted, trace, step, position: {w for w in step.weights if w is not None} <= {wanted},
    "contaminated": lambda wanted, trace, step, position: wanted in [list(found) for found in contaminated(step)],
    "as_after": lambda wanted, trace, step, position: (
        (step.tokens, step.states) == (trace.steps[wanted - 1].tokens, trace.steps[wanted - 1].states)
    ),
    # of the whole decode
    "setting": lambda wanted, trace, step, position: wanted.items() <= trace.settings.items(),
    "layers": lambda wanted, trace, step, position: trace.num_layers == wanted,
    "clashes": lambda wanted, trace, step, position: (
        len(annotated_step(trace, trace.steps[-1])["annotation"]["look"]["marks"]) == wanted
    ),
    "same_words": lambda wanted, trace, step, position: (
        trace.steps[wanted[0] - 1].read == trace.steps[wanted[1] - 1].read
    ),
    "told": lambda wanted, trace, step, position: any(wanted in plain_summary(trace, one) for one in trace.steps),
    "right": lambda wanted, trace, step, position: judge(trace.prompt, trace.text) is wanted,
    "has": lambda wanted, trace, step, position: wanted in trace.text,
    "alike": lambda wanted, trace, step, position: len({trace.text.split()[cell] for cell in wanted}) == 1,
    "ended_by": lambda wanted, trace, step, position: (trace.ended_by or "").startswith(wanted),
    "passes": lambda wanted, trace, step, position: trace.num_steps == wanted,
    # of where it was lost
    "diagnosed": lambda wanted, trace, step, position: diagnosis(trace).kind == wanted,
    "lost": lambda wanted, trace, step, position: diagnosis(trace).lost == wanted,
    "winnable": lambda wanted, trace, step, position: diagnosis(trace).winnable == wanted,
    "guilty": lambda wanted, trace, step, position: diagnosis(trace).guilty == wanted,
    "alone": lambda wanted, trace, step, position: diagnosis(trace).alone == wanted,
    "saved_by": lambda wanted, trace, step, position: (
        {each.setting: [each.value, each.passes] for each in diagnosis(trace).saved_by} == wanted
    ),
    "never": lambda wanted, trace, step, position: not any(one.happened(wanted) for one in trace.steps),
}


def holds(claim: dict[str, Any], trace: dard.Trace) -> bool:
    """Whether a claim is true of a trace."""
    names = set(claim) - PLACE
    assert names and names <= set(CHECKS), f"a claim must claim something that can be checked: {claim}"
    step = trace.steps[claim["step"] - 1] if "step" in claim else None
    return all(CHECKS[name](claim[name], trace, step, claim.get("position", 0)) for name in names)


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.?])\s+(?=[A-Z“])", text)


def unsaid(text: str, claims: list[dict[str, Any]]) -> list[str]:
    """The sentences of a text that no claim stands for."""
    quotes = [claim["says"] for claim in claims if "says" in claim]
    return [sentence for sentence in sentences(text) if not any(quote in sentence for quote in quotes)]
