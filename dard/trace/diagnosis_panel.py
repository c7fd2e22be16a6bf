"""A diagnosis as panels show it: short sentences for fixed places, marks, and strips of settings.

Made of a trace and its diagnosis alone, at any stage of the search; whoever shows it adds nothing.
Does not know: how anything was searched, or how it is drawn.
"""

from __future__ import annotations

from itertools import groupby

from dard.trace.diagnosis import Attempt, Diagnosis, Marked, Panel, Revocation, Strip, Tried
from dard.trace.diagnosis_words import Telling, counted, listed
from dard.trace.limits import MAX_SENTENCE
from dard.trace.records import Whole

LETTERS = "abcdefghijklmnopqrstuvwxyz"
ROW_AT_MOST = 40  # states that are read out one by one
DOING = {
    "tokens": "whose tokens",
    "causes": "what made them",
    "settings": "other settings",
    "revocations": "what was taken back",
}


def panel(trace: Whole, diagnosis: Diagnosis) -> Panel:
    """What is known by now.

    >>> import dard
    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> session = dard.Session(los_diego(), LOS_DIEGO, decoder="standard", steps=1)
    >>> _ = session.run()
    >>> shown = panel(session.trace, dard.diagnose(session, expected="San Diego"))
    >>> shown.where
    'From the start it could be had, after step 1 no more.'
    >>> shown.marked[0].name, shown.who
    ("'Los' at 3, 0.51", 'Mask it: right in 1 more pass.')
    >>> shown.hold, shown.flag, shown.row
    ('Mask a and go on', 'lost in step 1', 'still winnable: at the start yes, after step 1 no')
    """
    return Shown(trace, diagnosis).panel()


