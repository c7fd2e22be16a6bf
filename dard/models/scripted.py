"""A model without weights: a rule says which words a position may hold, given the words it can see.

It makes failures such as "Los Diego" reproducible in a unit test or a doctest. The rule sees, for one row, the
visible words by position and nothing else, so it behaves like a perfect one-layer model under any mask.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from dard.core.errors import UnknownWords
from dard.core.prompt import MASK_TEXT

Rule = Callable[[int, Mapping[int, str]], Mapping[str, float]]
END_TEXT = "[EOS]"
FLOOR = 1e-4  # probability mass shared by the words the rule does not name


class ScriptedModel:
    """`rule(position, visible)` returns probabilities of words; `visible` maps positions to the words in view."""

    num_layers = 1
    max_length = 512
    device = torch.device("cpu")

    def __init__(self, words: Sequence[str], rule: Rule, name: str = "scripted") -> None:
        self.name = name
        self.words = [MASK_TEXT, END_TEXT, *words]
        self.ids = {word: number for number, word in enumerate(self.words)}
        self.rule = rule
        self.mask_id = 0
        self.eos_id: int | None = 1
        self.vocab_size = len(self.words)

    def encode(self, prompt: str) -> list[int]:
        unknown = list(dict.fromkeys(word for word in prompt.split() if word not in self.ids))
        if unknown:
            named = ", ".join(unknown)[:200]
            raise UnknownWords(f"holds words this scripted model does not know: {named}", unknown)
        return [self.ids[word] for word in prompt.split()]

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self.words[token] for token in ids)

    def token_text(self, token: int) -> str:
        return self.words[token]

    def logits(self, ids: Tensor, positions: Tensor, mask: Tensor, rows: Tensor) -> Tensor:
        answer = torch.empty(len(rows), self.vocab_size)
        for number, row in enumerate(rows.tolist()):
            seen = {
                int(positions[key]): self.words[int(ids[key])]
                for key in mask[row].nonzero()[:, 0].tolist()
                if int(ids[key]) != self.mask_id
            }
            named = self.rule(int(positions[row]), seen)
            left = max(1.0 - sum(named.values()), 0.0) + FLOOR
            probability = torch.full((self.vocab_size,), left / self.vocab_size)
            for word, value in named.items():
                probability[self.ids[word]] += value
            answer[number] = probability.log()
        return answer


LOS_DIEGO = "The city of [MASK] [MASK] is on the Southern California coast ."


def los_diego() -> ScriptedModel:
    """Knows two cities. Seen alone, "Los" and "Diego" are each the likeliest word of their position.

    >>> import dard
    >>> dard.decode(los_diego(), LOS_DIEGO, decoder="standard", steps=1).text
    'The city of Los Diego is on the Southern California coast .'
    >>> dard.decode(los_diego(), LOS_DIEGO, decoder="dard", tau_c=0.4, tau_u=0.8).text
    'The city of San Diego is on the Southern California coast .'
    """
    first, second = 3, 4

    def rule(position: int, visible: Mapping[int, str]) -> Mapping[str, float]:
        if position in visible:  # the row can see the word it stands on: it repeats it
            return {visible[position]: 0.97}
        if position == first:
            pairs = {"Diego": {"San": 0.93, "Los": 0.04}, "Angeles": {"Los": 0.95, "San": 0.02}}
            return pairs.get(visible.get(second, ""), {"Los": 0.51, "San": 0.46})
        if position == second:
            pairs = {"San": {"Diego": 0.94, "Angeles": 0.03}, "Los": {"Angeles": 0.92, "Diego": 0.04}}
            return pairs.get(visible.get(first, ""), {"Diego": 0.57, "Angeles": 0.41})
        return {}

    words = [word for word in LOS_DIEGO.split() if word != MASK_TEXT] + ["Los", "San", "Angeles", "Diego"]
    return ScriptedModel(words, rule, name="los-diego")
