"""The plug-in in SGLang itself: found by its loader, hooked by its registry, on its own algorithms, on the CPU.

There is no GPU, so its kernels are not installed and the model's forward is a stand-in; all else is the wheel's. It
comes into a folder of its own, which is made once and then kept.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dard.trace.readers import load
from tests.test_package import wheel
from tests.test_recording import states_of

__all__ = ["wheel"]  # a fixture

SGLANG = "sglang==0.5.23"
NEEDED = [  # what is imported on the way to the algorithms, besides what the project has
    "apache-tvm-ffi", "compressed-tensors", "einops", "gguf", "loguru", "msgspec", "openai", "partial-json-parser",
    "pybase64", "pyzmq", "sentencepiece", "sniffio", "torchvision==0.28.0", "triton",
]  # fmt: skip

RUN = """
import json, sys
import torch
from types import SimpleNamespace

fake = torch.library.register_fake  # a torchvision for CUDA beside a torch for the CPU has none of its own operators

def register_fake(name, *more, **named):
    return (lambda f: f) if str(name).startswith("torchvision:") else fake(name, *more, **named)

torch.library.register_fake = register_fake

from sglang.srt.plugins import load_plugins

load_plugins()
from sglang.srt.dllm.algorithm import get_algorithm_cls

SIZE, MASK, VOCABULARY = 4, 0, 12

class Runner:
    def forward(self, batch, **more):
        drawn = torch.Generator().manual_seed(int(batch.input_ids.sum()))
        logits = torch.randn(len(batch.input_ids), VOCABULARY, generator=drawn) * 2
        logits[:, MASK] = -20
        return SimpleNamespace(logits_output=SimpleNamespace(full_logits=logits), can_run_graph=False)

out = {}
for name in ("LowConfidence", "JointThreshold"):
    for fdfo in (False, True):
        kind = name + (" first done" if fdfo else "")
        config = SimpleNamespace(block_size=SIZE, mask_id=MASK, first_done_first_out_mode=fdfo,
                                 algorithm_config={"threshold": 0.5, "edit_threshold": 0.4, "penalty_lambda": 0.1})
        algorithm = get_algorithm_cls(name)(config)
        canvas = {"a": [5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0, 0], "b": [0, 0, 0, 0, 0, 0, 0, 0]}
        for begin in (0, 4, 8):
            names = [each for each in canvas if len(canvas[each]) > begin]
            ids = torch.tensor([canvas[each][begin:begin + SIZE] for each in names]).flatten()
            positions = torch.arange(begin, begin + SIZE).repeat(len(names))
            batch = SimpleNamespace(batch_size=len(names), input_ids=ids, positions=positions, dllm_prompt_mask=None,
                                    rids=[f"{kind} {each}" for each in names])
            states = None
            for _ in range(40):
                result = algorithm.run(Runner(), batch, states)
                states = result[3]
                if not fdfo or all(result[2]):
                    break
            for each, row in zip(names, ids.view(-1, SIZE).tolist()):
                canvas[each][begin:begin + SIZE] = row
        out[kind] = canvas
print(json.dumps(out))
"""


@pytest.fixture
def place(wheel: Path) -> Path:
    """A folder with SGLang and this very version of the library."""
    name = f"dard-{SGLANG.replace('==', '-')}-python-{sys.version_info[0]}.{sys.version_info[1]}"
    folder = Path(tempfile.gettempdir()) / name

    def pip(*arguments: str) -> None:
        begin = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*begin, "--target", str(folder), *arguments], check=True)

    if not (folder / "complete").exists():
        pip(SGLANG, *NEEDED)
        (folder / "complete").touch()
    pip("--upgrade", str(wheel))
    return folder


def served(place: Path, **more: str) -> dict[str, dict[str, list[int]]]:
    environment = {**os.environ, "PYTHONPATH": str(place), **more}
    done = subprocess.run(
        [sys.executable, "-c", RUN], env=environment, cwd=place, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.long
def test_its_own_algorithms_are_watched_and_decide_what_they_decide_alone(place: Path, tmp_path: Path) -> None:
    alone = served(place)
    watched = served(place, DARD_TRACES=str(tmp_path / "traces"))
    assert watched == alone
    for kind, canvases in alone.items():
        for name, canvas in canvases.items():
            [trace] = load(tmp_path / "traces" / f"{kind} {name}.jsonl".replace(" ", "_"))
            assert states_of(trace)[-1] == canvas and trace.finished, (kind, name)
            assert trace.prompt_tokens == ([5, 6, 7, 8, 9] if name == "a" else [])
            assert trace.about.title.startswith(kind.split()[0])
            assert all(step.confidence[i] is not None for step in trace.steps for i in step.decided)
            edited = [i for step in trace.steps for i in step.replaced]
            assert bool(edited) <= kind.startswith("Joint")
    assert any(step.replaced for step in load(tmp_path / "traces" / "JointThreshold_b.jsonl")[0].steps)
