"""The strangers' door: a decoder or a model that no file of the project knows is treated like its own."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import dard
from dard.cli import main as command_line
from dard.core.settings import setting
from dard.decoders import DECODERS, sweep
from dard.decoders.standard import Standard
from dard.models import CARDS
from dard.models.scripted import LOS_DIEGO, los_diego
from tests.helpers import ALL_DECODERS
from tests.tiny import random_model

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "extend.md"
SUDOKU = "Sudoku : 2 0 0 0 0 1 0 0 0 0 0 0 0 0 0 2 Solution :"
AGAIN = ["--gen-length", "16", "--rounds", "8"]  # on that puzzle: tokens are taken back


def example() -> str:
    """The complete decoder of the documentation, the very text."""
    section = GUIDE.read_text(encoding="utf-8").split("## A complete decoder")[1].split("\n## ")[0]
    (text,) = re.findall(r"```python\n(.*?)```", section, re.S)
    return text


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """What a test registers is gone after it."""
    decoders, cards = dict(DECODERS), dict(CARDS)
    yield
    for registry, known in ((DECODERS, decoders), (CARDS, cards)):
        registry.clear()
        registry.update(known)  # type: ignore[arg-type]


@pytest.fixture
def mine(tmp_path: Path) -> str:
    file = tmp_path / "mine.py"
    file.write_text(example(), encoding="utf-8")
    return str(file)


@pytest.fixture
def kind(mine: str) -> type[dard.Decoder]:
    """The class in that file."""
    spec = importlib.util.spec_from_file_location("mine", mine)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["mine"] = module
    spec.loader.exec_module(module)
    return module.Mine


def run(*arguments: str, code: int = 0) -> None:
    assert command_line.main(list(arguments)) == code


# From a file.


def test_the_example_is_short_and_its_command_works(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(example().splitlines()) <= 40
    assert f'"{SUDOKU}" --gen-length 16' in GUIDE.read_text(encoding="utf-8")
    run("decode", SUDOKU, "--load", mine, "--decoder", "mine", *AGAIN, "--why")
    shown = " ".join(capsys.readouterr().out.split())
    assert "mine on embedded" in shown and "8 forward passes" in shown
    assert re.search(r"'\d' in row \d, column \d was revoked: confidence 0.\d\d, number \d+ of its block\.", shown)


def test_its_trace_describes_itself_where_nobody_knows_it(mine: str, tmp_path: Path) -> None:
    file = tmp_path / "t.json.gz"
    run("decode", SUDOKU, "--load", mine, "--decoder", "mine", *AGAIN, "--trace", str(file))
    assert DECODERS.pop("mine").title == "Fill and keep"
    trace = dard.Trace.load(file)
    assert (trace.about.title, trace.about.rule) == ("Fill and keep", "fills all, keeps the surest")
    assert [column.name for column in trace.about.columns] == ["rank"]
    assert trace.about.symbols == {"rounds": "T"}
    revoking = next(step for step in trace.steps if step.demoted)
    assert sorted(place for place in revoking.column("rank") if place) == list(range(1, 17))
    assert "of its block." in trace.why(revoking, revoking.demoted[0])
    assert revoking.paths["guess"].positions == [i for i, s in enumerate(revoking.states_before) if s == "M"]
    still = next(i for i, s in enumerate(revoking.states) if s == "U" and i not in revoking.decided)
    assert "stays unmasked" in trace.why(revoking, still)


def test_it_is_compared(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    run("compare", SUDOKU, "--load", mine, "--decoders", "standard,mine", "--set", "mine.rounds=8", "--json")
    traces = json.loads(capsys.readouterr().out)
    assert list(traces) == ["standard", "mine"]
    assert len(traces["mine"]["steps"]) == 8


def test_it_is_in_the_chart_in_a_colour_of_its_own(mine: str, tmp_path: Path) -> None:
    out = tmp_path / "results"
    run("experiment", "pareto", "--load", mine, "--samples", "2", "--task", "places", "--out", str(out))
    figure = json.loads((out / "pareto-places.figure.json").read_text(encoding="utf-8"))
    drawn = {
        each["legendgroup"]: each for each in figure["data"] if each.get("mode") == "markers" and each["x"] != [None]
    }
    assert set(drawn) == {*ALL_DECODERS, "mine"}
    own = drawn.pop("mine")
    assert own["name"].startswith("Fill and keep")
    assert own["customdata"] == ["Fill and keep T=2", "Fill and keep T=4", "Fill and keep T=8"]
    assert own["marker"]["color"] not in {each["marker"]["color"] for each in drawn.values()}
    header = json.loads((out / "pareto-places.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert f"--load {mine}" in header["command"]


def test_the_page_offers_it(mine: str) -> None:
    from dard.core.plugins import load_file
    from visual.server.opening import page_config
    from visual.server.studio import Studio

    load_file(mine)
    studio = Studio(("los-diego",))
    studio.models.loaded["los-diego"] = los_diego()
    assert "Fill and keep" in json.dumps(page_config(studio))
    view = studio.start({"prompt": LOS_DIEGO, "decoder": "mine", "settings": {"rounds": 2}})
    steps = [made["step"] for reply in studio.advance({"run": view["run"]}) for made in reply.get("steps", [])]
    assert len(steps) == 2 and "rank" in steps[0]["columns"] and 3 in steps[0]["paths"]["guess"]["positions"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("missing.py", None, "must be the path of a Python file"),
        ("notes.txt", "hello", "must be the path of a Python file"),
        ("broken.py", "1 / 0", "failed: ZeroDivisionError: division by zero"),
        ("syntax.py", "def", "failed: SyntaxError"),
        ("taken.py", "import dard\nclass A(dard.Decoder):\n    name = 'dard'\ndard.register_decoder(A)", "A lacks ask"),
    ],
)
@pytest.mark.parametrize("command", [["decode", "x"], ["compare", "x"], ["experiment", "pareto"], ["models"]])
def test_a_file_that_cannot_be_loaded_is_one_sentence(
    command: list[str], name: str, text: str | None, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    if text is not None:
        file.write_text(text, encoding="utf-8")
    run(*command, "--load", str(file), code=2)
    said = capsys.readouterr().err
    assert expected in said and said.count("\n") == 1 and name in said


def test_load_needs_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    run("decode", "x", "--load", code=2)
    assert "--load" in capsys.readouterr().err


# From Python.


def test_a_session_takes_a_name_a_class_or_a_decoder(kind: type[dard.Decoder]) -> None:
    model = random_model(3, sharpness=1.2)
    traces = [dard.decode(model, "w5 w6", it, gen_length=12, rounds=5) for it in ("mine", kind, kind())]
    assert {trace.num_steps for trace in traces} == {5}
    assert len({tuple(trace.tokens) for trace in traces}) == 1
    del DECODERS["mine"]
    assert dard.Session(model, "w5 w6", kind, gen_length=4).run().decoder == "mine"  # registered or not
    assert list(dard.compare(model, "w5 w6", ["wino", kind], {"mine": {"rounds": 2}}, gen_length=4)) == ["wino", "mine"]
    with pytest.raises(dard.InputError, match="unknown decoder 'mine'; allowed are dard, wino"):
        dard.Session(model, "w5 w6", "mine")


def test_a_file_may_be_loaded_again(mine: str, tmp_path: Path) -> None:
    from dard.core.plugins import load_file

    load_file(mine)
    first = DECODERS["mine"]
    Path(mine).write_text(example().replace("Fill and keep", "Second thoughts"), encoding="utf-8")
    load_file(mine)
    assert DECODERS["mine"] is not first and DECODERS["mine"].title == "Second thoughts"
    other = tmp_path / "other.py"
    other.write_text(example(), encoding="utf-8")
    with pytest.raises(dard.InputError, match="there is a decoder named 'mine' already; give Mine another name"):
        load_file(str(other))


@dataclass(frozen=True, kw_only=True)
class NoSettings:
    steps: int = 4


@dataclass(frozen=True, kw_only=True)
class FewSettings(dard.Settings):
    rounds: int = setting(4, "passes", int, low=1, high=10)


def variant(**changes: Any) -> Any:
    """A decoder that is fine but for these."""
    return type("Odd", (Standard,), {"name": "odd", "Settings": FewSettings, "grid": ({},), **changes})


@pytest.mark.parametrize(
    ("odd", "expected"),
    [
        (3, "3 is no decoder"),
        (dict, "dict is no decoder; register_decoder takes a subclass of dard.Decoder"),
        (Standard(), "is no decoder"),
        (type("Half", (dard.Decoder,), {"name": "half"}), "decoder Half lacks ask and decide"),
        (variant(name="Odd One"), "has the name 'Odd One'; a name has lower-case letters"),
        (variant(name="x" * 41), "a name has lower-case letters"),
        (variant(name=None), "a name has lower-case letters"),
        (variant(name="wino"), "there is a decoder named 'wino' already"),
        (variant(about=dard.About([dard.Column("a"), dard.Column("a")])), "declares the column 'a' twice"),
        (variant(about=dard.About([dard.Column("confidence")])), "declares the column 'confidence' twice"),
        (variant(about=dard.About(paths=[dard.Path("a"), dard.Path("a")])), "declares the path 'a' twice"),
        (variant(about=dard.About(thresholds=["tau_c"])), "names the threshold 'tau_c', which is none of its settings"),
        (variant(about=dard.About([dard.Column("a", mirror="b")])), "points to 'b', which is no column"),
        (variant(about=dard.About([dard.Column("a/b")])), "about of decoder 'odd' is not allowed at columns.0.name"),
        (variant(about=dard.About(events={"x": dard.Event("y" * 101)})), "is not allowed at events.x.title"),
        (variant(Settings=NoSettings), "the Settings of decoder 'odd' must be a subclass of dard.Settings"),
        (variant(Settings=3), "the Settings of decoder 'odd' must be a subclass of dard.Settings"),
        (variant(grid=sweep("rounds", 4, 11)), "rounds = 11 is not allowed"),
        (variant(grid=sweep("pace", 4)), "'pace' is not a setting here"),
    ],
)  # fmt: skip
def test_what_cannot_be_registered_is_refused_with_a_sentence(odd: Any, expected: str) -> None:
    before = dict(DECODERS)
    with pytest.raises(dard.InputError) as caught:
        dard.register_decoder(odd)
    assert expected in str(caught.value) and "\n" not in str(caught.value)
    assert before == DECODERS
    assert dard.register_decoder(variant()).name == "odd"


def test_what_a_model_does_not_offer_is_not_asked_of_it() -> None:
    needy = variant(title="Odd", Settings=Standard.Settings, needs=frozenset({"attention"}))
    with pytest.raises(dard.InputError) as caught:
        dard.Session(los_diego(), LOS_DIEGO, needy)
    assert str(caught.value) == (
        "Odd needs attention, which model 'los-diego' does not offer; it offers nothing but logits"
    )
    assert dard.decode(random_model(3), "w5", needy, gen_length=2).finished  # this one does


# From an installed package.


def installed(folder: Path, entries: str, module: str) -> None:
    """A package as pip leaves it behind."""
    info = folder / "strange-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strange\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(entries, encoding="utf-8")
    (folder / "strange.py").write_text(module, encoding="utf-8")


def python(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    start = f"import sys; sys.path[:0] = {[str(folder), str(ROOT)]!r}\n"
    command = [sys.executable, "-c", start + code]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)


def test_a_package_brings_a_decoder_and_a_model(tmp_path: Path) -> None:
    text = example().replace("@dard.register_decoder\n", "")
    text += "\n\ndef cities():\n    from dard.models.scripted import los_diego\n    return los_diego()\n"
    installed(tmp_path, "[dard.decoders]\nmine = strange:Mine\n[dard.models]\ncities = strange:cities\n", text)
    code = f"import dard; print(dard.decode(dard.load_model('cities'), {LOS_DIEGO!r}, 'mine', rounds=2).num_steps)"
    done = python(tmp_path, code)
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr


def test_a_broken_package_is_left_out_with_a_warning(tmp_path: Path) -> None:
    entries = "[dard.decoders]\none = strange:Gone\ntwo = nowhere:Mine\n[dard.models]\nembedded = strange:cities\n"
    installed(tmp_path, entries, "")
    code = f"import dard; from dard.models.scripted import *; print(dard.decode(los_diego(), {LOS_DIEGO!r}).num_steps)"
    done = python(tmp_path, code)
    assert (done.returncode, done.stdout) == (0, "4\n"), done.stderr
    for left_out in ("strange:Gone of dard.decoders", "nowhere:Mine of dard.decoders", "strange:cities of dard.models"):
        assert f"{left_out} was left out: " in done.stderr


# Nobody asks for a decoder by its name.


def python_files() -> list[Path]:
    files = [ROOT / "app.py", *(ROOT / "dard").rglob("*.py"), *(ROOT / "visual").rglob("*.py")]
    return [file for file in files if "decoders" not in file.parts]


def branches_on_names(tree: ast.AST) -> list[str]:
    """Comparisons with, cases of, tables keyed by and items of tables at a decoder's name: "line: name".

    Not a benchmark's protocol, which may be named after a decoder, nor the settings that it presets, which are data.
    """

    def named(node: ast.expr | None) -> list[ast.Constant]:
        parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
        return [part for part in parts if isinstance(part, ast.Constant) and part.value in ALL_DECODERS]

    found: list[ast.Constant] = []
    preset = [
        part
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "presets"
        for part in ast.walk(node)
    ]
    for node in ast.walk(tree):
        if node in preset or (isinstance(node, ast.Compare) and ast.unparse(node.left).endswith(".protocol.name")):
            continue
        if isinstance(node, ast.Compare):
            found += [each for side in (node.left, *node.comparators) for each in named(side)]
        elif isinstance(node, ast.MatchValue):
            found += named(node.value)
        elif isinstance(node, ast.Dict):
            found += [each for key in node.keys for each in named(key)]
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            found += named(node.slice)
    return [f"{each.lineno}: {each.value}" for each in found]


@pytest.mark.parametrize(
    "text",
    [
        "a.decoder == 'dard'", "'wino' != a", "a in ('dard', 'x')", "a not in ['saber']", "T = {'standard': 1}",
        "T['threshold']", "match a:\n    case 'dard' | 'x': pass",
    ],
)  # fmt: skip
def test_the_search_finds_what_it_is_for(text: str) -> None:
    assert branches_on_names(ast.parse(text))
    for fine in (
        "def f(decoder='dard'): return ('dard', 'wino'), Variant('x', 'dard')",
        "presets = {'wino': {'threshold': 0.6}}\nself.protocol.name == 'wino'",
    ):
        assert not branches_on_names(ast.parse(fine))


def test_no_python_outside_a_decoder_s_file_knows_it_by_name() -> None:
    found = {
        str(file.relative_to(ROOT)): lines
        for file in python_files()
        if (lines := branches_on_names(ast.parse(file.read_text(encoding="utf-8"))))
    }
    assert found.pop("dard/cli/main.py")[0].endswith("dard")  # the program's name
    assert not found


def test_no_script_of_the_page_knows_a_decoder_by_name() -> None:
    name = f"(?:{'|'.join(ALL_DECODERS)})"
    quoted = f"""(?:'{name}'|"{name}"|`{name}`)"""
    asks = re.compile(
        rf"[!=]==?\s*{quoted}|{quoted}\s*[!=]==?|case\s+{quoted}|[{{,]\s*(?:{quoted}|{name})\s*:|\[{quoted}\]"
    )
    found = [
        f"{file.name}:{number}: {line.strip()[:100]}"
        for file in sorted((ROOT / "assets" / "web").rglob("*.js"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if asks.search(line)
    ]
    assert not found, "\n".join(found)
