"""MMaDA: a picture's codes stand before the text, framed and numbered as in the published code."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import dard
from dard.core.prompt import initial_state
from dard.models import takes_images, with_image, with_thinking
from dard.models.checkpoint import as_turn
from dard.models.images import as_pixels, open_image
from dard.models.mmada import EOI, MMU, SOI, TEMPLATE, THINK
from dard.models.scripted import los_diego
from tests.models.families import LLAMA_CHAT, TEXT_TOKENS
from tests.models.folders import change_config
from tests.models.test_magvit import write_magvit
from visual.server.opening import page_config
from visual.server.studio import Studio


@pytest.fixture(scope="module")
def mmada(mmada_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    encoder = write_magvit(tmp_path_factory.mktemp("encoder") / "magvit", blocks=[1] * 5)
    return dard.load_model(mmada_folder, image_encoder=encoder)


@pytest.fixture(scope="module")
def shown(mmada: Any) -> Any:
    return with_image(mmada, picture())


def picture(size: tuple[int, int] = (60, 40)) -> bytes:
    file = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert("RGB").save(file, "PNG")
    return file.getvalue()


def test_a_picture_is_1024_codes_after_the_text_tokens(mmada: Any, shown: Any) -> None:
    first, second, *codes, last = shown.prefix
    assert (first, second, last) == (MMU, SOI, EOI) == (126089, 126084, 126085)
    assert len(codes) == 1024 and min(codes) >= TEXT_TOKENS and max(codes) < TEXT_TOKENS + 8192
    expected = mmada.encoder().codes(as_pixels(open_image(picture()), 512))
    assert [code - TEXT_TOKENS for code in codes] == expected
    assert mmada.prefix == () and shown.network is mmada.network and shown.encoder() is mmada.encoder()


def test_the_picture_stands_before_the_conversation(shown: Any) -> None:
    state = initial_state(shown, "w5 w7", 4, None)
    assert state.prompt[:1027] == shown.prefix and state.tokens == (126336,) * 4
    user = (126080, 126346, 0, 126347, 5, 7, 126348)  # bos, header, the word "user", header, text, end of turn
    assert state.prompt[1027:] == (*user, 126346, 0, 126347)
    bare = initial_state(shown, "w5 [MASK]", 4, None)
    assert bare.prompt == shown.prefix and bare.tokens == (5, 126336)


def test_the_whole_picture_can_be_squeezed(mmada: Any) -> None:
    tall = picture((40, 60))
    expected = [TEXT_TOKENS + code for code in mmada.encoder().codes(as_pixels(open_image(tall), 512, "squeeze"))]
    assert list(with_image(mmada, tall, fit="squeeze").prefix[2:-1]) == expected
    assert list(with_image(mmada, tall).prefix[2:-1]) != expected


def test_the_middle_of_a_picture_is_shown() -> None:
    """As in the demos: the shorter side becomes the square's, and as much is cut from either end of the longer one."""
    wide = Image.new("RGB", (300, 100), (255, 0, 0))
    wide.paste((0, 0, 255), (100, 0, 200, 100))
    middle = as_pixels(wide, 64)[0]
    assert (middle[2, :, 3:-3] > 0.9).all() and (middle[0, :, 3:-3] < -0.9).all()
    whole = as_pixels(wide, 64, "squeeze")[0]
    assert whole[0, 32, 5] > 0.9 and whole[2, 32, 32] > 0.9 and whole[0, 32, 58] > 0.9
    assert as_pixels(wide.rotate(90, expand=True), 64).shape == (1, 3, 64, 64)
    with pytest.raises(dard.InputError, match="fit = 'stretch' is not allowed; write crop or squeeze"):
        as_pixels(wide, 64, "stretch")


def test_several_pictures_follow_one_another(mmada: Any) -> None:
    first, second = (with_image(mmada, each).prefix for each in (picture(), picture((40, 60))))
    both = with_image(mmada, picture(), picture((40, 60))).prefix
    assert both == (MMU, *first[1:], *second[1:]) and len(both) == 1 + 2 * 1026


def test_the_tokenizer_s_own_template_is_not_used(mmada_folder: Path, tmp_path: Path) -> None:
    """The demos overwrite it: it has two line breaks where training had one."""
    folder = shutil.copytree(mmada_folder, tmp_path / "m")
    values = json.loads((folder / "tokenizer_config.json").read_text()) | {"chat_template": LLAMA_CHAT}
    (folder / "tokenizer_config.json").write_text(json.dumps(values))
    assert dard.load_model(folder).tokenizer.chat_template == TEMPLATE


def test_it_can_be_told_to_think_first(mmada: Any) -> None:
    told = with_thinking(mmada)
    assert told.network is mmada.network and not mmada.think
    assert as_turn(mmada.tokenizer, "w5", think=True).replace(THINK, "") == as_turn(mmada.tokenizer, "w5")
    assert len(told.encode("w5")) > len(mmada.encode("w5")) and told.encode_piece("w5") == mmada.encode_piece("w5")
    with pytest.raises(dard.InputError, match="model 'los-diego' knows no way to be told to think first"):
        with_thinking(los_diego())


def test_a_turn_is_written_as_it_was_in_training(mmada: Any) -> None:
    turn = as_turn(mmada.tokenizer, " w5 ")
    assert turn == (
        "<|startoftext|><|start_header_id|>user<|end_header_id|>\nw5<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n"
    )


def test_it_decodes_with_the_picture_in_view(mmada: Any, shown: Any) -> None:
    trace = dard.decode(shown, "w5 [MASK] w7 [MASK]", tau_c=0.0, tau_u=0.1)
    assert trace.finished and len(trace.prompt_tokens) == 1027
    assert dard.Trace.from_bytes(trace.to_bytes()).text == trace.text
    assert trace.token_text[SOI] == "<|soi|>" and trace.token_text[trace.prompt_tokens[2]].startswith("<image ")
    assert "<image" not in trace.text
    other = dard.decode(mmada, "w5 [MASK] w7 [MASK]", tau_c=0.0, tau_u=0.1)
    assert other.steps[0].confidence != trace.steps[0].confidence


def test_an_encoder_with_another_number_of_codes_is_refused(mmada_folder: Path, tmp_path: Path) -> None:
    model = dard.load_model(mmada_folder, image_encoder=write_magvit(tmp_path / "magvit", bits=5))
    with pytest.raises(dard.InputError, match=r"has 32 codes; model 'mmada' knows 8192"):
        with_image(model, picture())


def test_a_vocabulary_without_room_for_the_codes_is_refused(mmada_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(mmada_folder, tmp_path / "m")
    change_config(folder, codebook_size=16384)
    with pytest.raises(dard.InputError, match=r"126349 text tokens and 134656 rows; MMaDA needs"):
        dard.load_model(folder)


def test_a_page_takes_pictures_for_one_from_a_folder(mmada_folder: Path, tmp_path: Path) -> None:
    offered = (str(mmada_folder), "Gen-Verse/MMaDA-8B-MixCoT", "embedded", str(tmp_path))
    cards = page_config(Studio(offered))["cards"]
    assert [(card["images"], card["think"]) for card in cards.values()] == [(True, True)] * 2 + [(False, False)] * 2


def test_which_models_take_pictures(mmada: Any) -> None:
    assert takes_images(mmada) and not takes_images(los_diego())
    with pytest.raises(dard.InputError, match=r"model 'los-diego' takes no image; mmada-8b-mixcot does"):
        with_image(los_diego(), picture())
