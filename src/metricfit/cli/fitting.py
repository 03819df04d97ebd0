"""``metricfit fit``: from a table to a model, its scores and its report."""

from __future__ import annotations

import json
import re
import shlex
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from sklearn.model_selection import train_test_split

import metricfit as mf
from metricfit.cli.begun import Begun
from metricfit.cli.choosing import GO_ON, about_constant, about_interruption, constant_method
from metricfit.cli.class_fitting import checked_for_classes, classes_compared
from metricfit.cli.class_results import class_ensemble_result, class_fast_result
from metricfit.cli.columns import chosen_columns, column_reports, take_weights
from metricfit.cli.encoding import fit_encoder, transformed
from metricfit.cli.folders import UNFINISHED, RunFolder
from metricfit.cli.importance import column_importance
from metricfit.cli.metrics_asked import read_metric, refuse_average
from metricfit.cli.mistakes import UserMistakeError
from metricfit.cli.model_files import Model, save_encoder, save_model
from metricfit.cli.reading import Reading, read_table
from metricfit.cli.results import Result, ensemble_result, fast_result
from metricfit.cli.tables import ClassTarget, Target, about_large_numbers, take_target, tidy
from metricfit.cli.terminal import Screen
from metricfit.report import Comparison, render
from metricfit.sklearn.top import as_share

