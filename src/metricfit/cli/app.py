"""The commands and their options."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

import metricfit as mf
from metricfit.cli.reproducing import reproduce

__all__ = ["app"]

GUIDE = """Train a classifier for the metric it will be judged by.

**See it work**, on data that come with it:

    metricfit demo --metric f2

**Train** on a table: CSV, JSON lines or Parquet. Columns are encoded, gaps are filled, and a quarter of the
rows are kept for the test:

    metricfit fit customers.csv --target churn --metric f2 --out run

**Add constraints** on the prediction; `--subject-to` can be repeated:

    metricfit fit customers.csv --target churn --metric precision --subject-to "recall >= 0.8" --out run

**Read** run/report.html, and **predict** for new rows:

    metricfit predict run new.csv --out predictions.csv

**Measure** the model on rows with labels:

    metricfit evaluate run labelled.csv

A metric is a name (f1, f2, mcc, kappa, precision, ...), a member of a family (fbeta(0.5)), or a formula over
tp fp fn tn pp pn ap an all, such as `"2*tp / (2*tp + fp + fn)"`. `metricfit metrics` lists the names. For a
target of more than two values take `macro-f1` or another mean over them; `precision@100` is for the 100 rows
with the highest scores.

Exit codes: 0 done, 2 something has to be changed (the message says what), 130 stopped by Ctrl-C.
"""

app = typer.Typer(
    help=GUIDE,
    rich_markup_mode="markdown",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Cut(StrEnum):
    """How the threshold is chosen."""

    expected = "expected"
    empirical = "empirical"
    zero = "zero"


class Unknown(StrEnum):
    """What to do with values that were not in the training table."""

    error = "error"
    ignore = "ignore"


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables, for machines.")]
MetricText = Annotated[str, typer.Option("--metric", "-m", help="A name or a formula.")]
SubjectTo = Annotated[
    list[str] | None,
    typer.Option("--subject-to", "-s", help='A constraint such as "recall >= 0.8"; repeatable.'),
]
Seed = Annotated[int, typer.Option(min=0, max=2**31 - 2, help="Decides on splits, first weights and order.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what an earlier run has written.")]
RunArgument = Annotated[Path, typer.Argument(help="The folder that `metricfit fit` has written.")]
FORMATS = ".csv, .tsv, .jsonl, .json or .parquet; text may be compressed (.gz, .bz2, .xz)."
Delimiter = Annotated[
    str | None,
    typer.Option(help="What separates the values of a text table. [default: found out from its first rows]"),
]
Encoding = Annotated[
    str | None, typer.Option(help="How a text table is written, such as cp1252. [default: found out; UTF-8]")
]
UnknownValues = Annotated[
    Unknown, typer.Option(help="Values of categories that were not in the training table.")
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"metricfit {mf.__version__}")
        raise typer.Exit


@app.callback()
def guide(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Read the options that come before any command."""


guide.__doc__ = GUIDE


# Each command does its own imports, so that help and completion do not wait for PyTorch.


