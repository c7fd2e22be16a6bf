"""Tokenizer, config and chat template: do they agree on mask, end and size, and does the template end where the answer
begins?

Promises: asks a loaded model and its tokenizer, and computes nothing with the network.
Does not know: checkpoints by name.
"""

from __future__ import annotations

from typing import Any

from dard.checkup.report import Notes
from dard.core.errors import UnknownWords
from dard.models.base import Model
from dard.models.checkpoint import as_turn, as_turns

QUESTION = "What is 2 + 3 ?"
ANSWER = "It is five."
LIKE_A_MASK = ("mask", "<m>")
THOUGHT = ("<think>", "</think>")


def vocabulary(notes: Notes, model: Model) -> None:
    """All of it, for a model that has a tokenizer; of another only what every model says of itself."""
    tokenizer = getattr(model, "tokenizer", None)
    size(notes, model, tokenizer)
    the_mask(notes, model, tokenizer)
    the_end(notes, model, tokenizer)
    there_and_back(notes, model)
    if tokenizer is not None and getattr(model, "chat", False):
        template(notes, model, tokenizer)
    else:
        notes.add("skipped", "template", "This model puts a prompt into no conversation.")


def size(notes: Notes, model: Model, tokenizer: Any) -> None:
    """No token beyond the rows of the head."""
    highest = max(tokenizer.get_vocab().values(), default=0) if tokenizer is not None else model.vocab_size - 1
    head = getattr(getattr(model, "head", None), "weight", None)
    rows = model.vocab_size if head is None else min(model.vocab_size, head.shape[0])
    told = f"The highest token of the tokenizer is {highest}, and the network has {rows} rows"
    spare = rows - 1 - highest
    if spare < 0:
        notes.add("fail", "size", f"{told}: tokens without a row can be neither read nor written.", rows=rows)
    else:
        notes.add("ok", "size", f"{told}; {spare} are spare.", rows=rows, highest=highest)


def named(tokenizer: Any) -> dict[int, str]:
    """The tokens that are marks and no text."""
    found = {int(number): str(each) for number, each in getattr(tokenizer, "added_tokens_decoder", {}).items()}
    return found | dict(zip(tokenizer.all_special_ids, tokenizer.all_special_tokens, strict=False))


def the_mask(notes: Notes, model: Model, tokenizer: Any) -> None:
    """The mask is a mark of its own, and no other mark would be a better one."""
    mask, name = model.mask_id, "mask"
    if not 0 <= mask < model.vocab_size:
        notes.add("fail", name, f"The mask is token {mask}, and there are {model.vocab_size}.", mask=mask)
        return
    if tokenizer is None:
        notes.add("ok", name, f"The mask is token {mask}, {model.token_text(mask)!r}.", mask=mask)
        return
    marks, known = named(tokenizer), tokenizer.convert_ids_to_tokens([mask])[0]
    others = {"end": model.eos_id, "padding": tokenizer.pad_token_id, "beginning": tokenizer.bos_token_id}
    told = f"The mask is token {mask}, {known!r}"
    own = tokenizer.mask_token_id
    better = {number: text for number, text in marks.items() if is_mask(text) and number != mask}
    if own is not None and own != mask:
        told += f"; the tokenizer has {tokenizer.mask_token!r}, {own}, for it"
        notes.add("fail", name, f"{told}.", mask=mask, tokenizer=own)
    elif known is not None and not is_mask(known) and better:
        number, text = next(iter(better.items()))
        notes.add("fail", name, f"{told}; {text!r}, {number}, looks like the one.", mask=mask, better=number)
    elif mask in others.values():
        which = next(what for what, token in others.items() if token == mask)
        notes.add("fail", name, f"{told}, which is the {which} of a text, too.", mask=mask)
    elif known is None or (mask not in marks and not is_mask(known)):
        what = "no token of the tokenizer" if known is None else "ordinary text"
        notes.add("note", name, f"{told}, which is {what}: compare the checkpoint's own sampler.", mask=mask)
    else:
        notes.add("ok", name, f"{told}, in config and tokenizer alike.", mask=mask)


def is_mask(text: str) -> bool:
    return any(part in text.lower() for part in LIKE_A_MASK)


