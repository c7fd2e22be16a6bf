"""Benchmarks for real models, on tiny files in the hub's formats."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from dard import InputError, load_model
from dard.decoding.session import Session
from dard.experiments.points import Point
from dard.results.sweep import Job, Variant, decode_and_score, whole_text
from dard.tasks import Item
from dard.tasks.benchmarks import BENCHMARKS, PRESETS, open_benchmark, sandbox
from dard.tasks.benchmarks.mathematics import same_answer
from dard.tasks.benchmarks.programs import written_code
from dard.tasks.benchmarks.sandbox import passes
from tests.experiments.tiny_task import TinyTask
from tests.experiments.tiny_task import model as tiny_model

GSM8K = [
    {"question": "Ann has 1,000 pens and buys 8. How many?", "answer": "1000 + 8 = <<1000+8=1008>>1008\n#### 1,008"},
    {"question": "Two and two?", "answer": "#### 4"},
]
MATH = [{"problem": "Half of $x$?", "solution": "…", "answer": "\\frac{x}{2}", "level": 1}]
ARC = [
    {
        "id": "a",
        "question": "What melts?",
        "choices": {"text": ["stone", "ice", "air"], "label": ["A", "B", "C"]},
        "answerKey": "B",
    }
]
MBPP = [
    {
        "task_id": 11,
        "text": "Write a function to add two numbers.",
        "code": "…",
        "test_list": ["assert add(1, 2) == 3", "assert add(0, 0) == 0"],
        "test_setup_code": "",
    }
]
COUNTDOWN = [{"target": 18, "nums": [2, 3, 8]}, {"input": "2,3,8", "output": "22"}]
SUDOKU = [{"Puzzle": "0234341221434321", "Solution": "1234341221434321"}]


def write(folder: Path, records: list[dict[str, Any]], kind: str = "jsonl") -> Path:
    path = folder / f"data.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif kind == "json":
        path.write_text(json.dumps(records))
    elif kind == "csv":
        path.write_text("\n".join([",".join(records[0]), *(",".join(record.values()) for record in records)]) + "\n")
    else:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), path)
    return path


def first(name: str, folder: Path, records: list[dict[str, Any]], **options: Any) -> tuple[Any, Item]:
    benchmark = open_benchmark(name, write(folder, records), **options)
    return benchmark, benchmark.test_items(len(records))[0]


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet"])
def test_records_are_the_same_in_every_file_format(tmp_path: Path, kind: str) -> None:
    items = open_benchmark("gsm8k", write(tmp_path, GSM8K, kind)).test_items(2)
    assert [item.answer for item in items] == ["1008", "4"]
    assert items[0].prompt.startswith("Ann has") and items[0].gen_length == 256


def test_a_folder_laid_out_as_on_the_hub_is_read(tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    write(tmp_path / "main", GSM8K, "parquet").rename(tmp_path / "main" / "test-00000-of-00001.parquet")
    assert len(open_benchmark("gsm8k", tmp_path).test_items(2)) == 2


def test_items_are_drawn_by_seed_and_all_come_in_the_files_order(tmp_path: Path) -> None:
    records = [{"question": f"Question {n}?", "answer": f"#### {n}"} for n in range(20)]
    benchmark = open_benchmark("gsm8k", write(tmp_path, records))
    assert [item.answer for item in benchmark.test_items(20)] == [str(n) for n in range(20)]
    some = [item.answer for item in benchmark.test_items(5, seed=1)]
    assert some == [item.answer for item in benchmark.test_items(5, seed=1)]
    assert len(set(some)) == 5 and some != [item.answer for item in benchmark.test_items(5, seed=2)]
    with pytest.raises(InputError, match="samples = 21 is not allowed; gsm8k has 20 records"):
        benchmark.test_items(21)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("1000 + 8, so \\boxed{1008}", True),
        ("the answer is \\boxed{1,008} pens", True),
        ("#### 1008", True),
        ("She has 1008.", True),
        ("\\boxed{1007}", False),
        ("1008 at first, then \\boxed{8}", False),
        ("", False),
    ],
)
def test_gsm8k_compares_the_final_number(tmp_path: Path, text: str, right: bool) -> None:
    benchmark, item = first("gsm8k", tmp_path, GSM8K)
    assert benchmark.score(item, text).right is right


def test_math_compares_expressions_not_spellings(tmp_path: Path) -> None:
    benchmark, item = first("math-500", tmp_path, MATH)
    assert benchmark.score(item, "It is \\boxed{0.5x}.").right
    assert not benchmark.score(item, "It is \\boxed{\\frac{x}{3}}.").right


def test_answers_are_compared_in_any_thread() -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(same_answer("0.5", "\\boxed{\\frac12}")))
    thread.start()
    thread.join()
    assert found == [True]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("A is not it. \\boxed{B}", True),
        ("The answer is B.", True),
        ("\\boxed{A}", False),
        ("", False),
        ("Bananas", False),
    ],
)
def test_arc_reads_the_letter(tmp_path: Path, text: str, right: bool) -> None:
    benchmark, item = first("arc-c", tmp_path, ARC)
    assert "B. ice" in item.prompt
    assert benchmark.score(item, text).right is right


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("<answer>(8 - 2) * 3</answer>", True),
        ("<answer>(8 - 2) * 3 = 18</answer>", True),
        ("so \\boxed{(8-2) \\times 3}", True),
        ("<answer>9 * 2</answer>", False),
        ("<answer>(8 - 2) * 3 + 0</answer>", False),
        ("<answer>8 / (2 - 2) * 3</answer>", False),
        ("<answer>__import__('os').getcwd()</answer>", False),
        ("<answer>8**9**9</answer>", False),
        ("", False),
    ],
)
def test_countdown_parses_expressions_and_runs_nothing(tmp_path: Path, text: str, right: bool) -> None:
    benchmark, item = first("countdown-numbers", tmp_path, COUNTDOWN)
    assert benchmark.score(item, text).right is right


def test_countdown_reads_both_usual_formats(tmp_path: Path) -> None:
    items = open_benchmark("countdown-numbers", write(tmp_path, COUNTDOWN)).test_items(2)
    assert [item.facts for item in items] == [
        {"numbers": (2, 3, 8), "target": 18},
        {"numbers": (2, 3, 8), "target": 22},
    ]


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_sudoku_counts_blank_cells_after_four_examples(tmp_path: Path, kind: str) -> None:
    benchmark = open_benchmark("sudoku-grids", write(tmp_path, SUDOKU, kind))
    (item,) = benchmark.test_items(1)
    assert item.prompt.count("Puzzle:") == 5 and item.facts["puzzle"] == "0234341221434321"
    right = benchmark.score(item, f"<answer>{item.answer}</answer>")
    wrong = benchmark.score(item, "<answer>4234341221434321</answer>")
    assert (right.right, right.details["cells"]) == (True, 1.0)
    assert (wrong.right, wrong.details["cells"]) == (False, 0.0)
    assert benchmark.score(item, "no idea").details["cells"] == 0.0


def test_sudoku_makes_puzzles_without_a_file() -> None:
    items = open_benchmark("sudoku-grids").test_items(3)
    assert all(len(str(item.answer)) == 16 for item in items)


def test_mbpp_runs_code_only_when_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--run-code"):
        open_benchmark("mbpp", write(tmp_path, MBPP))
    benchmark, item = first("mbpp", tmp_path, MBPP, run_code=True)
    assert "assert add(1, 2) == 3" in item.prompt
    assert benchmark.score(item, "```python\ndef add(a, b):\n    return a + b\n```").right
    assert not benchmark.score(item, "```python\ndef add(a, b):\n    return a - b\n```").right
    for early in ("import sys; sys.exit(0)", "import os; os._exit(0)", "import sys; sys.stderr.write('passed')"):
        assert not benchmark.score(item, f"```python\n{early}\n```").right
    assert not benchmark.score(item, "I cannot.").right


def test_code_is_found_in_fences_marks_or_plain() -> None:
    assert written_code("[BEGIN]\nx = 1\n[DONE]") == "\nx = 1\n"
    assert written_code("```\nx = 2\n``` and ```\ny = 3\n```") == "x = 2\n"
    assert written_code("x = 3") == "x = 3"


@pytest.mark.parametrize(
    "program",
    ["while True: pass", "import time; time.sleep(60)", "import subprocess; subprocess.run(['sleep', '60'])"],
)
def test_a_program_that_does_not_end_is_ended(program: str) -> None:
    began = time.perf_counter()
    assert not passes(program, seconds=1)
    assert time.perf_counter() - began < 5


def test_a_program_cannot_take_all_memory_or_see_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    assert not passes("x = bytearray(1 << 31)")
    assert not passes("open('large', 'wb').write(b'x' * (1 << 22))")
    assert passes("import os; assert 'SECRET' not in os.environ and os.listdir() == []")


def test_a_program_has_no_network() -> None:
    if not shutil.which("unshare") or subprocess.run(["unshare", "--user", "--net", "true"], check=False).returncode:
        pytest.skip("this system does not let a process give up its network")
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        program = f"import socket; socket.create_connection(({host!r}, {port}), 1)"
        socket.create_connection((host, port), 1).close()  # there is somebody to talk to
        assert not passes(program)
        assert passes("import socket")


READS_EVERYTHING = """
import sys
frame, words = sys._getframe(), []
while frame:
    words += [*frame.f_locals.values(), *frame.f_globals.values()]
    frame = frame.f_back
