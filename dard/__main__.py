"""The command line: `dard COMMAND` or `python -m dard COMMAND`. Bad input ends with one sentence and exit code 2."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from dard.plugins import files_in, load_file
from dard.state import InputError
from dard.trace import Trace, Verdict

if TYPE_CHECKING:
    from dard.session import Session

CAUSES_SECONDS = 5.0


class Parser(argparse.ArgumentParser):
    """argparse that says one sentence and no usage text, and learns a command's arguments when that command is named.

    Most of them come from the decoders and need torch: help, and what needs no model, do not wait for it.
    """

    add_arguments: Callable[[argparse.ArgumentParser], None] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.add_arguments is not None:
            add_arguments, self.add_arguments = self.add_arguments, None
            self.add_argument(
                "--load", action="append", metavar="FILE", help="a Python file that registers decoders or models"
            )
            for file in files_in(args or []):  # first: what it registers has arguments of its own
                load_file(file)
            add_arguments(self)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see {self.prog} --help)")


def flag(field: str) -> str:
    return "--" + field.strip("_").replace("_", "-")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """A flag for every setting of every decoder; which decoder knows it is checked when it is used."""
    from dard.decoders import DECODERS

    owners: dict[str, list[str]] = {}
    helps: dict[str, str] = {}
    for decoder in DECODERS.values():
        for name, allowed in decoder.Settings.allowed().items():
            owners.setdefault(name, []).append(decoder.name)
            helps.setdefault(name, f"{allowed.help}; {allowed.describe()}")
    group = parser.add_argument_group("settings")
    for name, who in owners.items():
        known = "" if len(who) == len(DECODERS) else f" [{', '.join(who)}]"
        group.add_argument(flag(name), dest=name, metavar="VALUE", help=f"{helps[name]}{known}".replace("%", "%%"))


def given_settings(args: argparse.Namespace) -> dict[str, Any]:
    from dard.decoders import DECODERS

    names = {name for decoder in DECODERS.values() for name in decoder.Settings.allowed()}
    return {name: value for name, value in vars(args).items() if name in names and value is not None}


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default="embedded", help="a name from `models`, a folder, or a hub id")
    add_loading(parser)
    parser.add_argument(
        "--image", metavar="FILE", action="append", help="show the model a picture, if it takes one; may be repeated"
    )
    parser.add_argument("--squeeze", action="store_true", help="show it whole pictures, squeezed, not their middles")
    parser.add_argument("--think", action="store_true", help="tell the model to think first, if it can be told")


def add_loading(parser: argparse.ArgumentParser) -> None:
    """How models are loaded: what `load_model` takes, for every command and the page."""
    parser.add_argument("--device", help="cpu, cuda, cuda:1, mps")
    parser.add_argument("--dtype", choices=("float32", "bfloat16", "float16"), help="precision of the weights")
    parser.add_argument("--device-map", metavar="MAP", help="spread the model over several devices: auto, balanced")
    parser.add_argument("--quantise", type=int, metavar="BITS", help="store weights in 4 or 8 bits")
    parser.add_argument("--plain", action="store_true", help="take the prompt as it stands, also for a chat model")
    parser.add_argument(
        "--attention", metavar="HOW", help="bidirectional, or block:N; only where the model does not say"
    )
    parser.add_argument("--shift", action="store_const", const=True, help="the model predicts one position ahead")
    parser.add_argument(
        "--image-encoder", metavar="FOLDER", help="where the encoder of pictures is, in place of the hub (or a hub id)"
    )


def loading_options(args: argparse.Namespace) -> dict[str, Any]:
    names = ("device", "dtype", "device_map", "quantise", "attention", "shift", "image_encoder")
    return {"chat": False if args.plain else None, **{name: getattr(args, name) for name in names}}


def open_model(args: argparse.Namespace) -> Any:
    from dard.models import load_model, with_image, with_thinking

    with loading_bar() as tell:
        model = load_model(args.model, progress=tell, **loading_options(args))
    model = with_thinking(model) if args.think else model
    return with_image(model, *args.image, fit="squeeze" if args.squeeze else "crop") if args.image else model


def plain_console() -> Console:
    return Console(highlight=False)


def progress_bar(count: ProgressColumn | None = None) -> Progress:
    """On standard error, and only there, so that standard output stays clean."""
    count = count or TextColumn("{task.completed}/{task.total}")
    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeElapsedColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


@contextmanager
def loading_bar() -> Iterator[Callable[[str, int, int], None]]:
    """How far a model is on its way, in bytes."""
    with progress_bar(DownloadColumn()) as bar:
        task = bar.add_task("loading", total=None)
        yield lambda doing, done, total: bar.update(task, description=doing, completed=done, total=total or None)


def decode_command(args: argparse.Namespace) -> None:
    from dard.session import Session
    from dard.terminal import show_trace

    session = Session(open_model(args), args.prompt, args.decoder, **given_settings(args))
    free = sum(not given for given in session.state.fixed)
    with progress_bar() as bar:
        task = bar.add_task(args.decoder, total=free)
        session.run(lambda step: bar.update(task, completed=free - step.states.count("M")))
    trace = session.trace
    if args.causes is not None:
        trace.causes = list(transitions(session, args.causes))
    if args.trace:
        save(trace, args.trace)
    if args.json:
        sys.stdout.write(trace.to_bytes(compress=False).decode() + "\n")
    else:
        show_trace(plain_console(), trace, sentences=args.why or args.causes is not None)


def transitions(session: Session, seconds: float) -> Iterator[Verdict]:
    """Every transition's verdict with its causes."""
    from dard.cause import examine

    if not seconds > 0:
        raise InputError(f"--causes = {seconds:g} is not allowed; it must be a number of seconds above 0")
    wanted = [(step.index, position) for step in session.steps for position in step.why]
    with progress_bar() as bar:
        for number, position in bar.track(wanted, description="causes"):
            *_, verdict = examine(session, number, position, seconds=seconds)
            yield verdict


