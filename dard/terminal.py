"""Traces in a terminal: one coloured line of tokens per step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from dard.metrics import measure
from dard.state import CANDIDATE, MASKED, UNMASKED
from dard.trace import Start, Step, Trace
from dard.words import Words, causes_note, summary

if TYPE_CHECKING:
    from dard.samples import Sample

# Okabe–Ito, as the page uses it; the letter keeps the states apart without colour.
STYLES = {MASKED: "dim", CANDIDATE: "black on #E69F00", UNMASKED: "white on #0072B2"}
FIXED_STYLE = "italic"
WORD_AT_MOST = 24
LINE_AT_MOST = 160


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
    for i, (token, state) in enumerate(zip(moment.tokens, moment.states, strict=True)):
        mark = marks.get(i, "")
        if trace.fixed[i]:
            line.append(printable(trace.word(token)), FIXED_STYLE)
        elif state == MASKED:
            line.append(f"·{mark}", STYLES[state])
        else:
            line.append(f"{printable(trace.word(token)).strip() or '␣'}", STYLES[state])
            line.append(f"{state}{mark}", "bold")
        line.append(" ")
    return line


def show_trace(console: Console, trace: Trace, sentences: bool = False) -> None:
    """Every step of a trace, then its text."""
    console.print(Text(f"{trace.decoder} on {trace.model}: {printable_prompt(trace.prompt)}", "bold"))
    console.print(row(0, token_line(trace, trace.start)))
    for step in trace.steps:
        parts: list[RenderableType] = [token_line(trace, step)]
        for position in step.why if sentences else ():
            parts.append(Text(f"  {trace.why(step, position)}", "dim"))
            if verdict := trace.verdict(step.index, position):
                parts.append(Text(f"    {causes_note(trace, verdict)}", "dim"))
        console.print(row(step.index, Group(*parts)))
    if trace.steps:
        console.print(Text(summary(trace.steps[-1], trace.about, Words(trace.word)), "dim"))
    console.print(Text.assemble(("text   ", "bold"), printable_prompt(trace.text)))
    passes = f"{trace.num_steps} forward passes, ended by {trace.ended_by or 'stopping early'}"
    console.print(Text.assemble(("result ", "bold"), passes))


def printable_prompt(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def row(index: int, content: RenderableType) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=4, justify="right", style="dim")
    grid.add_column(ratio=1)
    grid.add_row(str(index), content)
    return grid


def show_comparison(console: Console, traces: dict[str, Trace]) -> None:
    """A table of what the decoders needed and produced."""
    table = Table(title=printable_prompt(next(iter(traces.values())).prompt), title_justify="left")
    for name in ("decoder", "passes", "tokens/pass", "revoked", "ended by", "seconds", "text"):
        table.add_column(name, overflow="fold", justify="left" if name in ("decoder", "ended by", "text") else "right")
    for name, trace in traces.items():
        found = measure(trace)
        table.add_row(
            name,
            str(found.passes),
            f"{found.tokens_per_pass:.2f}",
            str(found.revocations),
            trace.ended_by or "",
            f"{found.seconds:.2f}",
            Text(printable_prompt(trace.text)),
        )
    console.print(table)


def show_samples(console: Console, every: Sequence[Sample], shown: Sequence[Sample], chosen: int) -> None:
    """A line for each of the samples shown; then how many there are, and how to open one."""
    columns = {
        "": lambda s: str(s.number),
        "task": lambda s: s.task,
        "variant": lambda s: s.variant,
        "right": lambda s: {True: "✓", False: "✗", None: "?"}[s.right],
        "passes": lambda s: "" if s.passes is None else str(s.passes),
        "revoked": lambda s: "" if s.revocations is None else str(s.revocations),
        "ended by": lambda s: s.ended_by or "",
        "answer": lambda s: s.text,
        "target": lambda s: s.target or "",
    }
    if len({s.task for s in every}) < 2:
        del columns["task"]
    if not any(s.target for s in shown):
        del columns["target"]
    table = Table(*columns)
    for s in shown:
        table.add_row(*(Text(printable(cell(s), LINE_AT_MOST)) for cell in columns.values()))
    console.print(table)
    wrong, right = (sum(s.right is value for s in every) for value in (False, True))
    more = f" ({chosen - len(shown)} more with --most)" if chosen > len(shown) else ""
    console.print(
        f"{len(every)} samples: {wrong} wrong, {right} right, {len(every) - wrong - right} not judged. "
        f"{chosen} match{more}. --open N shows the decode of number N in the browser."
    )
