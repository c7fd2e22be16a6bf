"""What loses wrong answers (not in the paper): every wrong run of every decoder's grid is diagnosed, its kind counted.

The runs are those of `pareto`: the same decoders, settings and samples. What each kind means is told where it is found,
in `dard.analysis.guilty` and `dard.analysis.diagnosis`. An answer counts as wrong where the task's scorer says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from dard.analysis.diagnosis import diagnosing
from dard.decoding.session import Session
from dard.experiments.base import Experiment, Table, columns, percent
from dard.experiments.figures import Figure, Trace, bars
from dard.experiments.pareto import Pareto
from dard.experiments.points import Point, by_decoder, points
from dard.results.file import Results
from dard.results.samples import LOSING
from dard.results.sweep import Job, Row, Scope, Variant, decode_and_score, title_of
from dard.tasks.judge import judge
from dard.trace.metrics import interval

RIGHT = "right"
# Colours, and hatches for those who cannot tell the colours.
LOOKS = {
    RIGHT: ("rgba(128,128,128,0.25)", ""),
    "conflict": ("#D55E00", "/"), "commit": ("#0072B2", "."), "revocation": ("#CC79A7", "\\"),
    "ending": ("#009E73", "-"), "cut off": ("#E69F00", "|"), "model": ("#666666", ""),
}  # fmt: skip
LINE = 15  # pixels of height that a variant takes


class Failures(Experiment):
    name = "failures"
    title = "What loses wrong answers"
    paper = "nothing; there a wrong answer is counted and not looked into"
    default_task = "sudoku-open"
    shows = "whether a wrong answer is the model's or the decoding's, and which kind of decision lost it"
    caption = (
        "{task_title}, {model}: every wrong answer by what lost it, as dard.diagnose finds it; behind each number "
        "the 95 % interval of its share of the variant's runs, in %. Model: careful completion is wrong from every "
        "state of the run. Cut off: there was no room for the answer. Ending: it was lost by what was accepted when "
        "decoding was stopped. Commit: a token of the lost step loses it alone. Conflict: none does, together they do. "
        "Revocation: what was taken back does."
    )
    chart = ("runs", "")
    layout = {"barmode": "stack", "bargap": 0.15, "legend": {"traceorder": "normal"}}

    def grid(self, scope: Scope) -> list[Variant]:
        return Pareto().grid(scope)

    def measure(self, job: Job, variant: Variant, samples: Sequence[int]) -> list[Row]:
        decodes: list[Session] = []

        def keep(session: Session) -> Row:
            decodes.append(session)
            return {}

        rows = decode_and_score(job, variant, samples, also=keep)
        for row, session, sample in zip(rows, decodes, samples, strict=True):
            if not row["right"]:
                row["diagnosis"] = diagnosed(job, session, sample)
        return rows

    def tables(self, results: Results) -> list[Table]:
        """Every variant; and every decoder, all of its settings together."""
        ours = points(results)
        shown = {
            **columns("Variant", "Samples", "Passes"),
            "Wrong": lambda p: str(sum(not row["right"] for row in p.rows)),
            **{kind.capitalize(): number_with_interval(kind) for kind in LOSING},
        }
        return [Table.of(ours, shown, self.caption.format_map(results.header)), in_all(ours)]

    def figure(self, results: Results) -> Figure:
        """A line for every variant, as high as they need."""
        drawn, names = super().figure(results), [p.variant.name for p in points(results)]
        short = [" ".join(word for word in name.split() if not word.startswith("(")) for name in names]
        drawn["layout"]["yaxis"] |= {
            "tickvals": names, "ticktext": short, "tickfont": {"size": 10}, "autorange": "reversed", "automargin": True,
        }  # fmt: skip
        drawn["layout"]["height"] = 140 + LINE * len(names)
        return drawn

    def traces(self, points: list[Point]) -> list[Trace]:
        """`meta` tells which runs of a variant a part of its bar stands for."""
        drawn = []
        for kind, (colour, shape) in LOOKS.items():
            trace = bars(points, counter(kind), f"%{{customdata}}<br>%{{x}} runs: {kind}<extra></extra>", name=kind)
            drawn.append(
                trace
                | {"x": trace["y"], "y": trace["x"], "orientation": "h", "meta": {"only": kind}}
                | {"marker": {"color": colour, "pattern": {"shape": shape, "size": 5}}}
            )
        return [trace for trace in drawn if any(trace["x"])]


def diagnosed(job: Job, session: Session, sample: int) -> dict[str, Any]:
    """What a row tells of the diagnosis of a wrong answer, up to its kind. The task judges: by itself where it knows
    its prompts, else by its scorer.

    `able`: one token per pass from the start is right. `back`: it could be won again after it was lost. `guilty`: how
    many tokens the smallest set has whose masking gives the answer back, 0 where there is none; `older`: one of them
    was written before the lost step."""
    prompt, item = session.prompt, job.scope.items[sample]
    known = judge(prompt, session.trace.text) is False if isinstance(prompt, str) else False
    expected = None if known else lambda text: job.task.score(item, text).right
    found = next(each for each in diagnosing(session, expected=expected) if each.kind is not None)
    marks, smallest = found.winnable, found.guilty[0] if found.guilty else []
    return {
        "kind": found.kind,
        "lost": found.lost,
        "able": marks[0],
        "back": any(later and earlier is False for earlier, later in pairwise(marks)),
        "guilty": len(smallest),
        "older": any(found.written[i] != found.lost for i in smallest),
    }


def kind_of(row: Row) -> str:
    """
    >>> kind_of({"right": True}), kind_of({"right": False, "diagnosis": {"kind": "conflict"}})
    ('right', 'conflict')
    """
    return str(row["diagnosis"]["kind"]) if "diagnosis" in row else RIGHT


def counter(kind: str) -> Callable[[Point], int]:
    return lambda p: sum(kind_of(row) == kind for row in p.rows)


def bounds(of_all: Sequence[bool]) -> str:
    return "–".join(f"{100 * bound:.0f}" for bound in interval([float(each) for each in of_all]))


def number_with_interval(kind: str) -> Callable[[Point], str]:
    return lambda p: f"{counter(kind)(p)} ({bounds([kind_of(row) == kind for row in p.rows])})"


def in_all(points: Sequence[Point]) -> Table:
    """The wrong answers of every decoder, with all of its settings."""
    groups = by_decoder(points)
    wrong = {decoder: [row for p in group for row in p.rows if not row["right"]] for decoder, group in groups.items()}

    def share(rows: Sequence[Row], value: Callable[[dict[str, Any]], bool]) -> str:
        told = [value(row["diagnosis"]) for row in rows]
        return f"{percent(sum(told) / len(told))} ({bounds(told)})" if told else "–"

    def of_kind(kind: str) -> Callable[[dict[str, Any]], bool]:
        return lambda d: d["kind"] == kind

    shares: dict[str, Callable[[dict[str, Any]], bool]] = {
        **{f"{kind.capitalize()} (%)": of_kind(kind) for kind in LOSING},
        "Able (%)": lambda d: bool(d["able"]),
        "One token (%)": lambda d: d["guilty"] == 1,
        "Came back (%)": lambda d: d["back"],
    }
    rows = [
        [title_of(decoder), str(sum(p.samples for p in groups[decoder])), str(len(rows))]
        + [share(rows, value) for value in shares.values()]
        for decoder, rows in wrong.items()
    ]
    caption = (
        "The wrong answers of each decoder, all of its settings together: the share of each kind, with the 95 % "
        "interval as if all runs were independent, which runs of one sample are not. Able: one token per pass from the "
        "start is right. One token: masking a single one after the lost step gives the answer back. Came back: the "
        "answer had been lost before, and could be won again."
    )
    return Table(caption, ["Decoder", "Runs", "Wrong", *shares], rows)
