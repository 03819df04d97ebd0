"""Models come back as they were written; whatever else is in their place is refused, and never executed."""

import json
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
import torch
from sklearn.linear_model import LogisticRegression

from metricfit.cli.encoding import fit_encoder
from metricfit.cli.mistakes import UserMistakeError
from metricfit.cli.model_files import Model, load_model, save_model
from metricfit.cli.tables import tidy
from metricfit.sklearn import MLP

TABLE = pd.DataFrame({"a": [0.5, 1.5, None, 2.0], "b": ["x", "y", None, "x"]})


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("code from the file was executed",))


@pytest.fixture
def folder(tmp_path):
    encoder, columns = fit_encoder(tidy(TABLE), seed=0)
    features = encoder.transform(tidy(TABLE)).shape[1]
    save_model(tmp_path, Model("f1", "churn", "yes", "no", 0.25, columns, encoder, MLP(features)))
    return tmp_path


def redigest(folder):
    """Make the digests right again, as someone would who means harm."""
    import hashlib

    description = json.loads((folder / "model.json").read_text())
    for name in description["digests"]:
        description["digests"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / "model.json").write_text(json.dumps(description))


def test_a_model_comes_back_as_it_was(folder):
    model, again = load_model(folder), load_model(folder)
    assert (model.positive, model.threshold, model.columns.categories) == ("yes", 0.25, {"b": ["x", "y"]})
    margins = model.margins(TABLE, ignore_unknown=False)
    assert np.isfinite(margins).all()
    np.testing.assert_array_equal(margins, again.margins(TABLE, ignore_unknown=False))


@pytest.mark.parametrize("name", ["weights.pt", "encoder.skops"])
def test_a_changed_file_is_refused(folder, name):
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(bytes(content))
    with pytest.raises(UserMistakeError, match="not the file that was written"):
        load_model(folder)


@pytest.mark.parametrize("name", ["weights.pt", "encoder.skops"])
@pytest.mark.parametrize(
    "content", [b"", b"nonsense", pickle.dumps(Bomb())], ids=["empty", "nonsense", "bomb"]
)
def test_a_foreign_file_is_refused_even_with_a_right_digest(folder, name, content):
    (folder / name).write_bytes(content)
    redigest(folder)
    with pytest.raises(UserMistakeError, match="it is not read"):
        load_model(folder)


def test_weights_that_would_execute_something_are_refused(folder):
    torch.save({"0.weight": Bomb()}, folder / "weights.pt")
    redigest(folder)
    with pytest.raises(UserMistakeError, match="it is not read"):
        load_model(folder)


def test_weights_of_another_network_are_refused(folder):
    torch.save(torch.nn.Linear(2, 2).state_dict(), folder / "weights.pt")
    redigest(folder)
    with pytest.raises(UserMistakeError, match="something else than the weights"):
        load_model(folder)


def test_an_encoder_of_other_types_is_refused(folder):
    skops.io.dump({"system": np.random.default_rng, "call": json.loads}, folder / "encoder.skops")
    redigest(folder)
    with pytest.raises(UserMistakeError, match="something else than an encoder"):
        load_model(folder)


def test_an_estimator_that_is_no_encoder_is_refused(folder):
    skops.io.dump(LogisticRegression(), folder / "encoder.skops")
    redigest(folder)
    with pytest.raises(UserMistakeError, match="something else than an encoder"):
        load_model(folder)


def test_a_zip_file_without_a_schema_is_refused(folder):
    with zipfile.ZipFile(folder / "encoder.skops", "w") as archive:
        archive.writestr("readme.txt", "hello")
    redigest(folder)
    with pytest.raises(UserMistakeError, match="it is not read"):
        load_model(folder)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "metricfit model 2"}', "\x00"])
def test_a_foreign_description_is_refused(folder, content):
    (folder / "model.json").write_text(content)
    with pytest.raises(UserMistakeError, match="describes no model"):
        load_model(folder)


@pytest.mark.parametrize("name", ["weights.pt", "encoder.skops"])
def test_an_incomplete_model_is_refused(folder, name):
    (folder / name).unlink()
    with pytest.raises(UserMistakeError, match=f"{name} is missing"):
        load_model(folder)


def test_a_model_that_may_not_be_read_is_a_sentence(folder, monkeypatch):
    def denied(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_text", denied)
    with pytest.raises(UserMistakeError, match=r"cannot be read: Permission denied"):
        load_model(folder)