__all__ = ["FitOptions", "fit_table"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class FitOptions:
    """What the user asked for."""

    table: Path
    target: str
    metric: str
    subject_to: tuple[str, ...]
    drop: tuple[str, ...]
    keep: tuple[str, ...]
    reading: Reading
    out: Path
    positive: str | None
    cut: Literal["expected", "empirical", "zero"]
    fast: bool
    confidence: float | None
    weight: str | None
    epochs: int
    test_fraction: float
    seed: int
    device: str
    resume: bool
    overwrite: bool

    def command(self) -> str:
        """Return the command line that asks for this."""
        words = ["metricfit", "fit", str(self.table)]
        for option, values in self._options().items():
            words += [word for value in values for word in ([option, value] if value else [option])]
        return shlex.join([*words, "--device", self.device, "--out", str(self.out)])

    def begun(self) -> Begun:
        """Return what a run with these options depends on."""
        options = {
            option: ", ".join(value or "given" for value in values) or "not given"
            for option, values in self._options().items()
        }
        if self.fast:  # one network can go on for more epochs
            del options["--epochs"]
        return Begun.of(self.command(), options, self.table)

    def _options(self) -> dict[str, tuple[str, ...]]:
        """Return the values of every option that decides on what is trained."""
        given: dict[str, tuple[object, ...]] = {
            "--target": (self.target,),
            "--metric": (self.metric,),
            "--subject-to": self.subject_to,
            "--drop": self.drop,
            "--keep": self.keep,
            "--delimiter": (self.reading.delimiter,),
            "--encoding": (self.reading.encoding,),
            "--fast": ("",) if self.fast else (),
            "--confidence": (self.confidence,),
            "--weight": (self.weight,),
            "--positive": (self.positive,),
            "--cut": (self.cut,),
            "--epochs": (self.epochs,),
            "--seed": (self.seed,),
            "--test-fraction": (self.test_fraction,),
        }
        return {
            option: tuple(str(value) for value in values if value is not None)
            for option, values in given.items()
        }


@dataclass(frozen=True, eq=False)
class Parts:
    """A table in two: what is trained with and what is judged by."""

    train: pd.DataFrame
    test: pd.DataFrame
    train_codes: IntArray
    test_codes: IntArray
    train_weights: FloatArray | None
    test_weights: FloatArray | None


def fit_table(options: FitOptions, screen: Screen) -> tuple[Comparison, bool]:
    """Train, compare and write everything; return the comparison, and whether Ctrl-C cut it short."""
    asked = _checked_metric(options)
    _check_device(options.device)
    folder = RunFolder(options.out, resume=options.resume, overwrite=options.overwrite)
    table, notes = read_table(options.table, options.reading)
    begun = options.begun()
    if options.resume:
        begun.compare(folder.settings)
    table, target, about_target = take_target(table, options.target, options.positive)
    if isinstance(target, ClassTarget):
        metric = checked_for_classes(asked, target, options)
    else:
        metric = as_share(refuse_average(asked, target.name), len(table))
    table, weights = take_weights(table, options.weight, target.name)
    whole = table
    table, about_columns = chosen_columns(table, target.name, drop=options.drop, keep=options.keep)
    notes += [*about_target, *about_columns]
    notes += about_large_numbers(table)
    parts = _split(tidy(table), target, weights, options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns of one value or of gaps only are nothing to report
        encoder, columns = _encoded(parts.train, options.seed)
        features, test_features = (transformed(encoder, part) for part in (parts.train, parts.test))
    with folder:
        try:
            begun.write(folder.settings)
            save_encoder(folder.results, encoder)
            result = _way(target, fast=options.fast)(
                metric,
                features,
                parts.train_codes,
                parts.train_weights,
                test_features,
                options,
                folder,
                screen,
            )
            model = Model(
                metric=_metric_text(options),
                target=target.name,
                positive=None if isinstance(target, ClassTarget) else target.positive,
                negative=None if isinstance(target, ClassTarget) else target.negative,
                classes=target.classes if isinstance(target, ClassTarget) else (),
                columns=columns,
                encoder=encoder,
                features=features.shape[1],
                decision=result.decision,
            )
            if isinstance(target, ClassTarget):
                comparison: Comparison = classes_compared(
                    result, model, metric, target, parts, notes, options
                )
            else:
                comparison = _compared(result, model, metric, target, parts, notes, options)
            comparison = replace(
                comparison, columns=column_reports(whole, columns.kinds, options.drop, options.weight)
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


def _way(target: Target | ClassTarget, *, fast: bool) -> Callable[..., Result]:
    if isinstance(target, ClassTarget):
        return class_fast_result if fast else class_ensemble_result
    return fast_result if fast else ensemble_result


def _checked_metric(options: FitOptions) -> mf.Metric:
    metric = read_metric(options.metric, options.subject_to)
    if options.fast and not metric.playable:
        raise UserMistakeError(
            f"--fast trains one network for the metric, which {metric.name} does not allow: "
            f"{metric.why_not_playable}. Leave out --fast."
        )
    if options.confidence is not None and options.fast:
        raise UserMistakeError("--confidence needs the ensemble; leave out --fast.")
    if options.confidence is not None and not metric.constraints:
        raise UserMistakeError(
            'A --confidence needs a constraint to promise; add one, such as --subject-to "recall >= 0.8".'
        )
    return metric


def _compared(
    result: Result,
    model: Model,
    metric: mf.Metric,
    target: Target,
    parts: Parts,
    notes: list[str],
    options: FitOptions,
) -> Comparison:
    constant, at_train = constant_method(
        metric, parts.train_codes, parts.train_weights, len(parts.test_codes)
    )
    notes = [result.why, *notes, *result.notes]
    notes += about_constant(constant.name, at_train, result, metric.name, target.name)
    notes += _one_class_only(result.methods[0].predicted, target, parts)
    notes += about_interruption(result)
    importance = column_importance(
        model, metric, parts.test, parts.test_codes, parts.test_weights, seed=options.seed
    )
    return Comparison(
        f"{target.name} = {target.positive}",
        metric,
        parts.test_codes,
        (*result.methods, constant),
        tuple(notes),
        _facts(target, parts, options, result),
        parts.test_weights,
        importance,
    )


def _one_class_only(predicted: IntArray, target: Target, parts: Parts) -> list[str]:
    """Return a warning if a model says the same of every row."""
    if len(np.unique(predicted)) > 1:
        return []
    said = target.positive if predicted[0] else target.negative
    positives = int(parts.train_codes.sum())
    return [
        f"Warning: the model predicts {target.name} = {said} for all of the {len(predicted)} test rows. "
        f"It was trained with {positives} rows that are {target.positive} and "
        f"{len(parts.train_codes) - positives} that are {target.negative}. Try another metric, more "
        f"rows of the rarer kind, or columns that have more to do with {target.name}."
    ]


def _metric_text(options: FitOptions) -> str:
    """Return the metric with its constraints as one text."""
    if not options.subject_to:
        return options.metric
    joined = "," if re.search(r"\ssubject\s+to\s", options.metric) else " subject to"
    return f"{options.metric}{joined} {', '.join(options.subject_to)}"


def _storage_sentence(options: FitOptions, folder: RunFolder, error: OSError) -> str:
    """Say that the disk refused something, and where what was trained is."""
    sentence = f"{options.out} cannot be written: {error.strerror}."
    if not folder.has_checkpoints:
        return sentence
    return (
        f"{sentence} What was trained so far is kept in {options.out / UNFINISHED}. Free some space or put "
        f"the permissions right, then run the same command with --resume to go on from there."
    )


def _check_device(device: str) -> None:
    # What torch raises for a device that is not there depends on how it was built.
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserMistakeError(f"The device {device} cannot be used: {reason}") from None


def _split(
    table: pd.DataFrame, target: Target | ClassTarget, weights: FloatArray | None, options: FitOptions
) -> Parts:
    rows = np.arange(len(table))
    try:
        train_rows, test_rows = train_test_split(
            rows, test_size=options.test_fraction, stratify=target.codes, random_state=options.seed
        )
    except ValueError as error:
        raise UserMistakeError(
            f"The {len(table)} rows cannot be split into a training and a test part: {error}"
        ) from None
    parts = (target.codes[train_rows], target.codes[test_rows])
    if any(len(np.unique(part)) < 2 for part in parts):
        raise UserMistakeError(
            "One class is missing in a part of the rows; give more rows or another --test-fraction."
        )
    of_parts = [None if weights is None else weights[rows] for rows in (train_rows, test_rows)]
    for codes, counts in zip(parts, of_parts, strict=True):
        if counts is not None and np.bincount(codes, counts, minlength=codes.max() + 1).min() <= 0.0:
            raise UserMistakeError(
                f"The weights in {options.weight} are 0 for all rows of one class in a part of the table; "
                f"give more rows a weight."
            )
    return Parts(table.iloc[train_rows], table.iloc[test_rows], *parts, *of_parts)


def _encoded(table: pd.DataFrame, seed: int) -> tuple[Any, Any]:
    try:
        return fit_encoder(table, seed)
    except ValueError as error:
        reason = str(error).strip().splitlines()[0]
        raise UserMistakeError(f"No features can be made of the columns: {reason}") from error


def _facts(target: Target, parts: Parts, options: FitOptions, result: Result) -> dict[str, str]:
    positives = int(parts.train_codes.sum())
    facts = {
        "training rows": f"{len(parts.train)}, of which {positives} positive; {result.how_held_out}",
        "positive": f"{target.name} = {target.positive}",
        "columns": str(len(parts.train.columns)),
        "table": options.table.name,
    }
    if options.weight is not None:
        facts["weights"] = options.weight
    if options.confidence is not None:
        facts["confidence of the constraints"] = f"{options.confidence:g}"
    return facts


def _write(folder: RunFolder, model: Model, comparison: Comparison, command: str) -> None:
    save_model(folder.results, model)
    summary = json.dumps({**comparison.summary(), "command": command}, indent=2, ensure_ascii=False)
    (folder.results / "metrics.json").write_text(summary, encoding="utf-8")
    page = render([comparison], command=command, title=f"{comparison.title}: trained for {comparison.name}")
    (folder.results / "report.html").write_text(page, encoding="utf-8")