class Shown(Telling):
    """The parts of one diagnosis."""

    def panel(self) -> Panel:
        diagnosis = self.diagnosis
        headline = next(self.sentences(), "") if diagnosis.kind or diagnosis.lost else ""
        shown = Panel(headline=headline or self.looking(), progress=self.progress(), row=self.row())
        shown.strips = [self.strip(name, list(group)) for name, group in groupby(diagnosis.tried, lambda a: a.setting)]
        shown.causes = [bounded(self.cause(verdict)) for verdict in diagnosis.verdicts]
        shown.revoked = [self.revoked(each) for each in diagnosis.revocations]
        shown.saved = bounded(" ".join(self.settings()))
        if diagnosis.kind in ("model", "cut off"):
            told = self.model() if diagnosis.kind == "model" else self.cut_off()
            shown.title, shown.how = diagnosis.kind.capitalize(), bounded(" ".join([*told][1:]))
        elif diagnosis.lost is not None:
            lost = diagnosis.lost
            shown.flag = f"{'departed' if self.reference else 'lost'} in step {lost}"
            shown.where = self.between(lost)
            shown.marked = [self.marked(i) for i in self.blamed()[: len(LETTERS)]]
            together = [each.position for each in shown.marked if each.since == lost]
            if len(together) > 1:
                shown.tie, shown.tied = f"same pass: step {lost}", together
            if diagnosis.kind is not None:
                shown.title, shown.how = diagnosis.kind.capitalize(), bounded(" ".join([*self.how(), *self.able()]))
                shown.who = self.rescue()
            if diagnosis.guilty:
                shown.held = diagnosis.guilty[0][: len(LETTERS)]
                shown.hold = f"Mask {'a' if len(shown.held) == 1 else self.whole(len(shown.held))} and go on"
        return shown

    # What was looked for, and how far that is.

    def looking(self) -> str:
        return "Looking for the last state from which the answer can be had …"

    def progress(self) -> str:
        diagnosis = self.diagnosis
        passes = counted(diagnosis.passes, "pass", "passes")
        if diagnosis.stage == "done":
            runs = counted(diagnosis.completions, "careful re-run")
            return f"Measured: {runs}, {passes} ({diagnosis.careful})."
        tried = sum(mark is not None for mark in diagnosis.winnable)
        if diagnosis.stage == "states":
            return f"{tried} of {counted(len(diagnosis.winnable), 'state')}, {passes} so far"
        return f"{DOING[diagnosis.stage]}: {passes} so far"

    def row(self) -> str:
        """The marks in words, as far as states were tried."""
        known = [(number, mark) for number, mark in enumerate(self.diagnosis.winnable) if mark is not None]
        states = [f"{'after step ' + str(n) if n else 'at the start'} {'yes' if mark else 'no'}" for n, mark in known]
        if len(states) > ROW_AT_MOST:
            states = [*states[:ROW_AT_MOST], f"and {len(states) - ROW_AT_MOST} more"]
        return bounded(f"still winnable: {', '.join(states) or 'not known yet'}")

    # The three facts.

    def between(self, lost: int) -> str:
        before = "From the start" if lost == 1 else f"After step {lost - 1}"
        could = "careful decoding still agreed" if self.reference else "it could be had"
        told = f"{before} {could}, after step {lost} no more."
        others = [sentence for sentence in self.where() if "careful" not in sentence]
        return bounded(" ".join([told, *others]))

    def blamed(self) -> list[int]:
        """Who gets a letter: the guilty, those of one set or any one of several, then who else lost it."""
        diagnosis = self.diagnosis
        first = len(diagnosis.guilty[0]) if diagnosis.guilty else 0
        sets = diagnosis.guilty[:1] if first > 1 else [each for each in diagnosis.guilty if len(each) == first]
        lost_it = diagnosis.together or (diagnosis.alone if diagnosis.kind == "commit" else [])
        return list(dict.fromkeys([*(i for each in sets for i in each), *lost_it]))

    def marked(self, i: int) -> Marked:
        step, diagnosis = self.step, self.diagnosis
        token = step.tokens[i]
        since = diagnosis.written.get(i, step.index)
        confidence = step.confidence[i]
        sure = "" if confidence is None else f", {confidence:.2f}"
        name = f"{self.words.at(step.tokens, i)}{sure}"
        if since != step.index:
            name += f", written in step {since}" if since else ", there from the start"
        letter = LETTERS[self.blamed().index(i)]
        same = [LETTERS[n] for n, j in enumerate(self.blamed()[: len(LETTERS)]) if j != i and self.since(j) == since]
        beside = f", same pass as {listed(same, ', ')}" if same and since == step.index else ""
        return Marked(i, token, since, bounded(name), bounded(f"guilty, {letter}{beside}"))

    def since(self, i: int) -> int:
        return self.diagnosis.written.get(i, self.step.index)

    def rescue(self) -> str:
        """Whose masking gives the answer back."""
        diagnosis = self.diagnosis
        if not diagnosis.guilty:
            return "No set of tokens gives the answer back."
        first = diagnosis.guilty[0]
        best = [n for n, each in enumerate(diagnosis.guilty) if len(each) == len(first)]
        took = sorted({diagnosis.rescued[n] for n in best if len(first) == 1 or n == 0})
        span = f"{took[0]} to {took[-1]} more passes" if len(took) > 1 else self.passes(took[0])
        if len(first) == 1:
            which = {1: "it", 2: "either one"}.get(len(best), f"any one of these {len(best)}")
            if len(best) < len(self.blamed()):
                which = self.first(len(best), "or")
            return f"Mask {which}: {self.right} in {span}."
        which = self.whole(len(first))
        others = f", and so {'does' if len(best) == 2 else 'do'} {counted(len(best) - 1, 'other set')}"
        needed = "One is not enough." if len(first) == 2 else "None can be left out."
        if not diagnosis.minimal:
            needed = "Whether fewer are enough was not found."
        return f"Mask {which}: {self.right} in {span}{others if len(best) > 1 else ''}. {needed}"

    def whole(self, count: int) -> str:
        """The first so many of those who are blamed; both or all where there are no others."""
        if count < len(self.blamed()):
            return self.first(count, "and")
        return "both" if count == 2 else f"all {count}"

    @staticmethod
    def first(count: int, last: str) -> str:
        return (
            listed(LETTERS[:count], ", ", last)
            if count <= 4
            else f"{'all' if last == 'and' else 'any one'} of the first {count}"
        )

    # Settings, revocations.

    def strip(self, name: str, tried: list[Attempt]) -> Strip:
        """The values that were tried and the run's own, in their order."""
        symbol, own = self.symbol(name), self.trace.settings.get(name)
        cells = [
            Tried(
                self.short(each.value),
                each.right,
                False,
                f"{symbol} = {self.value(each.value)}: "
                + (f"{self.right} in {counted(each.passes, 'pass', 'passes')}" if each.right else self.wrong)
                + (", by luck" if each.lucky else ""),
            )
            for each in tried
        ]
        here = Tried(self.short(own), False, True, f"{symbol} = {self.value(own)}, as in this run: {self.wrong}")
        numbers = all(isinstance(each.value, int | float) for each in tried) and isinstance(own, int | float)
        at = sum(each.value < own for each in tried) if numbers else 0
        cells.insert(at, here)
        best = next((each for each in tried if each.nearest), None)
        offer = f"Try {symbol} = {self.value(best.value)}" if best else ""
        return Strip(name, symbol, cells, best.value if best else None, offer)

    @staticmethod
    def short(value: object) -> str:
        return f"{value:.3g}" if isinstance(value, float) else str(value)

    def revoked(self, each: Revocation) -> str:
        token = f"{self.words.quote(each.token)} {self.words.where(each.position)}"
        back = self.trace.steps[-1].tokens[each.position] == each.token
        because = {
            "right": "the answer can be had only without it",
            "wrong": "the answer can be had with it",
            "in vain": "it stands there in the end" if back else "the answer can be had neither with it nor without it",
        }[each.worth]
        how = {"right": "rightly", "wrong": "wrongly", "in vain": "in vain"}[each.worth]
        return bounded(f"Step {each.step} took back {token}, {how}: {because}.")


def bounded(text: str) -> str:
    return text if len(text) <= MAX_SENTENCE else f"{text[: MAX_SENTENCE - 1]}…"
