"""The command that runs the paper's experiments and reports on them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["reproduce"]

DEFAULT_OUT = Path("experiments")
COMMANDS = "commands.txt"


def reproduce(
    datasets: Annotated[str, typer.Option(help="Names with commas; tables, images or all.")] = "all",
    metrics: Annotated[
        str, typer.Option(help="accuracy, f1, f2, gpr, mcc, kappa, pr80, pr60, with commas; or all.")
    ] = "all",
    methods: Annotated[
        str,
        typer.Option(
            help="cross-entropy, weighted, balanced, soft, metricfit, or all of these; trees, ensemble; "
            "with other packages focal, smp, aucm, ap-loss, ap-perf, lightgbm."
        ),
    ] = "all",
    protocol: Annotated[str, typer.Option(help="paper, recommended or images; two with a comma.")] = "paper",
    seeds: Annotated[int, typer.Option(min=1, help="How many; each has splits and weights of its own.")] = 1,
    epochs: Annotated[int | None, typer.Option(min=1, help="At most. [default: the protocol's]")] = None,
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="About so many at most, by fewer epochs on large sets."),
    ] = None,
    l2: Annotated[str | None, typer.Option(help="Penalties to try. [default: the protocol's]")] = None,
    scale: Annotated[
        float | None, typer.Option(min=1e-6, help="The scale of MetricLoss. [default: the protocol's]")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    device: Annotated[str, typer.Option(help="Where networks are trained, such as cuda.")] = "cpu",
    minutes: Annotated[
        float | None, typer.Option(min=0.0, help="Start no training later than this. [default: all]")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(envvar="METRICFIT_DATA", help="A folder of npz files; what is not there is fetched."),
    ] = None,
    partial: Annotated[bool, typer.Option("--partial", help="Use files that lack rows, too.")] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the results.")] = DEFAULT_OUT,
    report: Annotated[
        bool, typer.Option("--report", help="Train nothing: write the tables and plots of that folder.")
    ] = False,
) -> None:
    """Run the experiments of the paper, or report on those that are finished.

    Each finished training is a line of OUT/cells.jsonl. The same command goes on where it was stopped, and
    other commands with the same folder add to it. Then `metricfit reproduce --out OUT --report`
    writes OUT/report.md and its plots; with --steps, of the runs with no larger budget.

    Example:

        metricfit reproduce --datasets redwine,abalone --metrics f1,mcc --out experiments
    """
    from metricfit.cli.terminal import answering

    with answering(as_json=False):
        if report:
            _report(out, steps)
            return
        _train(
            datasets,
            metrics,
            methods,
            protocol,
            seeds=seeds,
            epochs=epochs,
            steps=steps,
            l2=l2,
            scale=scale,
            jobs=jobs,
            device=device,
            minutes=minutes,
            data=data,
            partial=partial,
            out=out,
        )


def _train(
    datasets: str,
    metrics: str,
    methods: str,
    protocol: str,
    *,
    seeds: int,
    epochs: int | None,
    steps: int | None,
    l2: str | None,
    scale: float | None,
    jobs: int,
    device: str,
    minutes: float | None,
    data: Path | None,
    partial: bool,
    out: Path,
) -> None:
    from metricfit.cli.mistakes import UserMistakeError
    from metricfit.cli.sweeping import SweepScreen
    from metricfit.experiments.datasets import DATASETS, KINDS
    from metricfit.experiments.journal import CELLS, read
    from metricfit.experiments.metrics import METRICS
    from metricfit.experiments.protocols import PROTOCOLS
    from metricfit.experiments.recipes import DEFAULT, RECIPES, lacking
    from metricfit.experiments.runs import plan
    from metricfit.experiments.sweep import OtherDataError, available, sweep

    if data is not None and not data.is_dir():
        raise UserMistakeError(f"there is no folder {data}; give the folder of the npz files to --data.")
    chosen = _names(methods, RECIPES, "method", {"all": DEFAULT})
    for sentence in lacking(chosen).values():
        raise UserMistakeError(f"{sentence}.")
    _check_device(device)
    runs = list(
        plan(
            protocols=_names(protocol, PROTOCOLS, "protocol"),
            datasets=_names(datasets, DATASETS, "data set", KINDS),
            losses=chosen,
            metrics=_names(metrics, METRICS, "metric"),
            seeds=range(seeds),
            l2=None if l2 is None else _numbers(l2),
            epochs=epochs,
            steps=steps,
            scale=scale,
        )
    )
    runs, missing = available(runs, data, partial=partial)
    for sentence in missing.values():
        typer.echo(f"metricfit: skipped: {sentence}.", err=True)
    if not runs:
        raise UserMistakeError("there is nothing to run with these data sets, methods and metrics.")
    path = out / CELLS
    try:
        finished = read(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        _note_command(out / COMMANDS)
        with SweepScreen(runs, finished) as screen:
            seconds = None if minutes is None else 60.0 * minutes
            sweep(
                runs,
                path,
                folder=data,
                partial=partial,
                jobs=jobs,
                device=device,
                seconds=seconds,
                done=screen.done,
            )
            left = len({run.key for run in runs} - read(path).keys())
    except OtherDataError as error:
        raise UserMistakeError(f"{error}.") from None
    except OSError as error:
        raise UserMistakeError(f"{out} cannot be written: {error.strerror}.") from None
    undated = [run for run in runs if run.key in finished and "data" not in finished[run.key]]
    if undated:
        typer.echo(
            f"metricfit: {len(undated)} cells were there before and do not say with which data they were "
            f"trained; they were kept.",
            err=True,
        )
    if left:
        typer.echo(
            f"metricfit: {left} cells were not started in time; the same command goes on with them.", err=True
        )
    typer.echo(
        f"{len(runs) - left} of {len(runs)} cells are in {path}; "
        f"metricfit reproduce --out {out} --report makes the tables."
    )


def _check_device(name: str) -> None:
    import torch

    from metricfit.cli.mistakes import UserMistakeError

    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError) as error:
        first = str(error).splitlines()[0]
        raise UserMistakeError(
            f"--device {name} cannot be used ({first}); give a device of this machine, such as cpu."
        ) from None


def _report(folder: Path, steps: int | None) -> None:
    from metricfit.cli.folders import write_whole
    from metricfit.cli.mistakes import UserMistakeError
    from metricfit.experiments.journal import CELLS, read
    from metricfit.experiments.selection import points_of
    from metricfit.experiments.statistics import scores
    from metricfit.experiments.writing import labels_in, markdown

    if find_spec("matplotlib") is None:
        raise UserMistakeError("the plots need matplotlib; run pip install 'metricfit[experiments]'.")
    from metricfit.experiments.plotting import draw_scatter

    cells = [
        cell
        for cell in read(folder / CELLS).values()
        if steps is None or (cell["steps"] is not None and cell["steps"] <= steps)
    ]
    if not cells:
        within = "" if steps is None else f" with a budget of {steps} steps at most"
        raise UserMistakeError(f"there is no finished cell{within} in {folder / CELLS}.")
    suffix = "" if steps is None else f"-{steps}-steps"
    points = points_of(cells)
    images: dict[str, list[str]] = {}
    for label in labels_in(points):
        table = scores(point for point in points if point.label == label)
        for theirs in ("cross-entropy", "cross-entropy, tuned"):
            name = f"results-{label}-{theirs}{suffix}.png".replace(", ", "-").replace(" ", "-")
            if draw_scatter(table, "metricfit", theirs, folder / name, title=f"Protocol: {label}"):
                images.setdefault(label, []).append(name)
    noted = folder / COMMANDS
    commands = noted.read_text(encoding="utf-8").splitlines() if noted.exists() else []
    page = folder / f"report{suffix}.md"
    write_whole(page, markdown(cells, commands, images))
    typer.echo(f"{len(cells)} cells: the report is in {page}.")


def _names(
    text: str, known: Iterable[str], kind: str, groups: Mapping[str, Iterable[str]] | None = None
) -> list[str]:
    """Return the names of a list with commas; a group stands for its members."""
    from metricfit.cli.mistakes import UserMistakeError, did_you_mean

    names = list(known)
    meant = {"all": names, **(groups or {})}
    words = [word.strip() for word in text.split(",") if word.strip()]
    chosen = [name for word in words for name in meant.get(word, [word])]
    every = ", ".join(names)
    if not chosen:
        raise UserMistakeError(f"no {kind} is named; there are {every}.")
    for name in chosen:
        if name not in names:
            hint = did_you_mean(name, [*names, *meant])
            raise UserMistakeError(f"there is no {kind} {name!r}; there are {every}.{hint}")
    return list(dict.fromkeys(chosen))


def _numbers(text: str) -> list[float]:
    from metricfit.cli.mistakes import UserMistakeError

    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0.0 <= number < float("inf") for number in found):
        raise UserMistakeError(f"--l2 takes numbers that are not negative, such as 0,0.001; got {text!r}.")
    return found


def _note_command(path: Path) -> None:
    """Keep the command for the report, once, without the folder of the data, which others have elsewhere."""
    words, skip = [], False
    for word in sys.argv[1:]:
        if skip or word == "--data":
            skip = not skip
            continue
        if not word.startswith("--data="):
            words.append(word)
    line = shlex.join(["metricfit", *words])
    earlier = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    if line not in earlier:
        path.write_text("".join(f"{each}\n" for each in [*earlier, line]), encoding="utf-8")