def compare_command(args: argparse.Namespace) -> None:
    from dard.driver import passes
    from dard.session import comparison
    from dard.terminal import show_comparison

    decoders = [name.strip() for name in args.decoders.split(",") if name.strip()]
    own = own_settings(args.set, decoders)
    sessions = comparison(open_model(args), args.prompt, decoders, own, **given_settings(args))
    with progress_bar() as bar:
        task = bar.add_task("compare", total=len(sessions))
        for _ in passes(list(sessions.values())):
            bar.update(task, completed=sum(session.finished for session in sessions.values()))
    traces = {name: session.trace for name, session in sessions.items()}
    for name, trace in traces.items() if args.trace else ():
        save(trace, f"{args.trace}/{name}.json.gz", new_folder=True)
    if args.json:
        bodies = {name: trace.as_dict() for name, trace in traces.items()}
        sys.stdout.write(json.dumps(bodies, ensure_ascii=False) + "\n")
    else:
        show_comparison(plain_console(), traces)


def own_settings(items: Sequence[str], decoders: Sequence[str]) -> dict[str, dict[str, Any]]:
    """`dard.tau_c=0.5` and the like, by decoder."""
    own: dict[str, dict[str, Any]] = {}
    for item in items:
        name, _, rest = item.partition(".")
        field, equals, value = rest.partition("=")
        if not equals or name not in decoders:
            raise InputError(
                f"--set {item[:60]!r} is not of the form DECODER.SETTING=VALUE with a decoder of {', '.join(decoders)}"
            )
        own.setdefault(name, {})[field] = value
    return own


def save(trace: Any, path: str, new_folder: bool = False) -> None:
    try:
        if new_folder:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        trace.save(path)
    except OSError as error:
        raise InputError(f"trace cannot be written to {path!r}: {error.strerror}") from None


