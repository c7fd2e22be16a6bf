"""The files a person reads: a Markdown table, a page with the figure, the figure as JSON.

Promises: made from the results alone; writing them again gives the same files.
Does not know: how results are made.
"""

from __future__ import annotations

from pathlib import Path

from dard.experiments.catalogue import get_experiment
from dard.experiments.figures import write_json, write_page
from dard.experiments.results import Results, stem_of


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
    """Write all files of a report; their paths."""
    folder, stem = Path(folder), stem_of(results.header)
    figure = get_experiment(results.header["experiment"]).figure(results)
    paths = [folder / f"{stem}.md", folder / f"{stem}.figure.json", folder / f"{stem}.html"]
    paths[0].write_text(markdown(results), encoding="utf-8")
    write_json(figure, paths[1])
    write_page(figure, paths[2])
    return paths