def the_end(notes: Notes, model: Model, tokenizer: Any) -> None:
    """What ends a text is a mark, and within the vocabulary."""
    ends = [token for token in (model.eos_id, *getattr(model, "end_ids", ())) if token is not None]
    if not ends:
        notes.add("note", "end", "No token ends a text: an answer is always as long as its region.")
        return
    shown = ", ".join(f"{token} ({model.token_text(token)!r})" for token in ends if 0 <= token < model.vocab_size)
    if outside := [token for token in ends if not 0 <= token < model.vocab_size]:
        notes.add("fail", "end", f"The end is token {outside[0]}, and there are {model.vocab_size}.", ends=ends)
    elif tokenizer is not None and (text := [token for token in ends if token not in named(tokenizer)]):
        told = f"A text ends with {shown}, of which {text[0]} is ordinary text: answers would be cut at it."
        notes.add("fail", "end", told, ends=ends)
    else:
        notes.add("ok", "end", f"A text ends with {shown}.", ends=ends)


def speakable(model: Model) -> str | None:
    """A short text that the model can spell, one that comes back whole if there is one."""
    encode, lost = getattr(model, "encode_piece", model.encode), None
    own = " ".join([word for word in getattr(model, "words", ()) if word.isalnum()][:6])
    for text in (QUESTION, "the city is big .", "the city", own):
        try:
            ids = encode(text)
        except UnknownWords:
            continue
        if ids and same(model.decode(ids), text):
            return text
        lost = lost or (text if ids else None)
    return lost


def there_and_back(notes: Notes, model: Model) -> None:
    """Prompt → ids → prompt."""
    text, name = speakable(model), "there and back"
    if text is None:
        notes.add("note", name, "There is no text of ours that this model can spell.")
        return
    encode = getattr(model, "encode_piece", model.encode)
    ids = encode(text)
    back = model.decode(ids)
    if same(back, text):
        notes.add("ok", name, f"{text!r} is {len(ids)} tokens, and these are {back.strip()!r}.", ids=list(ids))
    else:
        notes.add("fail", name, f"{text!r} is {len(ids)} tokens, and these are {back[:80]!r}.", ids=list(ids))


def same(back: str, text: str) -> bool:
    """But for spaces, which tokenizers set as they like, and capitals, which some do without."""
    return "".join(back.split()) in ("".join(text.split()), "".join(text.lower().split()))


def template(notes: Notes, model: Any, tokenizer: Any) -> None:
    """The conversation with an answer begins with the prompt's very tokens, and goes on with the answer's."""
    text = speakable(model) or QUESTION
    given = list(model.encode(text))
    turns = [{"role": "user", "content": text}, {"role": "assistant", "content": ANSWER}]
    try:
        whole = as_turns(tokenizer, turns)
    except Exception as error:  # a template is a program of its own
        notes.add("note", "template", f"The chat template takes no answer: {str(error)[:150]}.")
        return
    prompt = as_turn(tokenizer, text)
    written = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    if given != list(written):
        told = f"The prompt is {len(given)} tokens and its conversation {len(written)}"
        notes.add("fail", "template", f"{told}: something is added or left out.", prompt=prompt)
        return
    if text not in prompt:
        notes.add("fail", "template", f"The conversation does not hold the prompt: {prompt[:150]!r}.", prompt=prompt)
        return
    doubled = [token for token in set(tokenizer.all_special_ids) if given[:2] == [token, token]]
    if doubled:
        told = f"The conversation begins with {tokenizer.convert_ids_to_tokens(doubled)[0]!r} twice."
        notes.add("fail", "template", told, prompt=prompt)
        return
    before = whole.partition(ANSWER)[0]
    thought = prompt.rpartition(THOUGHT[0])
    bare = thought[0] if thought[1] and thought[2].strip() == THOUGHT[1] else prompt
    if ANSWER not in whole:
        notes.add("note", "template", "The chat template shows no answer, so its end cannot be compared.")
    elif before == prompt and list(tokenizer(whole, add_special_tokens=False)["input_ids"])[: len(given)] != given:
        notes.add("note", "template", "The last token of the conversation merges with the first of an answer.")
    elif before in (prompt, bare):
        shown = (prompt if before == prompt else bare)[-40:]
        notes.add("ok", "template", f"The conversation ends where the answer begins: …{shown!r}.", prompt=prompt)
    else:
        more, less = surplus(bare, before), surplus(before, bare)
        what = f"{more!r} too much" if more and not less else f"{less!r} too little" if less and not more else "other"
        told = f"The conversation does not end where an answer begins in training: there is {what}" if what != "other" \
            else f"The conversation ends …{bare[-40:]!r}, and an answer stands after …{before[-40:]!r}"  # fmt: skip
        notes.add("fail", "template", f"{told}.", prompt=prompt, answer=whole)


def surplus(longer: str, shorter: str) -> str:
    """What stands at the end of a text beyond another one."""
    return longer[len(shorter) :] if longer.startswith(shorter) else ""
