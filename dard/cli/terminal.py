"""Traces in a terminal: one coloured line of tokens per step."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from dard.core.state import BLANK, DECIDED, TENTATIVE
from dard.tasks.judge import judge
from dard.trace import Step, Trace
from dard.trace.metrics import measure
from dard.trace.records import Start
from dard.trace.words import causes_note, summary, words_of

if TYPE_CHECKING:
    from dard.results.samples import Sample

# Okabe–Ito, as the page uses it; the letter keeps the states apart without colour.
STYLES = {BLANK: "dim", TENTATIVE: "black on #E69F00", DECIDED: "white on #0072B2"}
FIXED_STYLE = "italic"
NOT_DIAGNOSED = "not diagnosed"
RIGHT: dict[bool | str | None, str] = {True: "✓", False: "✗", None: "?", "cut off": "cut off"}
WORD_AT_MOST = 24
LINE_AT_MOST = 160
WIDE = 200  # characters of a line where no terminal says how many it has
CELLS_AT_MOST = 2048  # positions × steps of a decode that is shown step by step without being asked


def printable(text: str, at_most: int = WORD_AT_MOST) -> str:
    """Token text that cannot move the cursor or break the line.

    >>> printable("a\\n\\x1b[31m")
    'a\\\\n\\\\x1b[31m'
    """
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: at_most + 1])
    return safe if len(safe) <= at_most else safe[: at_most - 1] + "…"


def token_line(trace: Trace, moment: Start | Step) -> Text:
    """The region after a step: fixed words plain, masked ones as a dot, the others coloured with their letter."""
    line = Text()
    marks: dict[int, str] = {}
    if isinstance(moment, Step):
        marks |= dict.fromkeys(moment.promoted, "↑") | dict.fromkeys(moment.demoted, "↓")
        marks |= dict.fromkeys(moment.replaced, "⇄") | dict.fromkeys(moment.weakened, "↘")
        marks |= dict.fromkeys(moment.accepted, "✓")
    drafts = moment.drafts if isinstance(moment, Step) else {}
    tokens = moment.read if isinstance(moment, Step) else moment.tokens
    for i, (token, state) in enumerate(zip(tokens, moment.states, strict=True)):
        mark = marks.get(i, "")
        if trace.fixed[i]:
            line.append(printable(trace.word(token)), FIXED_STYLE)
        elif (role := trace.about.kinds[state].role) == BLANK:
            line.append(f"{printable(trace.word(token)).strip() if i in drafts else '·'}{mark}", STYLES[role])
        else:
            line.append(f"{printable(trace.word(token)).strip() or '␣'}", STYLES[role])
            line.append(f"{state}{mark}", "bold")
        line.append(" ")
    return line


def plain_console() -> Console:
    """Standard output; where that is no terminal, wide enough for a table."""
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDE
    return console


def show_trace(console: Console, trace: Trace, sentences: bool = False, every: bool = True) -> None:
    """Every step of a trace, then its text; of a long one only what it came to, unless `every` step is asked for."""
    console.print(Text(f"{trace.decoder} on {trace.model}: {printable_prompt(trace.prompt)}", "bold"))
    brief = not (every or sentences) and trace.num_steps * len(trace.fixed) > CELLS_AT_MOST
    if brief:
        measured = measure(trace)
        speed = f"{measured.tokens_per_pass:.2f} tokens a pass"
        told = f"{len(trace.fixed)} positions, {speed}, {measured.revocations} revoked"
        console.print(Text(f"{told}; -v shows every step", "dim"))
    else:
        console.print(row(0, token_line(trace, trace.start)))
    for step in () if brief else trace.steps:
        parts: list[RenderableType] = [token_line(trace, step)]
        for position in step.why if sentences else ():
            parts.append(Text(f"  {trace.why(step, position)}", "dim"))
            if verdict := trace.verdict(step.index, position):
                parts.append(Text(f"    {causes_note(trace, verdict)}", "dim"))
        console.print(row(step.index, Group(*parts)))
    if trace.steps:
        console.print(Text(summary(trace.steps[-1], trace.about, words_of(trace)), "dim"))
    console.print(Text.assemble(("text   ", "bold"), printable_prompt(trace.text)))
    passes = f"{trace.num_steps} forward pass{'' if trace.num_steps == 1 else 'es'}"
    console.print(Text.assemble(("result ", "bold"), f"{passes}, ended by {trace.ended_by or 'stopping early'}"))


def printable_prompt(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def row(index: int, content: RenderableType) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=4, justify="right", style="dim")
    grid.add_column()
    grid.add_row(str(index), content)
    return grid


def show_comparison(console: Console, traces: dict[str, Trace]) -> None:
    """A table of what the decoders needed and produced, and whether it is right, where a task can tell."""
    table = Table(title=printable_prompt(next(iter(traces.values())).prompt), title_justify="left")
    right = {name: judge(trace.prompt, trace.text, trace.eos_id not in trace.tokens) for name, trace in traces.items()}
    judged = any(verdict is not None for verdict in right.values())
    columns = ("decoder", *(["right"] if judged else []), "passes", "tokens/pass", "revoked", "ended by", "seconds")
    for name in (*columns, "text"):
        left = name in ("decoder", "right", "ended by", "text")
        table.add_column(name, overflow="fold", justify="left" if left else "right")
    for name, trace in traces.items():
        measured = measure(trace)
        table.add_row(
            name,
            *([RIGHT[right[name]]] if judged else []),
            str(measured.passes),
            f"{measured.tokens_per_pass:.2f}",
            str(measured.revocations),
            trace.ended_by or "",
            f"{measured.seconds:.2f}",
            Text(printable_prompt(trace.text)),
        )
    console.print(table)


def sample_cells(
    every: Sequence[Sample], shown: Sequence[Sample], kinds: Mapping[int, str]
) -> tuple[list[str], list[list[str]]]:
    """The headings and the lines of a table of samples, without what is the same for all of them."""
    columns = {
        "": lambda s: str(s.number),
        "task": lambda s: s.task,
        "variant": lambda s: s.variant,
        "right": lambda s: RIGHT[s.right],
        "lost by": lambda s: kinds.get(s.number, ""),
        "passes": lambda s: "" if s.passes is None else str(s.passes),
        "revoked": lambda s: "" if s.revocations is None else str(s.revocations),
        "ended by": lambda s: s.ended_by or "",
        "answer": lambda s: s.text,
        "target": lambda s: s.target or "",
    }
    if not kinds:
        del columns["lost by"]
    if len({s.task for s in every}) < 2:
        del columns["task"]
    if not any(s.target for s in shown):
        del columns["target"]
    return list(columns), [[printable(cell(s), LINE_AT_MOST) for cell in columns.values()] for s in shown]


def show_samples(
    console: Console,
    every: Sequence[Sample],
    shown: Sequence[Sample],
    chosen: int,
    kinds: Mapping[int, str],
) -> None:
    """A line for each of the samples shown, with what lost it if that is known by its number; then how many there are,
    how many of each kind, and how to open one."""
    columns, lines = sample_cells(every, shown, kinds)
    table = Table(*columns)
    for line in lines:
        table.add_row(*map(Text, line))
    console.print(table)
    if kinds:
        totals = Counter(kind.partition(",")[0] for kind in kinds.values())
        left = totals.pop(NOT_DIAGNOSED, 0)
        told = ", ".join(f"{kind}: {count}" for kind, count in totals.most_common())
        console.print(" ".join([f"Lost by {told}."] * bool(told) + [f"Not diagnosed: {left}."] * bool(left)))
    wrong, right = (sum(s.right is value for s in every) for value in (False, True))
    more = f" ({chosen - len(shown)} more with --most)" if chosen > len(shown) else ""
    console.print(
        f"{len(every)} samples: {wrong} wrong, {right} right, {len(every) - wrong - right} not judged. "
        f"{chosen} match{more}. --open N shows the decode of number N in the browser."
    )
