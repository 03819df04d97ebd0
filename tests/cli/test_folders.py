"""Nothing is lost: files of the user stay, what was trained is kept, and two runs do not share a folder."""

import errno
import io
import os
import resource
import subprocess
import sys
from contextlib import contextmanager

import pytest
import torch
import typer

from cli.tables import a_table, fit, left_behind, run, said
from metricfit.cli import demo
from metricfit.cli.folders import RunFolder, write_whole
from metricfit.cli.locking import Lock
from metricfit.cli.mistakes import UserMistakeError
from metricfit.cli.terminal import answering

RESULTS = ["encoder.skops", "metrics.json", "model.json", "report.html", "trees.skops", "weights.pt"]


@contextmanager
def files_of_at_most(size):
    """Let the system refuse to write larger files, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def write_table_with_a_long_name(folder):
    """Write a table of which the description of the model is larger than all that is written before it."""
    a_table().assign(**{"n" * 400_000: None}).to_csv(folder / "table.csv", index=False)


@pytest.fixture
def folder(tmp_path):
    a_table().to_csv(tmp_path / "table.csv", index=False)
    return tmp_path


@pytest.fixture
def finished(folder):
    assert fit(folder, epochs=1).exit_code == 0
    return folder


@pytest.mark.parametrize("name", ["run.old", "run.partial"])
@pytest.mark.parametrize("words", [[], ["--overwrite"]], ids=["first", "overwrite"])
def test_folders_of_the_user_with_names_like_ours_are_left_unchanged(folder, name, words):
    (folder / name).mkdir()
    (folder / name / "thesis.txt").write_text("ten years of work")
    if words:
        assert fit(folder, epochs=1).exit_code == 0
    result = fit(folder, *words, epochs=1)
    assert result.exit_code == 0, result.output
    assert (folder / name / "thesis.txt").read_text() == "ten years of work"
    assert left_behind(folder) == sorted(["run", name, "table.csv"])


def test_files_of_the_user_in_a_run_survive_its_replacement(finished):
    (finished / "run" / "notes.txt").write_text("mine")
    result = fit(finished, "--overwrite", epochs=1)
    assert result.exit_code == 0, result.output
    assert left_behind(finished / "run") == sorted([*RESULTS, "notes.txt"])


def test_a_folder_of_the_user_with_the_name_of_ours_is_left_alone(finished):
    (finished / "run" / "metricfit-unfinished").mkdir()
    (finished / "run" / "metricfit-unfinished" / "thesis.txt").write_text("ten years of work")
    result = fit(finished, "--overwrite")
    assert result.exit_code == 2
    assert "was not written by metricfit" in said(result)
    assert (finished / "run" / "metricfit-unfinished" / "thesis.txt").exists()


def test_a_link_stays_a_link(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "big"
    (folder / "run").symlink_to(elsewhere)
    for words in ([], ["--overwrite"]):
        result = fit(folder, *words, epochs=1)
        assert result.exit_code == 0, result.output
        assert (folder / "run").is_symlink()
        assert left_behind(elsewhere) == RESULTS
    (folder / "p.csv").symlink_to(elsewhere / "p.csv")
    assert run("predict", folder / "run", folder / "table.csv", "--out", folder / "p.csv").exit_code == 0
    assert (folder / "p.csv").is_symlink()
    assert (elsewhere / "p.csv").is_file()


@pytest.mark.parametrize(
    ("out", "sentence"),
    [
        ("/", "is not a run of metricfit"),
        ("n" * 300, "File name too long"),
        ("n/" * 3000, "File name too long"),
        ("/proc/run", "cannot be written"),
        ("table.csv", "cannot be written"),
    ],
    ids=["root", "long name", "long path", "read-only", "a file"],
)
def test_an_output_that_cannot_be_written_is_refused_before_training(folder, out, sentence, monkeypatch):
    monkeypatch.chdir(folder)
    result = run("fit", "table.csv", "--target", "churn", "--out", out, "--fast", "--epochs", 100000)
    assert result.exit_code == 2
    assert sentence in said(result)
    assert left_behind(folder) == ["table.csv"]


def test_the_current_folder_can_be_the_run(tmp_path, monkeypatch):
    a_table().to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path / "run")
    result = run("fit", "../table.csv", "--target", "churn", "--out", ".", "--fast", "--epochs", 1)
    assert result.exit_code == 0, result.output
    assert left_behind(tmp_path / "run") == RESULTS


def test_a_full_disk_at_a_checkpoint_gives_a_message(folder):
    with files_of_at_most(40_000):
        result = fit(folder)
    assert result.exit_code == 2
    assert "run cannot be written: File too large" in said(result)
    assert left_behind(folder) == ["table.csv"]


def test_a_full_disk_in_the_end_loses_nothing_that_was_trained(folder):
    write_table_with_a_long_name(folder)
    with files_of_at_most(350_000):
        result = fit(folder)
    assert result.exit_code == 2
    assert "What was trained so far is kept in" in said(result)
    assert "with --resume" in said(result)
    kept = folder / "run" / "metricfit-unfinished" / "checkpoints"
    assert left_behind(kept) == ["ours.pt", "plain.pt", "tuned.pt"]
    epochs = [len(torch.load(file, weights_only=True)["epochs"]) for file in kept.iterdir()]
    assert epochs == [2, 2, 2]
    resumed = fit(folder, "--resume")
    assert resumed.exit_code == 0, resumed.output
    assert left_behind(folder / "run") == RESULTS


BAD = {
    "epochs of text": lambda state: state.update(epochs=["one"]),
    "no epochs": lambda state: state.update(epochs=[]),
    "an epoch without a score": lambda state: state["epochs"][0].pop("valid_metric"),
    "no module": lambda state: state.pop("module"),
    "another module": lambda state: state.update(module={"0.weight": torch.zeros(2, 2)}),
    "no best weights": lambda state: state["stopping"].update(best_model_weights_=None),
    "a best epoch to come": lambda state: state["stopping"].update(best_epoch_=99),
    "misses of text": lambda state: state["stopping"].update(misses_="many"),
    "another optimizer": lambda state: state.update(optimizer={"state": {}, "param_groups": []}),
    "small moments": lambda state: [
        held.update(exp_avg=torch.zeros(1)) for held in state["optimizer"]["state"].values()
    ],
    "no generator": lambda state: state.update(generator=torch.zeros(3)),
}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A folder with a training that a full disk has ended."""
    folder = tmp_path_factory.mktemp("stopped")
    write_table_with_a_long_name(folder)
    with files_of_at_most(350_000):
        assert fit(folder).exit_code == 2
    return folder


