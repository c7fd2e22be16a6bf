"""The door to the notebook's widget, for those who have its extra and those who have not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dard.core.extras import need
from dard.decoding.session import Session
from dard.trace import Trace

if TYPE_CHECKING:
    from visual.notebook import Notebook


def widget(of: Session | Trace) -> Notebook:
    """The viewer in a notebook: a `Session` live (Step, Run and What if against its model), or a `Trace`.

    Where one looks comes back: `widget.step`, `widget.selected` (both can be set), and `widget.trace`.

    >>> import dard
    >>> from dard.models.scripted import LOS_DIEGO, los_diego
    >>> shown = widget(dard.Session(los_diego(), LOS_DIEGO, tau_c=0.4))
    >>> shown.step, shown.trace.num_steps
    (0, 0)
    """
    need("a live widget", "notebook", "anywidget")
    from visual.notebook import Notebook

    return Notebook(of)
