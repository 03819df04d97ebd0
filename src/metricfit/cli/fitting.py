"""``metricfit fit``: from a table to a model, its scores and its report."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
import torch

import metricfit as mf
from metricfit.cli.candidates import TrainingRows
from metricfit.cli.choosing import GO_ON, about_constant, about_interruption
from metricfit.cli.class_task import ClassTask
from metricfit.cli.columns import chosen_columns, column_reports, take_weights
from metricfit.cli.encoding import fit_encoder, transformed
from metricfit.cli.fit_options import FitOptions
from metricfit.cli.folders import UNFINISHED, RunFolder
from metricfit.cli.gaps import fill_gaps
from metricfit.cli.importance import column_importance
from metricfit.cli.metrics_asked import read_metric
from metricfit.cli.mistakes import UserMistakeError
from metricfit.cli.model_files import Model, save_encoder, save_model
from metricfit.cli.pair_task import PairTask
from metricfit.cli.parts import Parts, split_table
from metricfit.cli.reading import read_table
from metricfit.cli.results import Result, ensemble_result, fast_result
from metricfit.cli.tables import ClassTarget, about_large_numbers, take_target, tidy
from metricfit.cli.task import Task
from metricfit.cli.terminal import Screen
from metricfit.report import Comparison, render

__all__ = ["fit_table"]


def fit_table(options: FitOptions, screen: Screen) -> tuple[Comparison, bool]:
    """Train, compare and write everything; return the comparison, and whether Ctrl-C ended it early."""
    asked = _checked_metric(options)
    _check_device(options.device)
    folder = RunFolder(options.out, resume=options.resume, overwrite=options.overwrite)
    table, notes = read_table(options.table, options.reading)
    begun = options.begun()
    if options.resume:
        begun.compare(folder.settings)
    table, target, about_target = take_target(table, options.target, options.positive)
    task: Task[Any]
    if isinstance(target, ClassTarget):
        task = ClassTask.of(asked, target, options)
    else:
        task = PairTask.of(asked, target, len(table), options)
    table, weights = take_weights(table, options.weight, target.name)
    table, odd, about_gaps = fill_gaps(table)
    whole = table
    table, about_columns = chosen_columns(table, target.name, drop=options.drop, keep=options.keep)
    notes += [*about_target, *about_columns, *about_gaps]
    notes += about_large_numbers(table)
    parts = split_table(tidy(table), target, weights, options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns of one value or of gaps only are nothing to report
        encoder, columns = _encoded(parts.train, options.seed)
        columns = replace(columns, odd={name: odd[name] for name in columns.kinds if name in odd})
        features = transformed(encoder, parts.train)
        # Encoded as new rows will be, so that an error appears before the training.
        test_features = transformed(encoder, columns.check(parts.test, ignore_unknown=True))
    rows = TrainingRows(features, parts.train_codes, parts.train_weights)
    with folder:
        try:
            begun.write(folder.settings)
            save_encoder(folder.results, encoder)
            train: Callable[..., Result] = fast_result if options.fast else ensemble_result
            result = train(task, rows, test_features, options, folder, screen)
            model = Model(
                metric=_metric_text(options),
                target=target.name,
                **task.labels(),
                columns=columns,
                encoder=encoder,
                features=features.shape[1],
                decision=result.decision,
            )
            comparison = replace(
                _compared(result, model, task, parts, notes, options),
                columns=column_reports(whole, columns.kinds, options.drop, options.weight),
            )
            _write(folder, model, comparison, options.command())
            folder.put_in_place(keep_checkpoints=result.interrupted)
        except OSError as error:
            raise UserMistakeError(_storage_sentence(options, folder, error)) from None
        except KeyboardInterrupt:
            if folder.has_checkpoints:
                screen.say(f"What was trained so far is kept in {options.out / UNFINISHED}. {GO_ON}")
            raise
    return comparison, result.interrupted


def _checked_metric(options: FitOptions) -> mf.Metric:
    metric = read_metric(options.metric, options.subject_to)
    if options.fast and not metric.playable:
        raise UserMistakeError(
            f"--fast trains one network for the metric, which {metric.name} does not allow: "
            f"{metric.why_not_playable}. Leave out --fast."
        )
    if options.confidence is not None and options.fast:
        raise UserMistakeError("--confidence needs the ensemble; leave out --fast.")
    if options.jobs is not None and options.fast:
        raise UserMistakeError("--jobs is for the models of the ensemble; leave out --fast or --jobs.")
    if options.confidence is not None and not metric.constraints:
        raise UserMistakeError(
            '--confidence needs a constraint; add one, such as --subject-to "recall >= 0.8".'
        )
    return metric


def _compared(
    result: Result, model: Model, task: Task[Any], parts: Parts, notes: list[str], options: FitOptions
) -> Comparison:
    """Return the scores of all classifiers on the test rows, and of the best constant one."""
    constant, at_train = task.constant(parts)
    notes = [
        result.why,
        *notes,
        *result.notes,
        *about_constant(constant.name, at_train, result, task.metric_name, options.target),
        *task.never_predicted(result.methods[0].predicted, parts),
        *about_interruption(result),
    ]
    facts = task.facts(parts, result.how_held_out)
    facts |= {"columns": str(len(parts.train.columns)), "table": options.table.name}
    if options.weight is not None:
        facts["weights"] = options.weight
    importance, about_time = column_importance(
        model, task.score, parts.test, parts.test_codes, parts.test_weights, seed=options.seed
    )
    notes += about_time
    found = task.comparison(parts, (*result.methods, constant), tuple(notes), facts)
    return replace(found, importance=importance)


def _metric_text(options: FitOptions) -> str:
    """Return the metric with its constraints as one text."""
    if not options.subject_to:
        return options.metric
    joined = "," if re.search(r"\ssubject\s+to\s", options.metric) else " subject to"
    return f"{options.metric}{joined} {', '.join(options.subject_to)}"


def _storage_sentence(options: FitOptions, folder: RunFolder, error: OSError) -> str:
    """Return the message about a disk error, with where the trained models are kept."""
    sentence = f"{options.out} cannot be written: {error.strerror}."
    if not folder.has_checkpoints:
        return sentence
    return (
        f"{sentence} What was trained so far is kept in {options.out / UNFINISHED}. Free some space or "
        f"correct the permissions, then run the same command with --resume to go on from there."
    )


def _check_device(device: str) -> None:
    # What torch raises for a device that is not there depends on how it was built.
    try:
        torch.ones(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserMistakeError(f"The device {device} cannot be used: {reason}") from None


def _encoded(table: pd.DataFrame, seed: int) -> tuple[Any, Any]:
    try:
        return fit_encoder(table, seed)
    except ValueError as error:
        reason = str(error).strip().splitlines()[0]
        raise UserMistakeError(f"No features can be made of the columns: {reason}") from error


def _write(folder: RunFolder, model: Model, comparison: Comparison, command: str) -> None:
    save_model(folder.results, model)
    summary = json.dumps({**comparison.summary(), "command": command}, indent=2, ensure_ascii=False)
    (folder.results / "metrics.json").write_text(summary, encoding="utf-8")
    page = render([comparison], command=command, title=f"{comparison.title}: trained for {comparison.name}")
    (folder.results / "report.html").write_text(page, encoding="utf-8")
