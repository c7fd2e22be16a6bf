"""Every decoder with a larger token budget than its answer needs (the paper's figure of budgets 512 and 1024).

The budgets are twice and four times the task's own length: 512 and 1024 where that is 256. What is beyond the answer
fills with ends of text, so tokens per pass in both countings part here.
"""

from __future__ import annotations

from dard.experiments.base import Table
from dard.experiments.figures import Figure, side_by_side
from dard.experiments.pareto import Pareto
from dard.results.file import Results
from dard.results.sweep import Scope, Variant

TIMES = (2, 4)


class Budgets(Pareto):
    name = "budgets"
    title = "Generation budgets"
    paper = "the figure of generation budgets 512 and 1024"
    shows = "what becomes of accuracy and passes when the token budget is twice or four times the answer's"
    default_samples = 20
    caption = "{title}. " + Pareto.caption

    def grid(self, scope: Scope) -> list[Variant]:
        """A template is its own budget."""
        budgets = [] if scope.gen_length is None else [times * scope.gen_length for times in TIMES]
        plain = super().grid(scope)
        return [
            Variant(f"{v.name}, {budget} tokens", v.decoder, {**v.settings, "gen_length": budget})
            for budget in budgets
            for v in plain
        ] or plain

    def tables(self, results: Results) -> list[Table]:
        return [table for part in parts(results) for table in super(Budgets, self).tables(part)]

    def figure(self, results: Results) -> Figure:
        drawn = []
        for part in parts(results):
            drawn.append(super().figure(part))
            drawn[-1]["layout"]["xaxis"]["title"]["text"] += f"; {part.header['title'].lower()}"
        return side_by_side(*drawn) if len(drawn) > 1 else drawn[0]


def parts(results: Results) -> list[Results]:
    """The results of each budget, the smaller first."""
    budgets = []
    for budget in sorted({variant.settings.get("gen_length", 0) for variant in results.variants}):
        kept = [v for v in results.header["variants"] if v["settings"].get("gen_length", 0) == budget]
        names = {v["name"] for v in kept}
        header = {"variants": kept, "title": f"Room for {budget} tokens" if budget else "Templates"}
        budgets.append(Results(results.header | header, [row for row in results.rows if row["variant"] in names]))
    return budgets