def models_command(args: argparse.Namespace) -> None:
    from dard.models.registry import rows

    if args.json:
        found = [
            {"name": name, **card.words(), "defaults": dict(card.defaults), "hub": card.hub, "link": card.link}
            for name, card in rows().items()
        ]
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return
    table = Table(show_header=False, show_lines=True)
    for name, card in rows().items():
        details = Table.grid("", Column(overflow="fold"), padding=(0, 1))
        for heading, text in {**card.words(), "from": card.link or card.origin}.items():
            details.add_row(heading, text)
        table.add_row(name, details)
    plain_console().print(table)


def bench_command(args: argparse.Namespace) -> None:
    if args.visitors is not None:
        from visual.visitors import soak

        report = soak(args.visitors, args.decodes, args.seed, args.serial)
        if args.json:
            sys.stdout.write(json.dumps(asdict(report), indent=2) + "\n")
        for name, value in () if args.json else report.rows():
            print(f"{name}: {value}")
        if report.wrong or report.lost or report.stuck:
            raise InputError("not all visitors were served right")
        return
    from dard.bench import run_bench

    with progress_bar() as bar:
        results = run_bench(small=args.small, repeats=args.repeats, bar=bar)
    if args.json:
        sys.stdout.write(json.dumps(results, indent=2) + "\n")
        return
    table = Table(title=results["setup"], title_justify="left")
    for heading in ("", "what", "measured", "bar", "holds"):
        table.add_column(heading, overflow="fold", justify="right" if heading in ("measured", "bar") else "left")
    for row in results["rows"]:
        holds = {True: "yes", False: "no", None: ""}[row["holds"]]
        table.add_row(row["key"], row["what"], row["shown"], row["bar_shown"], holds)
    plain_console().print(table)


def view_command(args: argparse.Namespace) -> None:
    """Show the traces of files, all of which are read before anything is written; or write the page that opens any."""
    check_page(args)
    if (args.page is None) != bool(args.files) or (args.page and args.out):
        raise InputError("view takes trace files, or --page FILE.html alone for a page that opens any trace")
    if args.page:
        from visual.export import open_html

        write_page(Path(args.page), open_html())
        return
    stems = [Path(file).name.split(".")[0] for file in args.files]
    names = stems if len(set(stems)) == len(stems) else args.files
    traces: dict[str, Trace] = {}
    for name, file in zip(names, args.files, strict=True):
        rows = load_traces(file, args)
        traces |= {name if len(rows) == 1 else f"{name}, row {row}": trace for row, trace in enumerate(rows)}
    show_page(traces, args)


def show_page(traces: dict[str, Trace], args: argparse.Namespace) -> None:
    """Write the page that replays the traces, and open it."""
    import tempfile
    import webbrowser

    from visual.export import replay_html

    check_page(args)
    page = replay_html(traces if len(traces) > 1 else next(iter(traces.values())))
    path = write_page(Path(args.out or Path(tempfile.mkdtemp(prefix="dard-")) / "replay.html"), page)
    if not args.no_open and not webbrowser.open(path.as_uri()):
        print("dard: no browser was found; open that file in one", file=sys.stderr)


def check_page(args: argparse.Namespace) -> None:
    for name in ("out", "page"):
        value = getattr(args, name, None)
        if value is not None and not value.endswith(".html"):
            raise InputError(f"--{name} {value!r} is not allowed; the name of a page ends in .html")


def write_page(path: Path, page: str) -> Path:
    """Write a page and say where it is."""
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f"the page cannot be written: {error}") from None
    print(path.resolve())
    return path.resolve()


def failures_command(args: argparse.Namespace) -> None:
    """The samples of a run as a table, or the decodes of some of them in the browser."""
    from dard.samples import choose, open_folder
    from dard.terminal import show_samples

    found = open_folder(args.folder)
    if args.open:
        return show_page(decodes_of(found, args), args)
    chosen = choose(found, args.only, args.sort, args.variant, args.text)
    if args.json:
        sys.stdout.write("".join(json.dumps(sample.as_dict(), ensure_ascii=False) + "\n" for sample in chosen))
    else:
        show_samples(plain_console(), found, chosen[: args.most], len(chosen))