@pytest.mark.parametrize("change", BAD)
def test_a_checkpoint_of_this_training_with_other_content_gives_a_message(stopped, change):
    path = stopped / "run" / "metricfit-unfinished" / "checkpoints" / "ours.pt"
    good = path.read_bytes()
    state = torch.load(path, weights_only=True)
    BAD[change](state)
    torch.save(state, path)
    result = fit(stopped, "--resume", epochs=3)
    path.write_bytes(good)
    assert result.exit_code == 2, result.output
    assert "is not a checkpoint" in said(result)
    assert left_behind(path.parent) == ["ours.pt", "plain.pt", "tuned.pt"]


def test_predictions_that_cannot_be_written_give_a_message(finished):
    for out, sentence in [
        ("/proc/predictions.csv", "cannot be written"),
        (finished / ("p" * 300), "File name too long"),
        ("/dev/full", "is not a file that can be replaced"),
        (finished, "is not a file that can be replaced"),
    ]:
        result = run("predict", finished / "run", finished / "table.csv", "--out", out, "--overwrite")
        assert result.exit_code == 2, result.output
        assert sentence in said(result)
    with files_of_at_most(1000):
        result = run("predict", finished / "run", finished / "table.csv", "--out", finished / "p.csv")
    assert "File too large" in said(result)
    assert left_behind(finished) == ["run", "table.csv"]


@pytest.mark.parametrize("report", ["/proc/report.html", ".", "n" * 300])
def test_the_demo_finds_out_where_it_cannot_write_before_it_trains(tmp_path, report, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "compare_demo_data", lambda *given, **options: pytest.fail("it trains"))
    result = run("demo", "--report", report)
    assert result.exit_code == 2, result.output
    assert "cannot be written" in said(result) or "is a folder" in said(result)
    assert left_behind(tmp_path) == []


