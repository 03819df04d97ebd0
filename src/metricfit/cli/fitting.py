"""``metricfit fit``: from a table to a model, its scores and its report."""

from __future__ import annotations

import json
import re
import shlex
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from sklearn.model_selection import train_test_split

import metricfit as mf
from metricfit.cli.columns import chosen_columns
from metricfit.cli.encoding import fit_encoder, transformed
from metricfit.cli.folders import UNFINISHED, RunFolder
from metricfit.cli.mistakes import UserMistakeError
from metricfit.cli.model_files import Model, save_model
from metricfit.cli.reading import Reading, read_table
from metricfit.cli.tables import Target, take_target, tidy
from metricfit.cli.terminal import Screen
from metricfit.cli.training import Trained, as_method, the_ways, train
from metricfit.report import Comparison, render

__all__ = ["FitOptions", "fit_table", "read_metric"]


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
    epochs: int
    test_fraction: float
    seed: int
    device: str
    resume: bool
    overwrite: bool

    def command(self) -> str:
        """Return the command line that asks for this."""
        words = ["metricfit", "fit", str(self.table), "--target", self.target, "--metric", self.metric]
        for constraint in self.subject_to:
            words += ["--subject-to", constraint]
        for option, names in (("--drop", self.drop), ("--keep", self.keep)):
            words += [word for name in names for word in (option, name)]
        if self.reading.delimiter is not None:
            words += ["--delimiter", self.reading.delimiter]
        if self.reading.encoding is not None:
            words += ["--encoding", self.reading.encoding]
        if self.positive is not None:
            words += ["--positive", self.positive]
        words += ["--cut", self.cut, "--epochs", str(self.epochs), "--seed", str(self.seed)]
        words += ["--test-fraction", str(self.test_fraction), "--out", str(self.out)]
        return shlex.join(words)


@dataclass(frozen=True, eq=False)
class _Parts:
    """A table in two: what is trained with and what is judged by."""

    train: pd.DataFrame
    test: pd.DataFrame
    train_codes: np.ndarray[Any, np.dtype[np.int64]]
    test_codes: np.ndarray[Any, np.dtype[np.int64]]


def read_metric(metric: str, subject_to: tuple[str, ...] = ()) -> mf.Metric:
    """Return the metric that was asked for, with its constraints.

    Examples
    --------
    >>> read_metric("precision", ("recall >= 0.8",))
    Metric(precision = tp/pp subject to recall >= 0.8)
    """
    try:
        found = mf.get_metric(metric)
        for constraint in subject_to:
            found = found.subject_to(*mf.get_metric(f"accuracy subject to {constraint}").constraints)
        found.check_playable()
    except (ValueError, TypeError) as error:
        raise UserMistakeError(f"{error}.") from None
    return found


