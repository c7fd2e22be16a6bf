"""lmms-eval itself, as docs/evaluation.md says: in an environment of its own, which is made once and then kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import pytest
from PIL import Image

import dard
from dard.models import with_image
from tests.models.families import write_mmada
from tests.models.test_magvit import write_magvit
from tests.test_package import wheel

__all__ = ["wheel"]  # a fixture

LMMS_EVAL = "lmms-eval==0.7.3"
COLOURS = ("red", "green", "blue", "white")
SETTINGS = {"decoder": "dard", "gen_length": 4, "block_length": 4}
TASK = """
task: colours
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/items.jsonl}}, cache_dir: {folder}/cache}}
test_split: test
output_type: generate_until
doc_to_visual: !function colours.pictures
doc_to_text: !function colours.question
doc_to_target: colour
generation_kwargs: {{max_new_tokens: 16, until: []}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
"""
FUNCTIONS = """
from PIL import Image

def pictures(document):
    return [Image.new("RGB", (64, 48), document["colour"])]

def question(document):
    return "<image 1> w5 w7"
"""


@pytest.fixture
def python(wheel: Path) -> str:
    """The interpreter of that environment, with this very version of the library."""
    name = f"dard-{LMMS_EVAL.replace('==', '-')}-python-{sys.version_info[0]}.{sys.version_info[1]}"
    folder = Path(tempfile.gettempdir()) / name
    found = str(folder / "bin" / "python")

    def pip(*arguments: str) -> None:
        subprocess.run([found, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)

    if not (folder / "complete").exists():
        venv.create(folder, clear=True, with_pip=True)
        pip("install", LMMS_EVAL, str(wheel))
        if subprocess.run([found, "-c", "import torchvision"], capture_output=True).returncode:
            pip(
                "uninstall", "--yes", "torchvision"
            )  # one for CUDA beside a torch for the CPU; transformers trips over it
        (folder / "complete").touch()
    pip("install", "--no-deps", "--force-reinstall", str(wheel))
    return found


@pytest.mark.long
def test_lmms_eval_asks_about_pictures_and_every_decode_is_kept(python: str, tmp_path: Path) -> None:
    folder, _ = write_mmada(tmp_path / "m")
    encoder = write_magvit(tmp_path / "magvit", blocks=[1] * 5)
    (tmp_path / "items.jsonl").write_text("".join(json.dumps({"colour": colour}) + "\n" for colour in COLOURS))
    (tmp_path / "colours.yaml").write_text(TASK.format(folder=tmp_path))
    (tmp_path / "colours.py").write_text(FUNCTIONS)
    given = {"pretrained": folder, "image_encoder": encoder, "out": tmp_path / "out", **SETTINGS}
    asked = ["--model", "dard", "--tasks", "colours", "--include_path", str(tmp_path), "--batch_size", "2"]
    arguments = ["--model_args", ",".join(f"{name}={value}" for name, value in given.items())]
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    command = [python, "-m", "lmms_eval", *asked, *arguments]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | offline, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "|colours|" in done.stdout.replace(" ", "")
    model = dard.load_model(folder, image_encoder=encoder)
    rows = [json.loads(line) for line in (tmp_path / "out" / "samples.jsonl").read_text().splitlines()]
    assert [row["sample"] for row in rows] == [*range(len(COLOURS))]
    for row, colour in zip(rows, COLOURS, strict=True):
        own = dard.decode(with_image(model, Image.new("RGB", (64, 48), colour)), "w5 w7", **SETTINGS)
        kept = dard.Trace.load(tmp_path / "out" / "traces" / row["trace"])
        assert kept.prompt_tokens == own.prompt_tokens and kept.text == own.text == row["text"]
