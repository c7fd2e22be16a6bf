"""The experiments and the tasks by name, and the files a person reads of results that name theirs.

Promises: a report is made from the results alone; writing it again gives the same files.
Does not know: how results are made.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from dard.core.errors import InputError
from dard.core.files import write_whole
from dard.experiments.ablations import MaskAblation, MixingAblation
from dard.experiments.base import Experiment
from dard.experiments.beside import beside_paper
from dard.experiments.budgets import Budgets
from dard.experiments.causes import Causes
from dard.experiments.contamination import Contamination
from dard.experiments.cost import Cost
from dard.experiments.endings import Endings
from dard.experiments.failures import Failures
from dard.experiments.lengths import Lengths
from dard.experiments.ordering import Ordering
from dard.experiments.pareto import Pareto
from dard.experiments.thresholds import Thresholds
from dard.experiments.weight_statistics import WeightStatistics
from dard.results.file import Results
from dard.tasks import TASKS
from dard.tasks.base import Judge
from dard.tasks.benchmarks import PRESETS, open_benchmark

_ALL: tuple[type[Experiment], ...] = (
    Pareto, MaskAblation, MixingAblation, WeightStatistics, Ordering, Thresholds, Lengths, Budgets, Cost, Contamination,
    Endings, Causes, Failures,
)  # fmt: skip

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment() for experiment in _ALL}


def get_experiment(name: str) -> Experiment:
    try:
        return EXPERIMENTS[name]
    except (KeyError, TypeError):
        raise InputError(f"unknown experiment {str(name)[:60]!r}; there are {', '.join(EXPERIMENTS)}") from None


def find_task(name: str, data: str | Path | None = None, run_code: bool = False) -> Judge:
    """A small world, or a benchmark with its data from a file, a folder or the hub."""
    if name in PRESETS:
        return open_benchmark(name, data=data, run_code=run_code)
    if name not in TASKS:
        raise InputError(
            f"unknown task {str(name)[:60]!r}; there are {', '.join(TASKS)} (small worlds of the embedded model) "
            f"and {', '.join(PRESETS)} (benchmarks)"
        )
    if data is not None:
        raise InputError(f"{name} makes its own items; data is for {', '.join(PRESETS)}")
    return TASKS[name]


FIGURES = ("svg", "pdf")


def markdown(results: Results) -> str:
    """Title, the command and circumstances, and all tables."""
    header, experiment = results.header, get_experiment(results.header["experiment"])
    code, where = header["code"], header["machine"]
    weights = f" (weights {header['weights']})" if header["weights"] else ""
    commit = f" at {code['commit']}" if code["commit"] else ""
    threads = f"{where['threads']} thread{'' if where['threads'] == 1 else 's'}"
    done = "" if results.complete else f" **Unfinished: {len(results.rows)} of {results.total} rows.**"
    facts = (
        f"{header['task_title']} (`{header['task']}`), model `{header['model']}`"
        f"{weights}, {header['samples']} samples, seed {header['seed']}, dard {code['version']}{commit}, "
        f"{where['device']}, {threads}, torch {where['torch']}.{done}"
    )
    command = [f"```\n{header['command']}\n```"] if header["command"] else []
    every = [*experiment.tables(results), *beside_paper(experiment, results)]
    tables = [table.markdown() for table in every]
    return "\n\n".join([f"# {experiment.title}", f"In the paper: {experiment.paper}.", facts, *command, *tables]) + "\n"


def write_report(results: Results, folder: str | Path) -> list[Path]:
    """Write all files of a report; their paths. The page needs no network: plotly.min.js lies beside it, once."""
    import plotly.io
    import plotly.offline

    figure = get_experiment(results.header["experiment"]).figure(results)
    table, data, page = paths = [Path(folder) / f"{results.stem}.{end}" for end in ("md", "figure.json", "html")]
    write_whole(table, markdown(results))
    write_whole(data, json.dumps(figure, ensure_ascii=False, indent=1) + "\n")
    html = plotly.io.to_html(figure, include_plotlyjs="directory", div_id="figure", config={"displaylogo": False})
    write_whole(page, html)
    if not (library := page.with_name("plotly.min.js")).exists():
        write_whole(library, plotly.offline.get_plotlyjs())
    return paths


def write_figures(results: Results, folder: str | Path, kinds: Sequence[str]) -> list[Path]:
    """The figure as a drawing for a paper, in each of these kinds; on white, as paper is."""
    import plotly.io

    if not kinds:
        return []
    figure = get_experiment(results.header["experiment"]).figure(results)
    height = figure["layout"].get("height", 480)
    figure["layout"] |= {"paper_bgcolor": "white", "plot_bgcolor": "white"}
    paths = [Path(folder) / f"{results.stem}.{kind}" for kind in dict.fromkeys(kinds)]
    for path in paths:
        try:
            drawn = plotly.io.to_image(figure, format=path.suffix[1:], width=900, height=height)
        except Exception as error:  # kaleido draws in a browser, and whatever that says is told
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            told = f"the figure could not be drawn; kaleido needs Chrome or Chromium: {reason[:200]}"
            raise InputError(told) from None
        write_whole(path, drawn)
    return paths
