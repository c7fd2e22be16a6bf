"""The paper's tables and figures, each as one experiment that runs on any model.

Promises: every number follows from the rows of a results file.
Does not know: the page, the command line.

from dard.experiments import make_plan, run
plan = make_plan("pareto", dard.load_model("embedded"), "arithmetic", samples=20)
for progress in run(plan, out="results"):
    print(progress.done, "of", progress.total)
plan.experiment.tables(plan.results), plan.experiment.figure(plan.results)
dard.results.samples.of_results(plan.results)  # every answer, and what opens the decode behind it

A sweep of one's own: `dard.results.sweep.sweep`.
"""

from dard.experiments.catalogue import EXPERIMENTS, find_task, get_experiment, markdown, write_report
from dard.experiments.plan import Plan, Progress, make_plan, run
from dard.results.file import Results, load

__all__ = [
    "EXPERIMENTS",
    "Plan",
    "Progress",
    "Results",
    "find_task",
    "get_experiment",
    "load",
    "make_plan",
    "markdown",
    "run",
    "write_report",
]
