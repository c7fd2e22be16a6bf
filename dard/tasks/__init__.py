"""Small worlds with prompts, answers and scorers; benchmarks for real models in a folder of their own.

Promises: plain Python, no torch; an answer is right or wrong by its text alone.
Does not know: models, decoders, traces.

>>> sorted(TASKS)
['arithmetic', 'captions', 'countdown', 'places', 'sudoku-open', 'sudoku-unique']
"""

from dard.tasks.arithmetic import Arithmetic
from dard.tasks.base import MASK, Example, Item, Score, Task, held_out
from dard.tasks.captions import Captions
from dard.tasks.countdown import Countdown
from dard.tasks.places import Places
from dard.tasks.sudoku import OpenSudoku, UniqueSudoku

_ALL: tuple[Task, ...] = (Places(), Captions(), Arithmetic(), UniqueSudoku(), OpenSudoku(), Countdown())

TASKS: dict[str, Task] = {task.name: task for task in _ALL}

__all__ = ["MASK", "TASKS", "Example", "Item", "Score", "Task", "held_out"]
