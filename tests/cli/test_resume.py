"""A run that was stopped goes on where it was, with the same settings, and to the same result."""

import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from cli.tables import a_table, fit, left_behind, metrics_of, run, said
from metricfit.cli.announced import Announced
from metricfit.cli.pair_candidates import PairCandidate

# Five folds of a network and of trees for the ensemble, five networks, and five times trees.
FITS = 20
RESULTS = ["encoder.skops", "metrics.json", "model.json", "report.html", "trees.skops", "weights.pt"]


def ensemble(folder, *words, **settings):
    return fit(folder, *words, fast=False, **settings)


def checkpoints(folder):
    return folder / "run" / "metricfit-unfinished" / "checkpoints"


def kept(folder):
    place = checkpoints(folder)
    return [path for path in place.iterdir() if path.suffix != ".new"] if place.is_dir() else []


def without_times(found):
    for method in found["methods"]:
        del method["seconds"]
    return found


@pytest.fixture
def folder(tmp_path):
    a_table(120).to_csv(tmp_path / "table.csv", index=False)
    return tmp_path


@pytest.fixture
def counted(monkeypatch):
    """The names of the models that are fitted, and not taken from an unfinished run."""
    names = []
    fitted = Announced._fitted
    monkeypatch.setattr(
        Announced, "_fitted", lambda self, *given: names.append(self.name) or fitted(self, *given)
    )
    return names


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A folder in which a run was killed after a few of its fits."""
    folder = tmp_path_factory.mktemp("killed")
    a_table(120).to_csv(folder / "table.csv", index=False)
    words = ["fit", folder / "table.csv", "--target", "churn", "--out", folder / "run", "--epochs", 2]
    process = subprocess.Popen(
        [sys.executable, "-m", "metricfit.cli", *map(str, words)], env=os.environ, stderr=subprocess.DEVNULL
    )
    with process:
        while len(kept(folder)) < 3:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert not (folder / "run" / "model.json").exists()
    return folder


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_result_of_one_that_never_stopped(killed, counted):
    done = len(kept(killed))
    (checkpoints(killed) / "0123456789abcdef.new").write_bytes(b"half of a model")
    resumed = ensemble(killed, "--resume")
    assert resumed.exit_code == 0, resumed.output
    assert 3 <= done < FITS
    assert len(counted) == FITS - done
    assert left_behind(killed / "run") == RESULTS
    predictions = []
    for name in ("resumed", "whole"):
        out = killed / f"{name}.csv"
        assert run("predict", killed / "run", killed / "table.csv", "--out", out).exit_code == 0
        predictions.append((pd.read_csv(out), without_times(metrics_of(killed))))
        if name == "resumed":
            assert ensemble(killed, "--overwrite").exit_code == 0
    pd.testing.assert_frame_equal(predictions[0][0], predictions[1][0], check_exact=True)
    assert predictions[0][1] == predictions[1][1]


def stop_after(monkeypatch, count, candidate_by_candidate=False):
    """Let Ctrl-C come before the next fit, or the next candidate."""
    calls = []
    stopped, name = (PairCandidate, "fit") if candidate_by_candidate else (Announced, "_fitted")
    original = getattr(stopped, name)

    def fit_or_stop(*given, **settings):
        calls.append(1)
        if len(calls) > count:
            raise KeyboardInterrupt
        return original(*given, **settings)

    monkeypatch.setattr(stopped, name, fit_or_stop)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A folder with a run that Ctrl-C has stopped after two fits."""
    folder = tmp_path_factory.mktemp("stopped")
    a_table(120).to_csv(folder / "table.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        stop_after(patch, 2)
        result = ensemble(folder, "--metric", "f2", epochs=1)
    assert result.exit_code == 130
    assert "The same command with --resume goes on" in said(result)
    assert len(kept(folder)) == 2
    return folder


@pytest.mark.parametrize(
    ("words", "differing"),
    [
        (["--metric", "f1"], "with another setting: --metric f2, now f1."),
        (["--metric", "f2", "--seed", "3"], "with another setting: --seed 0, now 3."),
        (["--metric", "f2", "--fast"], "with another setting: --fast not given, now given."),
        (["--metric", "f2", "--epochs", "9"], "with another setting: --epochs 1, now 9."),
        (
            ["--metric", "f2", "--subject-to", "recall >= 0.5", "--drop", "age"],
            "with other settings: --subject-to not given, now recall >= 0.5; --drop not given, now age.",
        ),
    ],
    ids=["metric", "seed", "fast", "epochs", "two"],
)
def test_other_settings_are_named_with_the_two_commands_that_work(stopped, words, differing):
    result = ensemble(stopped, "--resume", *words, epochs=1)
    assert result.exit_code == 2
    assert differing in said(result)
    assert "--metric f2 --cut expected --epochs 1 --seed 0" in said(result).split("Go on with it by")[1]
    assert "--overwrite" in said(result).split("Or begin again by")[1]
    assert len(kept(stopped)) == 2


def test_a_table_that_has_changed_is_not_trained_on_with_the_models_of_the_earlier_one(stopped):
    path = stopped / "table.csv"
    earlier = path.read_bytes()
    path.write_bytes(earlier + earlier.splitlines(keepends=True)[1])
    result = ensemble(stopped, "--resume", "--metric", "f2", epochs=1)
    path.write_bytes(earlier)
    assert result.exit_code == 2
    assert "The table has changed" in said(result)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda begun: begun.update(versions={"scikit-learn": "0.1"}),
            "begun with scikit-learn 0.1",
        ),
        (lambda begun: begun.clear(), "does not say how it was begun"),
        (lambda begun: begun.update(options=3), "does not say how it was begun"),
    ],
    ids=["versions", "empty", "nonsense"],
)
def test_what_cannot_be_resumed_says_how_to_begin_again(stopped, change, sentence):
    path = checkpoints(stopped).parent / "settings.json"
    good = path.read_text()
    begun = json.loads(good)
    change(begun)
    path.write_text(json.dumps(begun))
    result = ensemble(stopped, "--resume", "--metric", "f2", epochs=1)
    path.write_text(good)
    assert result.exit_code == 2
    assert sentence in said(result)
    assert "begin again by" in said(result)


def test_a_damaged_model_of_an_unfinished_run_gives_a_message_and_is_fitted_again_without_it(
    stopped, counted
):
    (path, *_) = kept(stopped)
    path.write_bytes(path.read_bytes()[:-50])
    result = ensemble(stopped, "--resume", "--metric", "f2", epochs=1)
    assert result.exit_code == 2
    assert "is not as it was written; remove it" in said(result)
    path.unlink()
    counted.clear()
    assert ensemble(stopped, "--resume", "--metric", "f2", epochs=1).exit_code == 0
    assert len(counted) == FITS - 1
    assert left_behind(stopped / "run") == RESULTS


def test_ctrl_c_after_the_ensemble_keeps_it_and_the_rest_can_follow(folder, monkeypatch, counted):
    with monkeypatch.context() as patch:
        stop_after(patch, 1, candidate_by_candidate=True)
        result = ensemble(folder, epochs=1)
    assert result.exit_code == 130
    assert "the comparison is not complete. The same command with --resume goes on." in said(result)
    assert run("evaluate", folder / "run", folder / "table.csv").exit_code == 0
    assert len(metrics_of(folder)["methods"]) == 2
    counted.clear()
    assert ensemble(folder, "--resume", epochs=1).exit_code == 0
    assert len(counted) == FITS // 2
    assert len(metrics_of(folder)["methods"]) == 4
    assert left_behind(folder / "run") == RESULTS
