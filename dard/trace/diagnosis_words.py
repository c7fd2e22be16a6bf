"""A diagnosis in sentences: the headline first, then what supports it.

Made of a trace and its diagnosis alone, so that a file tells them wherever it is opened. Every number in them stands in
the record; what was judged against a reference "departed" and is never called wrong.
Does not know: how anything was searched, or any decoder's rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dard.core.state import CANDIDATE, MASKED, UNMASKED
from dard.trace.about import Threshold
from dard.trace.diagnosis import Attempt, Diagnosis
from dard.trace.records import Step, Verdict, Whole
from dard.trace.words import NAMED_AT_MOST, causes_note, number, siblings_note, words_of

ANSWER_AT_MOST = 80  # characters of an answer in a sentence
LOOKING = {
    "states": "which states could still be won",
    "tokens": "which tokens lost it",
    "causes": "what made the guilty tokens",
    "settings": "which other settings avoid it",
    "revocations": "what each revocation was worth",
}
ENDS = {"cap": "when its block reached its cap", "fixed point": "when decoding repeated itself"}


def diagnosis_sentences(trace: Whole, diagnosis: Diagnosis) -> list[str]:
    """Everything that can be said of a diagnosis by now."""
    told = Telling(trace, diagnosis)
    return [*told.sentences(), *([told.unfinished()] if diagnosis.stage != "done" else [])]


def written_in(trace: Whole, position: int, until: int) -> int:
    """The last step up to `until` that wrote the token of a position; 0 where it stood from the start."""
    for step in reversed(trace.steps[:until]):
        was, now = step.states_before[position], step.states[position]
        if now == UNMASKED and (was != UNMASKED or step.tokens[position] != step.tokens_before[position]):
            return step.index
    return 0


def counted(count: int, thing: str, plural: str = "") -> str:
    """
    >>> counted(0, "pass", "passes"), counted(1, "pass", "passes"), counted(2, "token")
    ('no passes', '1 pass', '2 tokens')
    """
    return f"{count or 'no'} {thing if count == 1 else plural or thing + 's'}"


def listed(names: Sequence[str], comma: str, last: str = "and") -> str:
    """
    >>> listed(["a"], ", "), listed(["a", "b", "c"], ", ", "or")
    ('a', 'a, b or c')
    """
    return f"{comma.join(names[:-1])} {last} {names[-1]}" if len(names) > 1 else names[0]


class Telling:
    """The sentences of one diagnosis."""

    def __init__(self, trace: Whole, diagnosis: Diagnosis) -> None:
        self.trace, self.diagnosis, self.words = trace, diagnosis, words_of(trace)
        self.reference = diagnosis.judged_by == "reference"
        self.right, self.wrong = ("the careful answer", "another one") if self.reference else ("right", "wrong")
        self.way = f"careful completion ({diagnosis.careful})"

    @property
    def step(self) -> Step:
        assert self.diagnosis.lost is not None
        return self.trace.steps[self.diagnosis.lost - 1]

    def sentences(self) -> Iterator[str]:
        diagnosis = self.diagnosis
        if diagnosis.kind == "right":
            yield {
                "expected": "The answer is right: it is what was expected.",
                "task": "The answer is right: the scorer of its task says so.",
                "reference": f"The answer agrees with careful decoding ({diagnosis.careful}).",
            }[diagnosis.judged_by]
            return
        if diagnosis.kind == "model":
            yield from self.model()
        elif diagnosis.kind == "cut off":
            yield from self.cut_off()
        elif diagnosis.lost is not None:
            yield f"{'Departed' if self.reference else 'Lost'} {self.what_happened()}."
            yield from self.where()
            if diagnosis.kind is not None:
                yield from self.how()
                yield from self.who()
                yield from self.able()
        for verdict in diagnosis.verdicts:
            yield self.cause(verdict)
        yield from self.settings()

    def unfinished(self) -> str:
        """How far a search is that was stopped, or had no more time."""
        diagnosis, marks = self.diagnosis, self.diagnosis.winnable
        done = f"{sum(mark is not None for mark in marks)} of {counted(len(marks), 'state')} tried"
        made = f"{done}, {counted(diagnosis.passes, 'pass', 'passes')} made"
        return f"This is not all: the search was stopped while it looked for {LOOKING[diagnosis.stage]} ({made})."

    # The headline.

    def what_happened(self) -> str:
        """What the lost step did, in the words of its kind."""
        diagnosis, step = self.diagnosis, self.step
        when = f"in step {step.index}"
        if diagnosis.kind == "ending":
            names = self.names(diagnosis.guilty[0])
            were, it = ("were", "they") if len(diagnosis.guilty[0]) > 1 else ("was", "it")
            return f"at the end, {when}: {names} {were} accepted as {it} stood {self.end()}"
        if diagnosis.kind == "commit":
            blamed = [i for i in diagnosis.alone if [i] in diagnosis.guilty] or diagnosis.alone
            either = ", and each of them alone loses it" if len(blamed) > 1 else ""
            return f"{when}: {self.did(blamed)}{either}"
        if diagnosis.kind == "revocation":
            return f"{when}: {self.was_taken_back()}"
        if diagnosis.kind == "conflict" and diagnosis.with_taken:
            return f"{when}: {self.did(self.written())} and {self.was_taken_back()}, and only both together lose it"
        if diagnosis.kind == "conflict":
            pair = diagnosis.together
            if pair:
                return f"{when}: {self.did(pair)} in the same pass{self.blind(pair)}"
            return f"{when}: {self.did(self.written())} in the same pass"
        return when

    def written(self) -> list[int]:
        """What careful completion keeps after the lost step and did not keep before it."""
        return [i for i, state in enumerate(self.step.states) if state == UNMASKED and self.is_new(i)]

    def is_new(self, i: int) -> bool:
        step = self.step
        return not step.fixed[i] and (step.states_before[i] != UNMASKED or step.tokens[i] != step.tokens_before[i])

    def taken(self) -> list[int]:
        step = self.step
        return [
            i
            for i, state in enumerate(step.states_before)
            if state == UNMASKED and (step.states[i] != UNMASKED or step.tokens[i] != step.tokens_before[i])
        ]

    def did(self, positions: Sequence[int]) -> str:
        """What the lost step did to tokens: wrote them, trusted candidates, replaced; or somebody put them there."""
        step = self.step
        groups: dict[str, list[int]] = {}
        for i in positions:
            by_hand = i in step.edited
            trusted = step.states_before[i] == CANDIDATE and step.tokens[i] == step.tokens_before[i]
            how = "put there by hand" if by_hand else "trusted" if trusted else "written"
            groups.setdefault(how, []).append(i)
        return " and ".join(
            f"{self.names(group)} {'were' if len(group) > 1 else 'was'} {how}" for how, group in groups.items()
        )

    def blind(self, pair: Sequence[int]) -> str:
        """True where both were masked in this pass: it could show neither to the other."""
        masked = all(self.step.states_before[i] == MASKED and i not in self.step.edited for i in pair)
        return "; neither saw the other" if masked else ""

    def was_taken_back(self) -> str:
        taken = self.taken()
        names = self.words.names(self.step.tokens_before, taken)
        return f"{names} {'were' if len(taken) > 1 else 'was'} taken back"

    def end(self) -> str:
        """Why the block of the guilty tokens was called to its end."""
        first = max(1, min(self.diagnosis.written[i] for i in self.diagnosis.guilty[0]))
        reason = next((step.ended_by for step in self.trace.steps[first - 1 :] if step.ended_by), "") or ""
        repeated = ENDS["fixed point"] if reason.startswith("period") else f"when its block was ended by {reason}"
        return ENDS.get(reason, repeated)

    # What supports it.

    def where(self) -> Iterator[str]:
        """Between which states, and what the task counts."""
        diagnosis, lost = self.diagnosis, self.step.index
        before = "From the start" if lost == 1 else f"After step {lost - 1}"
        yield f"{before} {self.way} is {self.right}; after step {lost} it is {self.wrong}."
        marks = diagnosis.winnable[: lost - 1]
        gaps = [number for number, mark in enumerate(marks) if mark is False]
        if gaps:
            states = ["at the start" if number == 0 else f"after step {number}" for number in gaps]
            more = f" and {len(gaps) - NAMED_AT_MOST} times more" if len(gaps) > NAMED_AT_MOST else ""
            yield f"It had been {self.wrong} before, {', '.join(states[:NAMED_AT_MOST])}{more}, and came back."
        if diagnosis.solutions:
            old, new = diagnosis.solutions[lost - 1], diagnosis.solutions[lost]
            if old is not None and new is not None:
                thing = "solution" if self.words.rows else "right answer"
                remained = f"{counted(old, thing)} remained"
                yield f"Before step {lost} {remained}, after it {new or 'none'}."

    def how(self) -> Iterator[str]:
        """What the kind says that the headline does not."""
        diagnosis, lost = self.diagnosis, self.step.index
        count = len(self.written())
        if diagnosis.kind == "commit":
            others = "" if count == 1 else f"; step {lost} wrote {counted(count, 'token')}"
            yield (
                f"With it alone added to what stood before, {self.way} is {self.wrong}{others}."
                if len(diagnosis.alone) == 1
                else f"{len(diagnosis.alone)} of the {count} tokens written in step {lost} lose it alone."
            )
        elif diagnosis.kind == "conflict" and not diagnosis.with_taken:
            yield f"None of the {count} tokens written in step {lost} loses it alone; together they do."
        elif diagnosis.kind == "conflict":
            yield f"Neither what step {lost} wrote nor what it took back loses it alone."
        elif diagnosis.kind == "revocation":
            yield (
                f"What step {lost} wrote does not lose it. With nothing taken back, careful completion is "
                f"{self.right} in {self.passes(diagnosis.restored or 0)}."
            )

    def who(self) -> Iterator[str]:
        """Whose masking gives the answer back, and in how many passes."""
        diagnosis, lost = self.diagnosis, self.step.index
        if not diagnosis.guilty:
            yield f"No set of tokens gives the answer back when it is masked after step {lost}."
            return
        first, after = diagnosis.guilty[0], f"after step {lost} and go on carefully: {self.right} in"
        best = [n for n, each in enumerate(diagnosis.guilty) if len(each) == len(first)]
        if len(first) == 1:
            took = sorted({diagnosis.rescued[n] for n in best})
            span = f"{took[0]} to {took[-1]} more passes" if len(took) > 1 else self.passes(took[0])
            yield f"Mask {self.one_of([diagnosis.guilty[n][0] for n in best])} {after} {span}."
        else:
            more = len(best) - 1
            others = f", and so {'does' if more == 1 else 'do'} {counted(more, 'other set')} of {len(first)}"
            names = f"{'both ' if len(first) == 2 else ''}{self.names(first)}"
            needed = "One is not enough" if len(first) == 2 else f"None of the {len(first)} can be left out"
            if not diagnosis.minimal:
                needed = "The search was ended before it could tell whether fewer are enough"
            yield f"Mask {names} {after} {self.passes(diagnosis.rescued[0])}{others if more else ''}. {needed}."
        for i in first if len(first) <= NAMED_AT_MOST else ():
            if (step := diagnosis.written[i]) != lost:
                when = f"was written in step {step}" if step else "stood there from the start"
                yield f"{self.words.at(self.step.tokens, i)} {when}, before the lost one."

    def one_of(self, positions: Sequence[int]) -> str:
        """Any of some tokens, a few of them by name."""
        names = [self.words.at(self.step.tokens, i) for i in positions[:NAMED_AT_MOST]]
        if len(positions) > len(names):
            names.append(f"{len(positions) - len(names)} more")
        some = {1: "", 2: "either "}.get(len(names), "any one of ")
        return some + listed(names, self.words.comma, "or")

    @staticmethod
    def passes(count: int) -> str:
        return counted(count, "more pass", "more passes")

    def able(self) -> Iterator[str]:
        """Whether the model can do it from the start."""
        if self.reference or self.diagnosis.winnable[0] is None:
            return
        if self.diagnosis.winnable[0]:
            yield f"The model can do it: {self.diagnosis.careful} is right."
        else:
            yield f"From the start, {self.diagnosis.careful} is wrong: {self.answer()}."

    def answer(self) -> str:
        text = " ".join((self.diagnosis.reference or "").split())
        return f"'{text if len(text) <= ANSWER_AT_MOST else text[: ANSWER_AT_MOST - 1] + '…'}'"

    def model(self) -> Iterator[str]:
        same = " the same" if self.diagnosis.reference == self.trace.text else ""
        careful = f"{self.diagnosis.careful}, it writes{same} {self.answer()}"
        yield f"The model itself is wrong: {careful}, which is wrong too."
        tried = len(self.diagnosis.winnable)
        yield f"From none of the {counted(tried, 'state')} of this run is {self.way} right."

    def cut_off(self) -> Iterator[str]:
        yield "Cut off: no room was left."
        length = len(self.trace.start.tokens)
        yield {
            "task": f"A right answer begins like this one and goes on; the region ends after {length} positions.",
            "end": f"No end was written in {length} positions; with as many again the answer goes on to a right one.",
            "room": f"With {2 * length} positions {self.way} is right from the start; with {length} it is wrong.",
            None: "",
        }[self.diagnosis.cut]

    def cause(self, verdict: Verdict) -> str:
        """What made a guilty token's own verdict."""
        step = self.trace.steps[verdict.step - 1]
        token = self.words.quote(verdict.token) + " " + self.words.where(verdict.position)
        decided = [i for i, state in enumerate(step.states_before) if state != MASKED and not step.fixed[i]]
        if not any(cause.position in decided for cause in verdict.causes if not cause.shown):
            blind = f"Nobody made {token}: step {step.index} predicted it with nothing decided in view."
            return f"{blind} {self.passed(verdict)}{siblings_note(self.trace, verdict)}".rstrip()
        return f"The verdict of step {step.index} on {token}: {self.passed(verdict)}{causes_note(self.trace, verdict)}"

    def passed(self, verdict: Verdict) -> str:
        """What each path gave it, where there are several, and whether the deciding one alone let it pass."""
        about, others = self.trace.about, [value for path, value in verdict.paths.items() if path != verdict.path]
        for each in about.thresholds:
            if not isinstance(each, Threshold) or each.at is None or not others or each.at > verdict.actual:
                continue
            if each.enters == verdict.state and each.on in ("", verdict.path):
                titles = {path.name: path.title or path.name for path in about.paths}
                told = [f"{titles[path]} {number(value, each.at)}" for path, value in verdict.paths.items()]
                alone = " alone" if max(others) < each.at else ""
                passed = f"passed {each.symbol} = {self.value(each.at)} by its {titles[verdict.path]}{alone}"
                return f"{self.words.quote(verdict.token)} {passed}: {listed(told, ', ')}. "
        return ""

    def settings(self) -> Iterator[str]:
        diagnosis = self.diagnosis
        if diagnosis.recording:
            yield "This is a recording: there is no decoder to ask for causes or for other settings."
        if not diagnosis.tried or diagnosis.stage != "done":
            return
        names = list(dict.fromkeys(attempt.setting for attempt in diagnosis.tried))
        saving = {attempt.setting: attempt for attempt in diagnosis.saved_by}
        rest = [self.in_vain(name) for name in names if name not in saving]
        if not saving:
            few = "The one setting tried nearby does not avoid it."
            many = f"None of the {len(diagnosis.tried)} settings tried nearby avoids it."
            yield few if len(diagnosis.tried) == 1 else many
            return
        saved = "; ".join(self.saving(attempt) for attempt in saving.values())
        yield f"Avoided by {saved}{'; not by ' + listed(rest, ', ', 'or') if rest else ''}."

    def saving(self, attempt: Attempt) -> str:
        luck = ", by luck: the values beside it do not" if attempt.lucky else ""
        took = counted(attempt.passes, "pass", "passes")
        return f"{self.symbol(attempt.setting)} = {self.value(attempt.value)} ({took}{luck})"

    def in_vain(self, name: str) -> str:
        values = [attempt.value for attempt in self.diagnosis.tried if attempt.setting == name]
        symbol = self.symbol(name)
        if len(values) == 1:
            return f"{symbol} = {self.value(values[0])}"
        return f"{symbol} from {self.value(values[0])} to {self.value(values[-1])}"

    def symbol(self, name: str) -> str:
        return self.trace.about.symbols.get(name, name.strip("_"))

    @staticmethod
    def value(value: object) -> str:
        return f"{value:g}" if isinstance(value, float) else str(value)

    def names(self, positions: Sequence[int]) -> str:
        return self.words.names(self.step.tokens, positions)