def decodes_of(found: Sequence[Any], args: argparse.Namespace) -> dict[str, Trace]:
    """The traces of samples by their numbers: from their files, or decoded again by the model of their run."""
    from dard.samples import trace_file
    from dard.session import Session

    traces: dict[str, Trace] = {}
    models: dict[str, Any] = {}
    for number in args.open:
        if not 0 <= number < len(found):
            raise InputError(f"--open {number} is not allowed; the samples are numbered from 0 to {len(found) - 1}")
        sample = found[number]
        if (file := trace_file(sample)) is not None:
            trace = Trace.load(file)
        elif sample.prompt is None:
            raise InputError(f"--open {number}: there is no decode of it ({sample.ended_by})")
        else:
            name = args.model or sample.model
            if name not in models:
                models[name] = open_model(argparse.Namespace(**{**vars(args), "model": name}))
            trace = Session(models[name], sample.prompt, sample.decoder, **sample.settings).run()
        traces[f"{number}: {sample.variant}"] = trace
    return traces


def load_traces(file: str, args: argparse.Namespace) -> list[Trace]:
    """The traces of a file: one, or those of the rows of a batch."""
    from dard.readers import TokenizerFile, load

    try:
        words = None if args.tokenizer is None else TokenizerFile(args.tokenizer)
        rows = load(file, mask_id=args.mask_id, words=words, prompt_length=args.prompt_length)
    except InputError as error:
        raise InputError(f"{file!r}: {error}") from None
    if args.row is None:
        return rows
    if not 0 <= args.row < len(rows):
        raise InputError(f"--row {args.row} is not allowed; {file!r} has rows 0 to {len(rows) - 1}")
    return [rows[args.row]]


def add_output(parser: argparse.ArgumentParser, place: str) -> None:
    parser.add_argument("--trace", metavar=place, help="save what was recorded (.json or .json.gz)")
    parser.add_argument("--json", action="store_true", help="print the trace as JSON and nothing else")
    add_model(parser)
    add_settings(parser)


def add_decode(parser: argparse.ArgumentParser) -> None:
    from dard.decoders import DECODERS

    parser.add_argument("prompt")
    parser.add_argument("--decoder", default="dard", help=f"one of {', '.join(DECODERS)} (default dard)")
    parser.add_argument("--why", action="store_true", help="print the sentence of every transition")
    parser.add_argument(
        "--causes", nargs="?", type=float, const=CAUSES_SECONDS, metavar="SECONDS",
        help="and which token made it: hide each in turn, for at most so many seconds a transition (default 5)",
    )  # fmt: skip
    parser.set_defaults(func=decode_command)
    add_output(parser, "FILE")


def add_compare(parser: argparse.ArgumentParser) -> None:
    from dard.session import COMPARED

    parser.add_argument("prompt")
    parser.add_argument("--decoders", default=",".join(COMPARED), help="names with commas between")
    parser.add_argument("--set", action="append", default=[], metavar="DECODER.SETTING=VALUE", help="one decoder's own")
    parser.set_defaults(func=compare_command)
    add_output(parser, "FOLDER")


