"""The project as a package: what is in the wheel, and that it works from another folder. Also what needs no torch."""

from __future__ import annotations

import base64
import gzip
import os
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

import dard
from dard.cli import main as command_line
from dard.core.folders import assets
from tests.helpers import started
from visual import pinned

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOS_DIEGO = "The city of [MASK] [MASK] is on the Southern California coast ."
TRACES = sorted(map(str, assets("gallery").glob("*.trace.json.gz")))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, because building leaves folders behind, and by setuptools itself: no network, no isolation."""
    copy = tmp_path_factory.mktemp("source")
    for name in ("dard", "visual", "assets"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "requirements.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    build = "from setuptools import build_meta; build_meta.build_wheel('dist')"
    done = subprocess.run([sys.executable, "-c", build], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return next((copy / "dist").glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel alone in a folder; the packages it depends on are those of the test environment."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*pip, "--target", str(folder), str(wheel)], check=True)
    return folder


def alone(folder: Path) -> dict[str, str]:
    """The environment in which an installed copy is found first. One thread: tiny networks only wait for more."""
    return {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}


def dard_in(folder: Path, *arguments: str, here: Path) -> str:
    """What the installed command `dard` prints, run in another folder."""
    command = [str(folder / "bin" / "dard"), *arguments]
    done = subprocess.run(command, cwd=here, env=os.environ | alone(folder), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


# The wheel.


def test_the_wheel_holds_what_the_page_needs_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    about = {name for name in names if name.startswith(f"dard_studio-{dard.__version__}.dist-info/")}
    code = {str(path.relative_to(ROOT)) for folder in ("dard", "visual") for path in (ROOT / folder).rglob("*.py")}
    patterns = ("gallery/*", "learn/*", "model/*", "results/*.jsonl", "results/*.figure.json", "results/*.md")
    patterns = (*patterns, "web/*/*")
    brought = {path for pattern in patterns for path in (ROOT / "assets").glob(pattern)}
    assert names - about == code | {f"dard/{path.relative_to(ROOT)}" for path in brought}
    assert {path.relative_to(ROOT / "assets").parts[0] for path in brought} == {p.split("/")[0] for p in patterns}


def test_the_wheel_says_what_it_needs(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    about = archive.read(f"dard_studio-{dard.__version__}.dist-info/METADATA").decode()
    needed = set(re.findall(r"^Requires-Dist: ([^;\n]+)$", about, re.M))
    assert needed == {line for line in lines("requirements.txt") if "==" in line}
    assert set(re.findall(r"^Requires-Python: (.*)$", about, re.M)) == {"<3.14,>=3.11"}


def lines(file: str) -> list[str]:
    return [line for line in (ROOT / file).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def test_the_same_versions_are_pinned_everywhere() -> None:
    wanted = lines("requirements-dev.txt")
    assert "-r requirements.txt" in wanted
    assert set(PROJECT["build-system"]["requires"]) <= set(wanted)
    extras = PROJECT["project"]["optional-dependencies"]
    assert {*extras["benchmarks"], *extras["lm-eval"]} <= set(wanted)
    assert all("==" in line for extra in extras.values() for line in extra)


def test_the_python_versions_are_the_same_everywhere() -> None:
    assert PROJECT["tool"]["ruff"]["target-version"] == "py311" and PROJECT["tool"]["mypy"]["python_version"] == "3.11"
    assert "(3, 11) <= sys.version_info[:2] <= (3, 13)" in (ROOT / "Makefile").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "Python 3.11, 3.12 or 3.13" in readme and 'python_version: "3.12"' in readme


# From another folder.


def test_the_installed_command_decodes_and_shows(installed: Path, tmp_path: Path) -> None:
    shown = dard_in(installed, "decode", LOS_DIEGO, "--tau-c", "0.4", "--trace", "t.json.gz", here=tmp_path)
    assert "Los Angeles" in shown
    page = Path(dard_in(installed, "view", "t.json.gz", "--no-open", "--out", "t.html", here=tmp_path).strip())
    assert page == tmp_path / "t.html" and "Southern California" in page.read_text(encoding="utf-8")
    assert "usage: dard view" in dard_in(installed, "view", "--help", here=tmp_path)


def test_the_installed_page_has_its_gallery_lessons_and_results(installed: Path, tmp_path: Path) -> None:
    with started([str(installed / "bin" / "dard"), "app"], tmp_path, **alone(installed)) as url:
        page = urllib.request.urlopen(url, timeout=20).read().decode()
    tabs = "".join(gzip.decompress(base64.b64decode(each)).decode() for each in re.findall(r"H4sI[\w+/=]+", page))
    assert "01-los-diego" not in tabs and '"Los Diego"' in tabs
    assert all(path.stem in tabs for path in assets("results").glob("*.jsonl"))
    assert "window.dardStudio" in page and "mountWatch" in tabs and '"lessons"' in tabs


@pytest.mark.long
def test_an_empty_environment_gets_all_that_is_needed(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "empty", with_pip=True)
    programs = tmp_path / "empty" / "bin"
    subprocess.run([programs / "pip", "install", "--quiet", str(wheel)], check=True)
    shown = subprocess.run([programs / "dard", "decode", LOS_DIEGO], cwd=tmp_path, capture_output=True, text=True)
    assert "Southern California" in shown.stdout, shown.stderr
    subprocess.run([programs / "dard", "view", TRACES[0], "--no-open", "--out", "t.html"], cwd=tmp_path, check=True)
    with started([str(programs / "dard"), "app"], tmp_path) as url:
        assert b"window.dardStudio" in urllib.request.urlopen(url, timeout=20).read()


# View.


def test_view_opens_one_page_with_a_lane_for_every_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    monkeypatch.setattr("tempfile.mkdtemp", lambda prefix: str(tmp_path))
    assert command_line.main(["view", *TRACES[:2]]) == 0
    page = tmp_path / "replay.html"
    assert opened == [page.as_uri()] and capsys.readouterr().out == f"{page}\n"
    assert all(Path(file).name.split(".")[0] in page.read_text(encoding="utf-8") for file in TRACES[:2])


def test_view_says_so_when_there_is_no_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    assert command_line.main(["view", TRACES[0], "--out", str(tmp_path / "t.html")]) == 0
    assert "no browser was found" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "FILE"),
        ([TRACES[0], "no-such-file.json"], "'no-such-file.json': trace file cannot be read"),
        ([str(ROOT / "LICENSE")], "neither JSON nor what torch.save writes"),
        (TRACES[:6], "1 to 5 traces, not 6"),
        ([TRACES[0], "--out", "t.json"], "ends in .html"),
        ([TRACES[0], "--out", "no/such/folder/t.html"], "the page cannot be written"),
    ],
)
def test_view_refuses_with_one_sentence_and_writes_nothing(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.mkdtemp", lambda prefix: pytest.fail("a folder was made"))
    assert command_line.main(["view", *arguments]) == 2
    out, err = capsys.readouterr()
    assert words in err and err.startswith("dard: ") and err.count("\n") == 1 and out == ""
    assert list(tmp_path.iterdir()) == []


# What needs no torch.


@pytest.mark.parametrize(
    "code",
    [
        "import dard, dard.trace, dard.trace.words; dard.Trace.load(sys.argv[1])",
        "from dard.cli.main import main; main(['view', sys.argv[1], '--no-open', '--out', 't.html'])",
        "from dard.cli.main import build_parser; build_parser().format_help()",
        "from dard.trace.readers import read; read(b'[[5, 0], [5, 6]]', mask_id=0)[0].to_bytes()",
    ],
)
def test_no_torch_until_a_model_is_loaded(code: str, tmp_path: Path) -> None:
    heavy = "heavy = {'torch', 'transformers', 'gradio', 'plotly'} & set(sys.modules); assert not heavy, heavy"
    command = [sys.executable, "-c", f"import sys; {code}; {heavy}", TRACES[0]]
    subprocess.run(command, check=True, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)})


def test_the_lock_holds_everything_that_is_required_and_names_no_machine(tmp_path: Path) -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = {name: version for name, version, _ in pinned.ENTRY.findall(text)}
    required = dict(line.split("==") for line in lines("requirements.txt") if "==" in line)
    version = required.pop("torch")
    assert {name.replace("_", "-"): each for name, each in required.items()}.items() <= locked.items()
    assert "torch" not in locked and not any(name.startswith(("nvidia", "cuda", "triton")) for name in locked)
    assert text.count("--hash=sha256:") > len(locked) > 50 and version
    assert not re.search(r"https?://|file:|--index|--find|/(tmp|home|root|opt)/", text)
    wrong = tmp_path / "requirements.lock"
    wrong.write_text("pytest==0.1 \\\nnowhere==1 \\\nnever==1 ; sys_platform == 'x' \\\n", encoding="utf-8")
    assert [each.split()[0] for each in pinned.unlike_locked(wrong)] == ["pytest", "nowhere"]
