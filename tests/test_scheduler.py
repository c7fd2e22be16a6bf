"""Many decodes of one model: the same steps as alone, newcomers first, nobody pays for another's failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

import dard
from dard.decoders import get_decoder
from dard.decoding import loop, watch
from dard.decoding import scheduler as module
from dard.decoding.scheduler import Scheduler
from dard.models.base import Answer, Question
from dard.tasks import TASKS
from tests.test_driver import Counting, same
from tests.tiny import random_model


class Slow(Counting):
    """A model whose passes wait for a sign, so that a test can see who takes part in which."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.may = threading.Semaphore(0)

    def answer(self, questions: Sequence[Question]) -> list[Answer]:
        assert self.may.acquire(timeout=10)
        return super().answer(questions)


class Listening(threading.Thread):
    """Rides to the end in a thread of its own."""

    def __init__(self, scheduler: Scheduler, sessions: Sequence[dard.Session], **how: Any) -> None:
        super().__init__(daemon=True)
        self.arguments = scheduler, sessions, how
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        scheduler, sessions, how = self.arguments
        try:
            for _ in scheduler.passes(sessions, **how):
                pass
        except Exception as error:
            self.error = error


def until(condition: Any) -> None:
    """Wait for something that another thread does."""
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def one(model: Any, length: int = 6, decoder: str = "standard", **settings: Any) -> dard.Session:
    return dard.Session(model, [5, 6], decoder, gen_length=length, **settings)


def test_sixteen_visitors_get_the_steps_they_would_get_alone() -> None:
    model = dard.load_model("embedded")
    items = [task.test_items(1, seed)[0] for task in TASKS.values() for seed in (0, 1, 2)][:16]

    def sessions() -> list[dard.Session]:
        region = [{} if item.gen_length is None else {"gen_length": item.gen_length} for item in items]
        return [dard.Session(model, item.prompt, **own) for item, own in zip(items, region, strict=True)]

    scheduler, together, alone = Scheduler(), sessions(), sessions()
    threads = [Listening(scheduler, [session]) for session in together]
    for thread in threads:
        thread.join(60)
    for session in alone:
        session.run()
    assert scheduler.jobs == 0 and all(session.finished for session in together)
    same(together, alone)


def test_newcomers_join_the_next_pass_and_who_leaves_is_in_no_further_one() -> None:
    slow, scheduler = Slow(random_model(0)), Scheduler()
    first = one(slow)
    leaving = scheduler.passes([first])
    slow.may.release()
    assert next(leaving) == [first]
    stays = Listening(scheduler, [one(slow)])
    until(lambda: scheduler.jobs == 2)
    slow.may.release(2)
    until(lambda: len(slow.passes) == 3)
    assert [len(each) for each in slow.passes] == [1, 1, 2]  # the second was under way when the newcomer came
    leaving.close()
    made = len(first.steps)
    slow.may.release(20)
    stays.join(10)
    assert {len(each) for each in slow.passes[4:]} == {1} and len(first.steps) == made


def test_a_step_waits_at_most_two_passes_however_many_run_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "TOKENS_AT_MOST", 24)  # three at a time
    slow, scheduler = Slow(random_model(0)), Scheduler()
    long = [Listening(scheduler, [one(slow)]) for _ in range(9)]
    until(lambda: scheduler.jobs == 9)
    slow.may.release()
    until(lambda: len(slow.passes) == 1)
    session = one(slow)
    single = Listening(scheduler, [session], most=1)
    until(lambda: scheduler.jobs == 10)
    slow.may.release(2)
    single.join(10)
    assert len(session.steps) == 1 and len(slow.passes) <= 3
    slow.may.release(100)
    for thread in long:
        thread.join(10)
    assert max(len(each) for each in slow.passes) == 3


def test_the_background_fills_what_people_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "TOKENS_AT_MOST", 4 * 32)  # four at a time
    slow, scheduler = Slow(random_model(0)), Scheduler()
    lab = [one(slow, 30) for _ in range(10)]
    experiment = Listening(scheduler, lab, background=True)
    until(lambda: scheduler.jobs == 1)
    person = one(slow, 30)
    visitor = Listening(scheduler, [person])
    until(lambda: scheduler.jobs == 2)
    slow.may.release(31)
    visitor.join(10)
    assert person.finished and max(len(session.steps) for session in lab) < 15
    slow.may.release(10_000)
    experiment.join(60)
    assert all(session.finished for session in lab)


def test_without_company_one_ride_follows_the_other() -> None:
    counting = Counting(random_model(0))
    scheduler = Scheduler()
    scheduler.together = False
    threads = [Listening(scheduler, [one(counting)]) for _ in range(3)]
    for thread in threads:
        thread.join(10)
    assert {len(each) for each in counting.passes} == {1} and len(counting.passes) == 18


def test_lanes_of_a_comparison_move_in_step_in_one_pass_each() -> None:
    counting, scheduler = Counting(random_model(0)), Scheduler()
    lanes = [one(counting, decoder=name) for name in ("dard", "wino", "saber", "standard")]
    for moved in scheduler.passes(lanes):
        assert len({len(session.steps) for session in moved}) == 1
    assert len(counting.passes) == max(len(session.steps) for session in lanes)


