"""bitsandbytes itself, on a CPU: of a mixture, which is nearly all experts, the experts get smaller, too.

It comes, with accelerate, into a folder of its own, which is made once and then kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest

from tests.models.families import llada2_tokenizer, save_tokenizer
from tests.models.llada2 import small_config, write_llada2_files

ROOT = Path(__file__).resolve().parents[2]
LARGE = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["large"]
RUN = """
import sys, dard, torch
from collections import Counter

folder, bits = sys.argv[1], int(sys.argv[2])
whole = dard.load_model(folder)
few = dard.load_model(folder, quantise=bits, dtype="bfloat16", device="cpu")
kinds = Counter(type(module).__name__ for module in few.network.modules())
ids, places, sees = torch.arange(40) + 5, torch.arange(40), torch.ones(40, 40, dtype=torch.bool)
one, other = (model.logits(ids, places, sees, places).flatten() for model in (whole, few))
size = [sum(w.numel() * w.element_size() for w in model.network.parameters()) for model in (few, whole)]
spread = dard.load_model(folder, device_map="auto")
same = torch.equal(spread.logits(ids, places, sees, places).flatten(), one)
done = dard.decode(few, "the [MASK] [MASK]", prefix_cache="block").finished
print(kinds["Linear"], float(torch.corrcoef(torch.stack([one, other]))[0, 1]), size[0] / size[1], same, done)
"""


@pytest.fixture(scope="module")
def place() -> Path:
    name = "-".join(["dard", *LARGE, f"python-{sys.version_info[0]}.{sys.version_info[1]}"]).replace("==", "-")
    folder = Path(tempfile.gettempdir()) / name
    if not (folder / "complete").exists():
        begin = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*begin, "--target", str(folder), *LARGE, "psutil"], check=True)
        (folder / "complete").touch()
    return folder


@pytest.mark.long
@pytest.mark.parametrize(("bits", "share"), [(4, 0.2), (8, 0.3)])
def test_a_mixture_in_few_bits(bits: int, share: float, place: Path, tmp_path: Path) -> None:
    """Only the head and the embeddings stay as they are; on a CPU its layers are as wide as its blocks at least."""
    tokenizer = llada2_tokenizer()
    ids = {"mask_token_id": tokenizer.get_vocab()["<|mask|>"], "eos_token_id": 257, "pad_token_id": 257}
    wide = {"hidden_size": 128, "head_dim": 32, "intermediate_size": 128, "moe_intermediate_size": 64}
    write_llada2_files(tmp_path / "m", small_config(3, len(tokenizer) + 5, **ids, **wide), 1)
    save_tokenizer(tmp_path / "m", tokenizer, "PreTrainedTokenizerFast")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path / "m"), str(bits)], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(place), str(ROOT)])}, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    linear, alike, size, same, finished = done.stdout.split()[-5:]
    assert linear == "1" and float(alike) > 0.8 and float(size) < share
    assert (same, finished) == ("True", "True")
