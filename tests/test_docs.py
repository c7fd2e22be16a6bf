"""The documentation: tables are the code's, code runs, commands are taken, and whatever is linked or named is there."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import nullcontext
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import dard
import dard.trace
from dard.cli.main import COMMANDS, build_parser
from dard.cli.tables import TABLES, texts, with_tables
from dard.decoders import DECODERS
from dard.models import CARDS
from tests.helpers import serving
from visual.page import build_page
from visual.server.studio import Studio
from visual.site import index_html

ROOT = Path(__file__).resolve().parents[1]
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in texts()}
PAGES |= {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in (ROOT / ".github").rglob("*.md")
}
NOW = {name: text for name, text in PAGES.items() if name != "CHANGELOG.md"}  # that one tells what was
CODE = re.compile(r"^```.*?^```$", re.S | re.M)
SUFFIXES = "py|js|css|md|toml|txt|yml|yaml|cff|svg|png|gif"


# Tables.


def test_tables_are_those_of_the_code() -> None:
    for name, text in PAGES.items():
        assert with_tables(text) == text, f"{name}: run `python -m dard.cli.tables`"
    for table in TABLES:
        assert sum(f"<!-- {table} -->" in text for text in PAGES.values()) == 1


def test_every_field_of_a_trace_is_explained() -> None:
    schema = json.loads(dard.trace.json_schema())
    rows = "\n".join(line.split(" | ")[0] for line in NOW["docs/trace.md"].splitlines() if line.startswith("| `"))
    named = set(re.findall(r"`(\w+)`", rows))
    assert named == {*schema["properties"], *schema["$defs"]["Step"]["properties"]}


def test_where_to_find_it_is_where_it_is() -> None:
    section = NOW["docs/architecture.md"].split("## Where do I find")[1]
    rows = re.findall(r"^\| .+ \| `(.+)` \| `(\w+)` \|$", section, re.M)
    assert len(rows) > 30
    for file, name in rows:
        code = (ROOT / file).read_text(encoding="utf-8")
        declared = rf"^ *(def|(?:export )?class|export const) {name}\b|^{name}\b.* = "
        assert re.search(declared, code, re.M), f"{name} is not in {file}"


# Code.


@pytest.fixture
def as_before() -> Iterator[None]:
    """What an example registers is gone after it."""
    decoders, cards = dict(DECODERS), dict(CARDS)
    yield
    for registry, known in ((DECODERS, decoders), (CARDS, cards)):
        registry.clear()
        registry.update(known)  # type: ignore[arg-type]


BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.S | re.M)
SERVED = "http://127.0.0.1:7860"


@pytest.mark.usefixtures("as_before")
@pytest.mark.parametrize("name", [name for name, text in NOW.items() if "```python" in text])
def test_code_runs_and_prints_what_stands_below_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The very text, block after block; a page that it asks is started for it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "example", example := ModuleType("example"))  # dataclasses look it up
    with serving(build_page(Studio(("embedded",)))) if SERVED in NOW[name] else nullcontext(SERVED) as url:
        for code, printed in BLOCK.findall(NOW[name]):
            exec(compile(code.replace(SERVED, url), name, "exec"), example.__dict__)
            out = capsys.readouterr().out
            assert not printed or out == printed


def commands() -> list[str]:
    """What the documentation hands to our command line, but what another program or a file that is not there takes."""
    fences = [fence for text in NOW.values() for fence in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.S | re.M)]
    lines = [line for kind, block in fences if not kind for line in block.replace("\\\n", " ").splitlines()]
    said = [re.match(r"(?:[A-Z_]+=\S+ )?(?:(?:python -m )?dard|python (?=app\.py)) ?(.*)", line) for line in lines]
    words = [each[1].replace("app.py", "app", 1) if each[1].startswith("app.py") else each[1] for each in said if each]
    return sorted({each for each in words if not each.startswith("lm-eval") and "--load" not in each})


@pytest.mark.parametrize("command", commands())
def test_commands_are_taken(command: str) -> None:
    words = shlex.split(command, comments=True)
    assert words[0] in COMMANDS
    build_parser().parse_args(words)


# Links and names.


def slugs(text: str) -> set[str]:
    """The anchors of a page, if GitHub and MkDocs make the same of a heading."""
    made = set()
    for heading in re.findall(r"^#+ (.+)$", CODE.sub("", text), re.M):
        plain = re.sub(r"[`*]", "", heading)
        on_github = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        ascii_only = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
        in_mkdocs = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())
        made |= {on_github} & {in_mkdocs}
    return made


def links() -> list[tuple[str, str]]:
    return [(name, to) for name, text in PAGES.items() for to in re.findall(r"\]\(([^)\s]+)\)", CODE.sub("", text))]


def test_links_lead_somewhere() -> None:
    inside = [(name, *to.partition("#")[::2]) for name, to in links() if not to.startswith("https://")]
    assert len(inside) > 60
    for name, file, anchor in inside:
        target = (ROOT / name).parent / file if file else ROOT / name
        assert target.exists(), f"{name} links to {file}, which is not there"
        assert not anchor or anchor in slugs(target.read_text(encoding="utf-8")), f"{name} links to {file}#{anchor}"


def test_pages_of_the_documentation_link_to_one_another_only() -> None:
    """What lies elsewhere is not among the pages that are built."""
    outside = [(name, to) for name, to in links() if name.startswith("docs/") and to.startswith("..")]
    assert not outside


def there(path: str) -> bool:
    """Whether a path of the project exists; a bare name may be that of a file anywhere in it."""
    return (ROOT / path).exists() if "/" in path else any(Path(tracked).name == path for tracked in TRACKED)


TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
# Made by whoever follows the text.
EXAMPLES = {"mine.py", "view.html", "run.json", "samples.jsonl", "vocab.txt", "tokenizer.json"}


def named() -> list[tuple[str, str]]:
    """What stands in backticks, by page."""
    return [(name, each) for name, text in NOW.items() for each in re.findall(r"`([^`\n]+)`", CODE.sub("", text))]


def test_files_that_are_named_exist() -> None:
    like_a_file = re.compile(
        rf"(?:(?:dard|visual|assets|tests|docs|\.github)/[\w./-]*|[\w.-]+\.(?:{SUFFIXES})|Makefile)"
    )
    files = [(name, each) for name, each in named() if like_a_file.fullmatch(each) and each not in EXAMPLES]
    assert len(files) > 80
    assert not [(name, each) for name, each in files if not there(each)]


def test_modules_commands_and_targets_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for name, each in named():
        if re.fullmatch(r"dard(\.\w+)+", each):
            assert resolves(each), f"{name} names {each}"
        elif target := re.match(r"make ([a-z-]+)", each):
            assert target[1] in targets, f"{name} names {each}"
        elif command := re.match(r"(?:python -m )?dard ([a-z-]+)", each):
            assert command[1] in COMMANDS, f"{name} names {each}"


def resolves(dotted: str) -> bool:
    """Whether a module has such a name, or is called so."""
    module, _, rest = dotted.rpartition(".")
    try:
        importlib.import_module(dotted)
    except ModuleNotFoundError:
        return bool(module) and hasattr(importlib.import_module(module), rest)
    return True


def test_every_test_with_the_real_thing_stands_in_the_table_of_promises() -> None:
    table = NOW["CONTRIBUTING.md"].split("## Checked with the real thing")[1].split("\n## ")[0]
    written = {path.name for path in (ROOT / "tests" / "contact").glob("test_*.py")}
    assert set(re.findall(r"`tests/contact/(\w+\.py)`", table)) == written


# As pages.


class Loaded(HTMLParser):
    """What a page loads from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.elsewhere: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs if tag in ("script", "link", "img", "iframe", "source") else ():
            if name in ("src", "href") and re.match(r"(https?:)?//", value or ""):
                self.elsewhere.append(value or "")