def test_out_of_memory_halves_the_pass_and_goes_on() -> None:
    class Small(Counting):
        def answer(self, questions: Sequence[Question]) -> list[Answer]:
            if len(questions) > 2:
                self.passes.append([])
                raise RuntimeError("CUDA out of memory")
            return super().answer(questions)

    small, scheduler = Small(random_model(0)), Scheduler()
    sessions = [one(small) for _ in range(8)]
    assert len(list(scheduler.passes(sessions))) == 6
    assert small.passes.count([]) <= 3  # 8, then each 4 of the first pass; after that it is known
    small = Small(random_model(0))
    alone = one(small)
    small.inner = None
    with pytest.raises(AttributeError):
        list(scheduler.passes([alone]))


def test_what_fails_for_one_fails_for_nobody_else() -> None:
    class Bad(Counting):
        def answer(self, questions: Sequence[Question]) -> list[Answer]:
            if any(9 in question.ids for question in questions):
                raise dard.InputError("nine is not allowed")
            return super().answer(questions)

    bad, scheduler = Bad(random_model(0)), Scheduler()
    good = [one(bad) for _ in range(3)]
    threads = [Listening(scheduler, [session]) for session in good]
    with pytest.raises(dard.InputError, match="nine"):
        list(scheduler.passes([dard.Session(bad, [9], "standard", gen_length=6)]))
    for thread in threads:
        thread.join(10)
    assert all(session.finished for session in good) and not any(thread.error for thread in threads)


def test_a_decoder_that_cannot_ask_ends_its_own_ride_only() -> None:
    class Mute(dard.Decoder):
        name = "mute"

        def ask(self, *_: Any) -> Any:
            raise dard.InputError("nothing to ask")

        def decide(self, *_: Any) -> Any: ...

    scheduler = Scheduler()
    with pytest.raises(dard.InputError, match="nothing to ask"):
        list(scheduler.passes([one(random_model(0), decoder=Mute)]))  # type: ignore[arg-type]
    assert len(list(scheduler.passes([one(random_model(0))]))) == 6


def test_the_thread_ends_when_nobody_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    scheduler = Scheduler()
    list(scheduler.passes([one(random_model(0))], 1))
    until(lambda: scheduler._thread is None)
    assert len(list(scheduler.passes([one(random_model(0))], 1))) == 1


class Rude(dard.Decoder):
    """Does in `decide` what nobody should."""

    name = "rude"

    def ask(self, model: Any, settings: Any, state: Any) -> Question:
        return get_decoder("standard").ask(model, settings, state)

    def decide(self, *_: Any) -> Any:
        raise SystemExit


class Hanging(Rude):
    name = "hanging"

    def decide(self, *_: Any) -> Any:
        while True:
            time.sleep(0.001)


class Deaf(Rude):
    name = "deaf"

    def ask(self, *_: Any) -> Any:
        while True:
            time.sleep(0.001)


@pytest.mark.parametrize(
    ("decoder", "words"),
    [
        (Rude, r"decoder 'rude': step 1 raised SystemExit"),
        (Hanging, r"decoder 'hanging': step 1, in decide, did not come back within 0.2 seconds"),
        (Deaf, r"decoder 'deaf': step 1, in ask, did not come back within 0.2 seconds"),
    ],
)
def test_a_decoder_that_ends_or_hangs_its_thread_stops_nobody_else(
    decoder: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "DECIDES_WITHIN", 0.2)
    monkeypatch.setattr(module, "LOOKS_EVERY", 0.05)
    model, scheduler, before = Counting(random_model(0)), Scheduler(), threading.active_count()
    good = [one(model) for _ in range(3)]
    threads = [Listening(scheduler, [session]) for session in good[:2]]
    with pytest.raises(dard.InputError, match=words):
        list(scheduler.passes([one(model, decoder=decoder)]))
    threads.append(Listening(scheduler, [good[2]]))
    for thread in threads:
        thread.join(10)
    assert all(session.finished for session in good) and not any(thread.error for thread in threads)
    alone = [one(random_model(0)) for _ in range(3)]
    for session in alone:
        session.run()
    same(good, alone)
    until(lambda: threading.active_count() <= before + 1)  # the one that hung has ended, too


def test_a_thread_that_died_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOKS_EVERY", 0.05)
    scheduler, loops = Scheduler(), []

    def loop_once() -> None:
        loops.append(1)
        if len(loops) > 1:
            Scheduler._loop(scheduler)

    monkeypatch.setattr(scheduler, "_loop", loop_once)
    assert len(list(scheduler.passes([one(random_model(0))]))) == 6 and len(loops) == 2


def test_a_job_whose_listener_never_comes_back_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNHEARD_AT_MOST", 0.1)
    monkeypatch.setattr(module, "PATIENCE", 0.02)
    scheduler = Scheduler()
    listening = scheduler.passes([one(random_model(0), 30)])
    next(listening)
    until(lambda: scheduler.jobs == 0)
