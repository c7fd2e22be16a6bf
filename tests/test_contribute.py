"""A recorded decode goes to others: into the gallery as a pull request's files, and into a dataset of the hub."""

from __future__ import annotations

import base64
import gzip
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import dard
from dard.cli.main import main
from dard.core.errors import InputError
from dard.models.scripted import LOS_DIEGO, los_diego
from visual import contribute, site
from visual.contribute import add_case, check_case
from visual.server import cases
from visual.server.cases import GALLERY, gallery, recording
from visual.server.studio import Studio

SAID = {"name": "Two cities", "look": "Both words are decided at once, and one is taken back.", "licence": "CC0-1.0"}
SAID |= {"by": "A. Nother"}
MODEL = "GSAI-ML/LLaDA-8B-Instruct"


def recorded(model: str = MODEL, **changes: Any) -> dard.Trace:
    """A decode as somebody with a large model has it."""
    trace = dard.decode(los_diego(), LOS_DIEGO, "dard", tau_c=0.4, tau_u=0.8)
    return replace(trace, model=model, **changes)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A gallery of its own with one case in it."""
    folder = tmp_path / "gallery"
    folder.mkdir()
    for path in GALLERY.glob("01-*"):
        (folder / path.name).write_bytes(path.read_bytes())
    for module in (cases, site):
        monkeypatch.setattr(module, "GALLERY", folder)
    monkeypatch.setattr("dard.cli.gallery.GALLERY", folder)
    return folder


# The gallery.


def test_every_case_that_was_contributed_is_checked_as_it_was_when_it_came() -> None:
    for path in GALLERY.glob("*.json"):
        case = json.loads(path.read_text(encoding="utf-8"))
        if case.get("model", "embedded") != "embedded":
            check_case(case, recording(path).read_bytes())


def test_a_case_comes_as_two_files_and_stands_in_the_gallery(
    shelf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded().save(tmp_path / "t.json.gz")
    words = [word for name, value in SAID.items() for word in (f"--{name}", value)]
    assert main(["gallery", "add", str(tmp_path / "t.json.gz"), *words, "--step", "2", "--select", "4"]) == 0
    assert capsys.readouterr().out.split() == [
        str(shelf / "02-two-cities.json"),
        str(shelf / "02-two-cities.trace.json.gz"),
    ]
    first, case = gallery()
    assert first["model"] == "embedded" and case["model"] == MODEL and case["prompt"] == LOS_DIEGO
    assert (case["step"], case["select"], case["by"], case["licence"]) == (2, 4, "A. Nother", "CC0-1.0")
    view = Studio(("embedded",)).recorded({"name": "Two cities"})
    assert view["payload"]["model"] == MODEL and len(view["payload"]["steps"]) == 5
    assert main(["gallery", "add", str(tmp_path / "t.json.gz"), *words]) == 2
    assert "there is a case of that name" in capsys.readouterr().err


def test_a_recording_of_a_decoder_that_nobody_knows_has_no_lanes(shelf: Path) -> None:
    add_case(recorded(decoder="fast_generate"), dict(SAID), shelf)
    assert gallery()[1]["lanes"] == []


@pytest.mark.parametrize(
    ("case", "trace", "sentence"),
    [
        ({"name": "x"}, {}, "name is 1 characters long; it must have 3 to 30"),
        ({"look": "Look."}, {}, "look is 5 characters long"),
        ({"look": "Look here, and\u202e nowhere else at all."}, {}, "look holds an invisible character (U+202E)"),
        ({"licence": "mine"}, {}, "licence = 'mine' is not allowed; it must be CC0-1.0 or"),
        ({"by": ""}, {}, "by is 0 characters long"),
        ({"step": 6}, {}, "step = 6 is not allowed; the trace has steps 0 to 5"),
        ({"select": 99}, {}, "select = 99 is not allowed"),
        ({}, {"model": "/data/me/llada"}, "model = '/data/me/llada' is not allowed; it must be a name or a hub id"),
        ({}, {"model": "embedded"}, "decoded anew by tests"),
        ({}, {"prompt": "Mail somebody@example.org"}, "the prompt holds 'somebody@example.org', which looks private"),
        ({}, {"text": "see /home/somebody/notes"}, "the answer holds '/home/somebody', which looks private"),
        ({}, {"steps": []}, "no steps"),
    ],
)
def test_what_may_not_stand_there_is_told_and_nothing_is_written(
    shelf: Path, case: dict[str, Any], trace: dict[str, Any], sentence: str
) -> None:
    before = sorted(shelf.iterdir())
    with pytest.raises(InputError) as refused:
        add_case(recorded(**trace), SAID | case, shelf)
    assert sentence in str(refused.value)
    assert sorted(shelf.iterdir()) == before


def test_a_model_from_a_folder_is_given_its_name(shelf: Path) -> None:
    path, _ = add_case(recorded(model="/data/me/llada"), SAID | {"model": MODEL}, shelf)
    assert dard.Trace.load(recording(path)).model == json.loads(path.read_text())["model"] == MODEL


def test_a_trace_that_is_too_large_is_told_its_size(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contribute, "CASE_AT_MOST", 1000)
    with pytest.raises(InputError, match=r"the trace is \d+ KB; a case may have 0 KB"):
        add_case(recorded(), dict(SAID), shelf)


def test_the_site_shows_a_contributed_case_with_its_model_and_decodes_it_with_no_other(
    shelf: Path, tmp_path: Path
) -> None:
    add_case(recorded(), dict(SAID), shelf)
    out = tmp_path / "site"
    (out / "gallery").mkdir(parents=True)
    index = site.index_html(site.write_gallery(out, Studio(("embedded",))), False)
    assert f"recorded on {MODEL} by A. Nother, CC0-1.0;" in index
    names = {path.name for path in (out / "gallery").iterdir()}
    assert {"02-two-cities.html", "02-two-cities.trace.json.gz", "01-los-diego-compared.html"} <= names
    assert "02-two-cities-compared.html" not in names and "02-two-cities-compared" not in index


# A dataset of the hub. Its client is the real one; the hub is a server of this test.


class Hub(BaseHTTPRequestHandler):
    """As much of the hub as an upload asks for: it keeps what is sent and hands it out again."""

    asked: list[str] = []
    kept: dict[str, bytes] = {}

    def log_message(self, *_: Any) -> None:
        pass

    def answer(self, body: Any, status: int = 200) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.append(self.path)
        if "nobody" in self.path + body.decode():
            return self.answer({"error": "You don't have the rights"}, 403)
        if self.path == "/api/repos/create":
            wanted = json.loads(body)
            assert wanted["type"] == "dataset" and not wanted.get("private")
            return self.answer(
                {"url": f"http://{self.headers['Host']}/datasets/{wanted['organization']}/{wanted['name']}"}
            )
        if "/preupload/" in self.path:
            files = [
                {"path": each["path"], "uploadMode": "regular", "shouldIgnore": False}
                for each in json.loads(body)["files"]
            ]
            return self.answer({"files": files})
        lines = [json.loads(line) for line in body.splitlines()]
        for value in [line["value"] for line in lines if line["key"] == "file"]:
            self.kept[value["path"]] = base64.b64decode(value["content"])
        here = f"http://{self.headers['Host']}/datasets/me/traces/commit/abc"
        self.answer({"commitUrl": here, "commitOid": "abc", "success": True})

    def do_GET(self) -> None:
        self.answer(self.kept[self.path.split("/resolve/main/")[1]])


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    Hub.asked, Hub.kept = [], {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", url)
    monkeypatch.setattr("huggingface_hub.hf_api.constants.ENDPOINT", url)
    yield url
    server.shutdown()
    server.server_close()


def shared(*words: str) -> int:
    return main(["share", *words])


def test_a_trace_is_put_into_a_dataset_and_the_link_names_what_is_there(
    hub: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = recorded()
    trace.save(tmp_path / "my run, 1.trace.json")
    page = "https://somebody-dard.hf.space/"
    assert shared(str(tmp_path / "my run, 1.trace.json"), "me/traces", "--page", page) == 0
    said, link = capsys.readouterr().out.splitlines()
    (name,) = Hub.kept
    assert name.startswith("traces/my-run-1-") and name in said
    assert link.startswith(f"{page}?url=")
    (address,) = parse_qs(urlsplit(link).query)["url"]
    assert address == f"{hub}/datasets/me/traces/resolve/main/{name}"
    there = dard.Trace.from_bytes(Hub.kept[name])
    assert there.to_bytes(compress=False) == trace.to_bytes(compress=False) and gzip.decompress(Hub.kept[name])
    assert Hub.asked[0] == "/api/repos/create" and Hub.asked[-1].startswith("/api/datasets/me/traces/commit/main")
    assert shared(str(tmp_path / "my run, 1.trace.json"), "me/traces") == 0 and list(Hub.kept) == [name]
    assert "http://127.0.0.1:7860/?url=" in capsys.readouterr().out


def test_a_dry_run_prints_the_same_link_and_sends_nothing(
    hub: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded().save(tmp_path / "t.json.gz")
    assert shared(str(tmp_path / "t.json.gz"), "me/traces", "--name", "first", "--dry-run") == 0
    dry = capsys.readouterr().out.splitlines()
    assert "would be put" in dry[0] and Hub.asked == []
    assert shared(str(tmp_path / "t.json.gz"), "me/traces", "--name", "first") == 0
    assert capsys.readouterr().out.splitlines()[1] == dry[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nobody"], "dataset = 'nobody' is not allowed; it must have the form owner/name"),
        (["me/traces", "--page", "javascript:alert(1)"], "page = 'javascript:alert(1)' is not allowed"),
        (["nobody/traces"], "dataset 'nobody/traces' could not be uploaded: "),
    ],
)
def test_what_cannot_be_shared_is_told_in_a_sentence(
    hub: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    recorded().save(tmp_path / "t.json.gz")
    assert shared(str(tmp_path / "t.json.gz"), *words) == 2
    assert sentence in capsys.readouterr().err and not Hub.kept


def test_a_hub_that_does_not_answer_is_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    recorded().save(tmp_path / "t.json.gz")
    assert shared(str(tmp_path / "t.json.gz"), "me/traces") == 2
    assert "dataset 'me/traces' could not be uploaded" in capsys.readouterr().err
    (tmp_path / "broken.json").write_text("{}")
    assert shared(str(tmp_path / "broken.json"), "me/traces") == 2