@pytest.mark.long
def test_the_pages_are_built_and_load_nothing_from_elsewhere(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = sorted(tmp_path.glob("*.html"))
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} <= {path.stem for path in pages}
    for path in pages:
        loaded = Loaded()
        loaded.feed(path.read_text(encoding="utf-8"))
        assert not loaded.elsewhere, path.name
    for sheet in tmp_path.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet.name


def test_the_static_site_takes_the_pages_along() -> None:
    """`make site` builds them before the gallery, which then links to them."""
    assert re.search(r"^site:.* docs$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert "\nsite_dir: site/docs\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert 'href="docs/index.html"' in index_html([], True) and "docs/" not in index_html([], False)


def test_what_github_reads_can_be_read_and_names_this_version() -> None:
    files = [*ROOT.glob(".*.yaml"), *(ROOT / ".github").rglob("*.yml"), ROOT / "CITATION.cff"]
    assert len(files) >= 10
    read = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in files}
    assert read["CITATION.cff"]["version"] == dard.__version__
    newest = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert newest is not None
    number, unreleased = newest[1].split()[0].strip(","), "unreleased" in newest[1]
    assert re.fullmatch(rf"{re.escape(number)}(\.\d+)*(\.dev0)?", dard.__version__)
    assert dard.__version__.endswith(".dev0") == unreleased
    hooks = [
        re.sub(r"^env \S+ ", "", hook["entry"]).split()[0]
        for hook in read[".pre-commit-config.yaml"]["repos"][0]["hooks"]
    ]
    assert hooks == [".venv/bin/ruff", ".venv/bin/ruff", "node_modules/.bin/biome"]  # what the project has pinned
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for name in ("test.yml", "docs.yml", "release.yml", "space.yml"):
        runs = [step["run"] for job in read[name]["jobs"].values() for step in job["steps"] if "run" in step]
        assert runs and {target for run in runs for target in re.findall(r"\bmake ([a-z-]+)", run)} <= made