def add_models(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(func=models_command)


def add_bench(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--small", action="store_true", help="a model of a second's work, to try the command")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--visitors", type=int, metavar="N", help="send so many simulated visitors to a page instead")
    parser.add_argument("--decodes", type=int, default=200, help="which they make together (default 200)")
    parser.add_argument("--seed", type=int, default=0, help="of what they do")
    parser.add_argument("--serial", action="store_true", help="let the page run one visitor after the other")
    parser.set_defaults(func=bench_command)


def add_experiment(parser: argparse.ArgumentParser) -> None:
    from dard.experiments.cli import add_experiment_arguments

    add_experiment_arguments(parser, add_model, lambda args: open_model(args), progress_bar)


def add_lm_eval(parser: argparse.ArgumentParser) -> None:
    from dard.extras import need

    def hand_over(args: argparse.Namespace) -> None:
        need("lm-eval", "lm-eval", "lm_eval")
        from dard.harness.lm import run

        run(args.arguments)

    parser.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="as lm-eval takes them")
    parser.prefix_chars = "\0"  # they are all its own, --help included
    parser.set_defaults(func=hand_over)


def add_evaluate(parser: argparse.ArgumentParser) -> None:
    from dard.training.cli import add_evaluate_arguments

    add_evaluate_arguments(parser)


def add_train(parser: argparse.ArgumentParser) -> None:
    from dard.training.cli import add_train_arguments

    add_train_arguments(parser)


def add_app(parser: argparse.ArgumentParser) -> None:
    from visual.start import add_app_arguments

    add_app_arguments(parser)


def add_view(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="*", metavar="FILE",
        help="a trace, or states or steps of another program (JSON, torch.save); several become lanes of one page",
    )  # fmt: skip
    parser.add_argument("--mask-id", type=int, metavar="ID", help="the mask token of states that do not name it")
    parser.add_argument("--tokenizer", metavar="FOLDER", help="where the tokenizer.json is that knows their words")
    parser.add_argument(
        "--prompt-length", type=int, metavar="N", help="tokens of the prompt, if states begin after a step"
    )
    parser.add_argument("--row", type=int, metavar="N", help="of a batch only this row, counted from 0")
    parser.add_argument("--page", metavar="FILE.html", help="write a page that opens any trace, without a server")
    add_page(parser)
    parser.set_defaults(func=view_command)


def add_page(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="FILE.html", help="keep the page in this file, in place of a temporary one")
    parser.add_argument("--no-open", action="store_true", help="only write the page and print where it is")


def add_failures(parser: argparse.ArgumentParser) -> None:
    from dard.samples import ONLY, SORTS

    parser.add_argument("folder", metavar="FOLDER", help="results of an experiment or of lm-eval, or a folder of them")
    parser.add_argument("--only", choices=ONLY, default="wrong", help="which samples are listed (default wrong)")
    parser.add_argument("--sort", choices=SORTS, default="number", help="what comes first (default: as in the file)")
    parser.add_argument("--variant", default="", metavar="NAME", help="only those of this variant")
    parser.add_argument("--text", default="", help="only those with this in the prompt, the answer or the ending")
    parser.add_argument("--most", type=int, default=40, metavar="N", help="how many lines (default 40)")
    parser.add_argument("--json", action="store_true", help="print all of them as JSON lines and nothing else")
    parser.add_argument(
        "--open", type=int, nargs="+", metavar="N", help="open the decodes of these numbers, up to four side by side"
    )
    add_page(parser)
    add_model(parser)
    parser.set_defaults(func=failures_command, model=None)


COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "decode": ("decode a prompt or a template with [MASK]s and show every step", add_decode),
    "compare": ("decode the same prompt with several decoders", add_compare),
    "models": ("the models known by name", add_models),
    "bench": ("what a step costs, as ratios measured in one run", add_bench),
    "experiment": ("a table or figure of the paper, on any model; --list names them", add_experiment),
    "lm-eval": ("lm-evaluation-harness with a decoder of ours; every decode is kept", add_lm_eval),
    "evaluate": ("accuracy per task at several numbers of steps", add_evaluate),
    "train": ("train the embedded model and write its folder", add_train),
    "app": ("start the page", add_app),
    "failures": ("the wrong answers of an experiment or of lm-eval, and the decode behind each", add_failures),
    "view": ("open trace files in the browser, without a model", add_view),
}


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands, named as it was called: `dard`, or `python -m dard`."""
    parser = Parser(
        prog="dard" if Path(sys.argv[0]).stem == "dard" else "python -m dard",
        description="Decode with a diffusion language model, one visible step at a time.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    for name, (about, add_arguments) in COMMANDS.items():
        # In full: half a --load would be read as one, and its file not be loaded.
        commands.add_parser(name, help=about, allow_abbrev=False).add_arguments = add_arguments
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    try:
        args = build_parser().parse_args(argv)
        return args.func(args) or 0
    except InputError as error:
        print(f"dard: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("dard: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
