"""The word list of the embedded model and its tokenizer file.

Promises: one token per word of the small worlds, always the same number for the same set of worlds.
Does not know: subwords. A word that no world uses becomes [UNK].
"""

from __future__ import annotations

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from dard.tasks import TASKS

PAD, MASK, EOS, UNK = "[PAD]", "[MASK]", "[EOS]", "[UNK]"
SPECIAL = (PAD, MASK, EOS, UNK)
PAD_ID, MASK_ID, EOS_ID, UNK_ID = range(len(SPECIAL))


def word_list() -> list[str]:
    """Special tokens first, then all words in alphabetical order."""
    return [*SPECIAL, *sorted(set().union(*(task.vocabulary() for task in TASKS.values())))]


def build_tokenizer() -> Tokenizer:
    """A word-level tokenizer that splits on spaces.

    >>> build_tokenizer().encode("San [MASK] .").tokens
    ['San', '[MASK]', '.']
    """
    vocabulary = {word: number for number, word in enumerate(word_list())}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNK))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    # Joining with single spaces gives back exactly what the worlds wrote.
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    tokenizer.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in SPECIAL])
    return tokenizer