words += open("/proc/self/cmdline").read().split("\\0") if sys.platform == "linux" else []
for word in words:
    print(word)
sys.exit(0)
"""
WRITES_BLINDLY = """
import os
for number in range(300):
    try:
        os.write(number, b"end")
    except OSError:
        pass
os._exit(0)
"""
LEAVES_A_CHILD = "import subprocess; subprocess.Popen(['sleep', '76.5'], start_new_session=True)"
FORKS = "import os, time\nfor _ in range(300):\n    if not os.fork(): time.sleep(20)\ntime.sleep(1)"
TAKES_MUCH = (
    "import os, time\nfor _ in range(4):\n    if not os.fork(): x = b'x' * (90 << 20); time.sleep(20)\ntime.sleep(3)"
)


@pytest.mark.parametrize("alone", [True, False], ids=["with namespaces", "without"])
def test_a_program_that_plays_tricks_does_not_pass_and_leaves_nothing(
    alone: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if not alone:
        monkeypatch.setattr(sandbox, "_GUARD", sandbox._GUARD.replace("linux and isolate()", "False"))
    elif not sandbox.isolated():
        pytest.skip("this system gives no namespaces")
    outside = tmp_path / "outside"
    assert not passes(READS_EVERYTHING) and not passes(WRITES_BLINDLY if alone else "import os; os._exit(0)")
    assert passes(LEAVES_A_CHILD)
    assert not passes(FORKS) and not passes(TAKES_MUCH, memory=256 << 20)
    assert passes(f"open({str(outside)!r}, 'w').close()") != alone and outside.exists() != alone
    if Path("/proc").is_dir():
        for each in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                assert b"76.5" not in each.read_bytes()


@pytest.mark.parametrize(
    ("name", "records", "words"),
    [
        ("gsm8k", [{"problem": "?"}], "record 0 of gsm8k is not in the usual format"),
        ("arc-c", [{"question": "?", "choices": 3, "answerKey": "A"}], "usual format"),
        ("sudoku-grids", [{"puzzle": "12", "solution": "12"}], "usual format"),
        ("countdown-numbers", [{"nums": ["x"], "target": 1}], "usual format"),
    ],
)
def test_records_of_another_format_are_named(tmp_path: Path, name: str, records: list, words: str) -> None:
    with pytest.raises(InputError, match=words):
        open_benchmark(name, write(tmp_path, records)).test_items(1)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("a.jsonl", "{"),
        ("a.jsonl", ""),
        ("a.json", "3"),
        ("a.txt", "x"),
        ("a.parquet", "no parquet"),
        ("a.jsonl", "1\n2\n"),
    ],
)
def test_files_that_hold_no_records_are_refused(tmp_path: Path, file: str, content: str) -> None:
    (tmp_path / file).write_text(content)
    with pytest.raises(InputError, match="data "):
        open_benchmark("gsm8k", tmp_path / file)


def test_no_network_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def offline(*_: Any, **__: Any) -> None:
        raise OSError("no route to host\nand more")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", offline)
    with pytest.raises(InputError, match=r"could not be fetched from the hub: no route to host$"):
        open_benchmark("math-500")


def test_every_benchmark_of_the_paper_is_there() -> None:
    assert set(BENCHMARKS) == {"gsm8k", "math-500", "mbpp", "countdown-numbers", "sudoku-grids", "arc-c"}
    with pytest.raises(InputError, match="unknown benchmark"):
        open_benchmark("x")


def test_what_the_extra_brings_is_asked_for_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions, choices = write(tmp_path, GSM8K), write(tmp_path, ARC, "parquet")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"gsm8k needs math-verify, which is not .* the extra 'benchmarks'"):
        open_benchmark("gsm8k", questions)
    with pytest.raises(InputError, match=r"needs pyarrow, which is not .* the extra 'benchmarks'"):
        open_benchmark("arc-c", choices)


# Protocols.


def test_each_benchmark_has_its_protocols_with_their_thresholds() -> None:
    thresholds = {
        kind.name: protocol.settings["threshold"] for kind, protocol in PRESETS.values() if protocol.name == "wino"
    }
    assert thresholds == {
        "gsm8k": 0.6, "math-500": 0.7, "mbpp": 0.8, "countdown-numbers": 0.5, "sudoku-grids": 0.7, "arc-c": 0.5,
    }  # fmt: skip
    assert {name for name in PRESETS if name.endswith("-llada")} == {
        "gsm8k-llada", "math-500-llada", "mbpp-llada", "arc-c-llada",
    }  # fmt: skip
    source = PRESETS["arc-c-wino"][1].source
    assert source is not None and "validation" in source.file


def test_winos_prompt_has_the_instruction_first_and_begins_the_answer(tmp_path: Path) -> None:
    benchmark, item = first("gsm8k-wino", tmp_path, GSM8K)
    assert item.prompt.endswith("\n\n" + GSM8K[0]["question"]) and "<reasoning>" in item.prompt
    assert (benchmark.name, benchmark.prefill, benchmark.whole) == ("gsm8k-wino", "<reasoning>", True)
    assert (item.gen_length, benchmark.block_length) == (256, 128)
    assert first("mbpp-wino", tmp_path, MBPP, run_code=True)[0].prefill == "```python\n"
    longer, item = first("gsm8k-llada", tmp_path, GSM8K)
    assert (item.gen_length, longer.block_length, longer.presets) == (512, 512, {"all": {"eos": "last"}})


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("\\boxed{1,008 pens}", True),
        ("\\boxed{many} so 1,008", True),
        ("1008, no, 7", False),
        ("\\boxed{1008.0}", True),
        ("nothing", False),
    ],
)
def test_winos_numbers(tmp_path: Path, text: str, right: bool) -> None:
    benchmark, item = first("gsm8k-wino", tmp_path, GSM8K)
    assert benchmark.score(item, text).right is right


def test_an_opened_fence_is_part_of_the_code(tmp_path: Path) -> None:
    benchmark, item = first("mbpp-wino", tmp_path, MBPP, run_code=True)
    assert benchmark.score(item, "def add(a, b):\n    return a + b\n```\nThat is it.").right


def test_right_blanks_are_counted_over_all_blanks_and_every_solution_is_right(tmp_path: Path) -> None:
    records = [*SUDOKU, {"Puzzle": "0" * 16, "Solution": "1234341221434321"}]
    benchmark = open_benchmark("sudoku-grids-wino", write(tmp_path, records))
    one, open_one = benchmark.test_items(2)
    other = benchmark.score(open_one, "<answer>4321214312343412</answer>")
    assert other.right and other.weight == 16, "another solution than the file's"
    wrong = benchmark.score(one, "<answer>4234341221434321</answer>")
    rows = [{"score": s.details["cells"], "weight": s.weight} for s in (wrong, other)]
    assert Point(Variant("v", "dard"), rows).accuracy == pytest.approx(16 / 17)


def test_an_end_in_the_middle_ends_nothing_where_the_whole_region_is_read() -> None:
    session = Session(load_model("embedded"), "Q : Tom", gen_length=3)
    for position, token in enumerate(("has", "[EOS]", "pens")):
        session = session.edit(position, token=token, state="U")
    assert session.trace.text == "has" and whole_text(session) == "has pens"


def test_a_protocol_sets_what_a_variant_leaves_open_and_begins_every_answer() -> None:
    task = TinyTask()
    task.prefill, task.presets = " w4", {"all": {"eos": "last"}, "wino": {"threshold": 0.3}}  # type: ignore[attr-defined]
    job = Job.of(tiny_model(), task, 1)
    assert job.scope.settings(Variant("v", "wino"), 0)["threshold"] == 0.3
    own = job.scope.settings(Variant("v", "wino", {"threshold": 0.5}), 0)
    assert (own["threshold"], own["eos"]) == (0.5, "last")
    (session,) = job.sessions(Variant("v", "wino"), [0])
    assert session.state.prompt[-1] == job.model.encode("w4")[0] and session.prompt == job.scope.items[0].prompt
    assert decode_and_score(job, Variant("v", "wino"), [0])[0]["passes"] > 0
