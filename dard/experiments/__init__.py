"""The paper's tables and figures, each as one experiment that runs on any model.

from dard.experiments import make_plan, run
plan = make_plan("pareto", dard.load_model("embedded"), "arithmetic", samples=20)
for progress in run(plan, out="results"):
    print(progress.done, "of", progress.total)
plan.experiment.tables(plan.results), plan.experiment.figure(plan.results)
dard.samples.of_results(plan.results)  # every answer, and what opens the decode behind it

A sweep of one's own: `dard.sweep.sweep`.
"""

from dard.experiments.catalogue import EXPERIMENTS, find_task, get_experiment, markdown, write_report
from dard.experiments.plan import Plan, Progress, make_plan, run
from dard.results import Results, load

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