def test_a_file_of_the_user_beside_the_predictions_is_left_alone(tmp_path):
    (tmp_path / "p.csv.partial").write_text("mine")
    write_whole(tmp_path / "p.csv", "ours")
    assert left_behind(tmp_path) == ["p.csv", "p.csv.partial"]
    assert (tmp_path / "p.csv.partial").read_text() == "mine"


def test_a_second_run_in_the_same_folder_is_refused_and_the_first_is_not_disturbed(folder):
    with RunFolder(folder / "run", resume=False, overwrite=False) as first:
        (first.checkpoints / "ours.pt").write_text("weeks of training")
        for words in ([], ["--overwrite"], ["--resume"]):
            result = fit(folder, *words)
            assert result.exit_code == 2
        assert "Another metricfit fit is writing" in said(result)
        assert (first.checkpoints / "ours.pt").read_text() == "weeks of training"
        with pytest.raises(UserMistakeError, match="Another metricfit fit"):
            RunFolder(folder / "run", resume=True, overwrite=False)


def test_two_processes_do_not_share_a_folder(folder):
    hold = (
        "import sys, time; from pathlib import Path; from metricfit.cli.folders import RunFolder\n"
        "with RunFolder(Path(sys.argv[1]), resume=False, overwrite=False) as held:\n"
        "    (held.checkpoints / 'ours.pt').write_text('x'); print('locked', flush=True); time.sleep(600)\n"
    )
    command = [sys.executable, "-c", hold, str(folder / "run")]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    with holder:
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(UserMistakeError, match="Another metricfit fit"):
            RunFolder(folder / "run", resume=False, overwrite=True)
        holder.kill()
    # The lock died with the process.
    with RunFolder(folder / "run", resume=False, overwrite=True):
        assert not any((folder / "run" / "metricfit-unfinished" / "checkpoints").iterdir())


def test_a_lock_on_a_removed_file_is_no_lock(tmp_path):
    first, second = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    first.acquire()
    (tmp_path / "lock").unlink()
    second.acquire()
    assert (tmp_path / "lock").exists()
    first.release()
    second.release()


def test_a_run_that_could_not_be_put_in_place_is_no_model_and_goes_on(finished):
    """The description goes first and comes last, so that a folder with it holds all the rest."""
    (finished / "run" / "weights.pt").unlink()
    (finished / "run" / "weights.pt").mkdir()
    result = fit(finished, "--overwrite")
    assert result.exit_code == 2
    assert "cannot be written" in said(result)
    assert not (finished / "run" / "model.json").exists()
    assert "unfinished run; add --resume" in said(fit(finished))
    (finished / "run" / "weights.pt").rmdir()
    assert fit(finished, "--resume").exit_code == 0
    assert left_behind(finished / "run") == RESULTS


def test_an_error_of_the_system_gives_a_message_that_names_the_file(capsys):
    with pytest.raises(typer.Exit) as stopped, answering(as_json=False):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "no such file")
    assert stopped.value.exit_code == 2
    assert capsys.readouterr().err == "metricfit: no such file: No such file or directory.\n"


def test_an_error_that_standard_output_does_not_take_goes_to_the_other_one(capsys, monkeypatch):
    class FullDisk(io.StringIO):
        def write(self, text):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sys.stdout", FullDisk())
    with pytest.raises(typer.Exit), answering(as_json=True):
        print("found")
    assert "No space left on device" in capsys.readouterr().err


@pytest.mark.parametrize("error", [MemoryError("x"), torch.OutOfMemoryError("x")])
def test_too_little_memory_is_a_message(error, capsys):
    with pytest.raises(typer.Exit), answering(as_json=False):
        raise error
    assert "There is not enough memory for this table. x" in capsys.readouterr().err


def test_an_error_of_the_program_itself_is_not_hidden():
    with pytest.raises(RuntimeError, match="a bug"), answering(as_json=False):
        raise RuntimeError("a bug")
