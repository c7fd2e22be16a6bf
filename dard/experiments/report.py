"""The files a person reads: a Markdown table, a page with the figure, the figure as JSON.

Promises: made from the results alone; writing them again gives the same files.
Does not know: how results are made.
"""

from __future__ import annotations

import json
from pathlib import Path

from dard.experiments.catalogue import get_experiment
from dard.experiments.results import Results


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
    parts = [f"# {experiment.title}", f"In the paper: {experiment.paper}.", facts]
    if header["command"]:
        parts.append(f"```\n{header['command']}\n```")
    parts += [table.markdown() for table in experiment.tables(results)]
    return "\n\n".join(parts) + "\n"


def write_report(results: Results, folder: str | Path) -> list[Path]:
    """Write all files of a report; their paths. The page needs no network: plotly.min.js lies beside it, once."""
    import plotly.io

    figure = get_experiment(results.header["experiment"]).figure(results)
    table, data, page = paths = [Path(folder) / f"{results.stem}.{end}" for end in ("md", "figure.json", "html")]
    table.write_text(markdown(results), encoding="utf-8")
    data.write_text(json.dumps(figure, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    plotly.io.write_html(figure, page, include_plotlyjs="directory", div_id="figure", config={"displaylogo": False})
    return paths