@app.command()
def demo(
    metric: MetricText = "f1",
    subject_to: SubjectTo = None,
    report: Annotated[Path, typer.Option(help="Where to write the report.")] = Path("metricfit-demo.html"),
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the data, at most.")] = 60,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare three ways of training on data that ship with scikit-learn.

    Cross-entropy, cross-entropy with a threshold that is tuned afterwards, and training for the metric
    itself, on two tasks with few positives. It takes a minute or two and writes a report.

    Example:

        metricfit demo --metric f2 --report demo.html
    """
    from metricfit.cli.terminal import answering

    with answering(as_json=as_json):
        from metricfit.cli.demo import compare_demo_data
        from metricfit.cli.folders import check_writable, write_whole
        from metricfit.cli.metrics_asked import read_metric, refuse_average
        from metricfit.cli.terminal import Screen
        from metricfit.report import render

        screen = Screen(quiet=as_json)
        wanted = refuse_average(read_metric(metric, tuple(subject_to or ()), playable=True), "each task")
        check_writable(report)
        comparisons = []
        for comparison in compare_demo_data(wanted, screen, epochs=epochs, seed=seed):
            screen.show(comparison)
            comparisons.append(comparison)
        command = f"metricfit demo --metric {metric!r} --epochs {epochs} --seed {seed}"
        command += "".join(f" --subject-to {text!r}" for text in subject_to or ())
        write_whole(report, render(comparisons, command=command, title=f"Trained for {wanted.name}"))
        if as_json:
            typer.echo(json.dumps([comparison.summary() for comparison in comparisons], ensure_ascii=False))
        screen.say(f"The report is in {report}.")


@app.command()
def fit(
    table: Annotated[Path, typer.Argument(help=f"The table: {FORMATS}")],
    target: Annotated[
        list[str], typer.Option("--target", "-t", help="The column to predict, of two values or more.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")],
    metric: MetricText = "f1",
    subject_to: SubjectTo = None,
    positive: Annotated[
        str | None,
        typer.Option(
            help="The value that counts as positive. [default: 1, true, t, yes or y; otherwise the rarer one]"
        ),
    ] = None,
    cut: Annotated[
        Cut,
        typer.Option(
            help="Decide where the metric is best in expectation, or as counted, on held-out rows, or at 0."
        ),
    ] = Cut.expected,
    fast: Annotated[
        bool, typer.Option("--fast", help="Train one network for the metric instead of an ensemble.")
    ] = False,
    confidence: Annotated[
        float | None,
        typer.Option(
            min=0.5, max=0.9999, help="How sure the constraints are to hold on new rows, such as 0.95."
        ),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(help="A column that says how much each row counts; it is not learned from.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out; repeatable.")] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="A column to learn from although it looks like an identifier; repeatable."),
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the data, at most.")] = 100,
    test_fraction: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="The part of the rows that is kept for the test.")
    ] = 0.25,
    seed: Seed = 0,
    device: Annotated[str, typer.Option(help="Where to train, such as cuda.")] = "cpu",
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            help="How many models are fitted at the same time, each in a process of its own.",
            show_default="1 for small tables, otherwise a core each, up to 5",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was stopped or killed.")
    ] = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Train on a table, compare, and write the best model and a report.

    Trains an ensemble for the metric (networks and boosted trees). For comparison it also trains
    cross-entropy networks and boosted trees with a tuned threshold. The best on rows that were held out of
    the training is used; the test rows only measure it. --fast trains one network instead.

    The folder gets the model, metrics.json and report.html. Columns that only number or name the rows are
    left out. After Ctrl-C, a kill or a full disk, the same command with --resume goes on: models that were
    fitted are kept, with --fast every epoch. Ctrl-C also writes the best model so far, if there is one.

    Example:

        metricfit fit customers.csv --target churn --metric f2 --subject-to "precision >= 0.5" --out run
    """
    from metricfit.cli.terminal import INTERRUPTED, answering

    with answering(as_json=as_json):
        from metricfit.cli.fit_options import FitOptions
        from metricfit.cli.fitting import fit_table
        from metricfit.cli.mistakes import UserMistakeError
        from metricfit.cli.reading import Reading
        from metricfit.cli.terminal import Screen

        if len(target) > 1:
            raise UserMistakeError(
                f"--target was given {len(target)} times ({', '.join(target)}); a model predicts one column. "
                f"Leave the others out of the training by --drop, since they may give the answer away."
            )
        options = FitOptions(
            table=table,
            target=target[0],
            metric=metric,
            subject_to=tuple(subject_to or ()),
            drop=tuple(drop or ()),
            keep=tuple(keep or ()),
            reading=Reading(delimiter, encoding),
            out=out,
            positive=positive,
            cut=cut.value,
            fast=fast,
            confidence=confidence,
            weight=weight,
            epochs=epochs,
            test_fraction=test_fraction,
            seed=seed,
            device=device,
            jobs=jobs,
            resume=resume,
            overwrite=overwrite,
        )
        screen = Screen(quiet=as_json)
        comparison, interrupted = fit_table(options, screen)
        screen.show(comparison)
        screen.say(f"The model is in {out}, the report in {out / 'report.html'}.")
        if as_json:
            typer.echo(json.dumps({**comparison.summary(), "out": str(out)}, ensure_ascii=False))
        if interrupted:
            raise typer.Exit(INTERRUPTED)


@app.command()
def predict(
    run: RunArgument,
    table: Annotated[Path, typer.Argument(help=f"The rows to predict: {FORMATS}")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path("predictions.csv"),
    unknown: UnknownValues = Unknown.error,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Predict the rows of a table with a trained model.

    Writes a label and a score for every row, in the order of the table. The score is above 0 where the
    positive label is predicted; a larger score is more certain. Ensembles also give a probability. With more
    than two labels there is a probability for each instead of the score.

    Example:

        metricfit predict run new.csv --out predictions.csv
    """
    from metricfit.cli.terminal import answering

    with answering(as_json=as_json):
        from metricfit.cli.predicting import predict_table
        from metricfit.cli.reading import Reading

        found = predict_table(
            run,
            table,
            out,
            Reading(delimiter, encoding),
            ignore_unknown=unknown is Unknown.ignore,
            overwrite=overwrite,
        )
        if as_json:
            typer.echo(json.dumps(found, ensure_ascii=False))
        else:
            counts = ", ".join(f"{label}: {count}" for label, count in found["predicted"].items())
            typer.echo(f"{found['rows']} rows are in {out} ({counts}).")
            for note in found["notes"]:
                typer.echo(note, err=True)


@app.command()
def evaluate(
    run: RunArgument,
    table: Annotated[Path, typer.Argument(help=f"Rows with labels: {FORMATS}")],
    metric: Annotated[
        str | None,
        typer.Option("--metric", "-m", help="A name or a formula. [default: what it was trained for]"),
    ] = None,
    unknown: UnknownValues = Unknown.error,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    weight: Annotated[str | None, typer.Option(help="A column that says how much each row counts.")] = None,
    as_json: Json = False,
) -> None:
    """Measure a trained model on a table with labels.

    Prints the metric with its constraints, precision, recall and the confusion matrix, or with more than two
    labels the scores of each. Use rows that the model was not trained with: on its training rows the scores
    are too high.

    Example:

        metricfit evaluate run labelled.csv --metric mcc
    """
    from metricfit.cli.terminal import answering

    with answering(as_json=as_json):
        from metricfit.cli.evaluating import evaluate_table, evaluation_summary
        from metricfit.cli.reading import Reading
        from metricfit.cli.terminal import Screen

        comparison = evaluate_table(
            run,
            table,
            Reading(delimiter, encoding),
            metric=metric,
            ignore_unknown=unknown is Unknown.ignore,
            weight=weight,
        )
        found = evaluation_summary(comparison)
        screen = Screen(quiet=as_json)
        (screen.evaluate_classes if "per_class" in found else screen.evaluate)(found)
        if as_json:
            typer.echo(json.dumps(found, ensure_ascii=False))


@app.command()
def metrics(as_json: Json = False) -> None:
    """List the built-in metrics with their formulas and other names.

    In a formula tp, fp, fn and tn are the cells of the confusion matrix; pp and pn are the predicted
    positives and negatives, ap and an the actual ones, and all is the number of rows.

    Example:

        metricfit metrics
    """
    from metricfit.cli.terminal import answering

    with answering(as_json=as_json):
        from metricfit.cli.listing import built_in_metrics
        from metricfit.cli.terminal import Screen

        found = built_in_metrics()
        Screen(quiet=as_json).list_metrics(found)
        if as_json:
            typer.echo(json.dumps(found, ensure_ascii=False))


app.command()(reproduce)


def run(words: list[str]) -> int:
    """Run the command line and return its exit code; with --json a wrong call is an object as well."""
    if "--json" not in words:
        app(words, prog_name="metricfit")
    try:
        return app(words, prog_name="metricfit", standalone_mode=False) or 0
    except TyperException as mistake:
        typer.echo(json.dumps({"error": mistake.format_message()}, ensure_ascii=False))
        return mistake.exit_code