def fit_table(options: FitOptions, screen: Screen) -> tuple[Comparison, bool]:
    """Train, compare and write everything; return the comparison, and whether Ctrl-C cut it short."""
    metric = read_metric(options.metric, options.subject_to)
    _check_device(options.device)
    folder = RunFolder(options.out, resume=options.resume, overwrite=options.overwrite)
    table, notes = read_table(options.table, options.reading)
    table, target, about_target = take_target(table, options.target, options.positive)
    table, about_columns = chosen_columns(table, target.name, drop=options.drop, keep=options.keep)
    notes += [*about_target, *about_columns]
    parts = _split(tidy(table), target, options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns of one value or of gaps only are nothing to report
        encoder, columns = _encoded(parts.train, options.seed)
        features, test_features = (transformed(encoder, part) for part in (parts.train, parts.test))
    with folder:
        try:
            trained = _train_all(features, parts.train_codes, metric, options, folder, screen)
            comparison, interrupted = _compared(trained, test_features, metric, target, parts, notes, options)
            ours = trained[0].classifier
            model = Model(
                metric=_metric_text(options),
                target=target.name,
                positive=target.positive,
                negative=target.negative,
                threshold=ours.threshold_,
                columns=columns,
                encoder=encoder,
                network=ours.net_.module_.cpu(),
            )
            _write(folder, model, comparison, options.command())
            folder.put_in_place(keep_checkpoints=interrupted)
        except OSError as error:
            raise UserMistakeError(_storage_sentence(options, folder, error)) from None
    return comparison, interrupted


def _compared(
    trained: list[Trained],
    test_features: np.ndarray[Any, np.dtype[np.float32]],
    metric: mf.Metric,
    target: Target,
    parts: _Parts,
    notes: list[str],
    options: FitOptions,
) -> tuple[Comparison, bool]:
    methods = tuple(as_method(one, one.classifier.decision_function(test_features)) for one in trained)
    interrupted = any(one.classifier.interrupted_ for one in trained)
    notes = [*notes, *(note for one in trained for note in one.notes)]
    notes += _one_class_only(methods[0].predicted, target, parts)
    if interrupted:
        notes.append("Training was interrupted; this is the best so far. Add --resume to go on.")
    title, facts = f"{target.name} = {target.positive}", _facts(target, parts, options)
    return Comparison(title, metric, parts.test_codes, methods, tuple(notes), facts), interrupted


def _one_class_only(
    predicted: np.ndarray[Any, np.dtype[np.int64]], target: Target, parts: _Parts
) -> list[str]:
    """Return a warning if a model says the same of every row."""
    if len(np.unique(predicted)) > 1:
        return []
    said = target.positive if predicted[0] else target.negative
    positives = int(parts.train_codes.sum())
    return [
        f"Warning: the model predicts {target.name} = {said} for all of the {len(predicted)} test rows. "
        f"It was trained with {positives} rows that are {target.positive} and "
        f"{len(parts.train_codes) - positives} that are {target.negative}. Try --threshold tuned, more "
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


def _split(table: pd.DataFrame, target: Target, options: FitOptions) -> _Parts:
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
    return _Parts(table.iloc[train_rows], table.iloc[test_rows], *parts)


def _encoded(table: pd.DataFrame, seed: int) -> tuple[Any, Any]:
    try:
        return fit_encoder(table, seed)
    except ValueError as error:
        reason = str(error).strip().splitlines()[0]
        raise UserMistakeError(f"No features can be made of the columns: {reason}") from error


def _train_all(
    features: np.ndarray[Any, np.dtype[np.float32]],
    codes: np.ndarray[Any, np.dtype[np.int64]],
    metric: mf.Metric,
    options: FitOptions,
    folder: RunFolder,
    screen: Screen,
) -> list[Trained]:
    trained: list[Trained] = []
    with screen.progress:
        for way in the_ways(metric, options.cut):
            try:
                one = train(
                    way,
                    features,
                    codes,
                    metric,
                    epochs=options.epochs,
                    seed=options.seed,
                    device=options.device,
                    watch=screen.watch,
                    checkpoint=folder.checkpoints / f"{way.key}.pt",
                )
            except KeyboardInterrupt:
                # Ours comes first: without an epoch of it there is nothing to keep.
                if not trained:
                    raise
                trained[0].classifier.interrupted_ = True
                break
            trained.append(one)
            if one.classifier.interrupted_:
                break
    return trained


def _facts(target: Target, parts: _Parts, options: FitOptions) -> dict[str, str]:
    positives = int(parts.train_codes.sum())
    return {
        "training rows": f"{len(parts.train)}, of which {positives} positive; a fifth of them held out",
        "positive": f"{target.name} = {target.positive}",
        "columns": str(len(parts.train.columns)),
        "table": options.table.name,
    }


def _write(folder: RunFolder, model: Model, comparison: Comparison, command: str) -> None:
    save_model(folder.results, model)
    summary = json.dumps({**comparison.summary(), "command": command}, indent=2, ensure_ascii=False)
    (folder.results / "metrics.json").write_text(summary, encoding="utf-8")
    page = render(
        [comparison], command=command, title=f"{comparison.title}: trained for {comparison.metric.name}"
    )
    (folder.results / "report.html").write_text(page, encoding="utf-8")
