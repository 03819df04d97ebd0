"""Models come back as they were written; whatever else is in their place is refused, and never executed."""

import json
import pickle
import resource
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
import torch
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from metricfit.cli import model_objects
from metricfit.cli.archives import LARGEST, check_archive
from metricfit.cli.decisions import Calibration, Decision, Part
from metricfit.cli.encoding import fit_encoder
from metricfit.cli.mistakes import UserMistakeError
from metricfit.cli.model_files import Model, load_model, save_encoder, save_model
from metricfit.cli.model_objects import write_encoder
from metricfit.cli.predicting import model_notes
from metricfit.cli.tables import tidy
from metricfit.sklearn import MLP

TABLE = pd.DataFrame({"a": [0.5, 1.5, None, 2.0], "b": ["x", "y", None, "x"]})


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("code from the file was executed",))


def a_decision(features):
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(60, features)).astype(np.float32)
    trees = HistGradientBoostingClassifier(max_iter=3).fit(rows, rows[:, 0] > 0)
    parts = (
        Part("networks", (MLP(features), MLP(features)), 0.5, 1.0, 0.1),
        Part("trees", (trees,), 0.5, 2.0, -0.1),
    )
    return Decision(parts, Calibration(1.5, -0.2, (-1.0, 0.0, 2.0), (0.1, 0.4, 0.9)), 0.25)


@pytest.fixture
def folder(tmp_path):
    encoder, columns = fit_encoder(tidy(TABLE), seed=0)
    features = encoder.transform(tidy(TABLE)).shape[1]
    save_encoder(tmp_path, encoder)
    save_model(tmp_path, Model("f1", "churn", "yes", "no", columns, encoder, features, a_decision(features)))
    return tmp_path


def redigest(folder):
    """Make the digests right again, as someone would who means harm."""
    import hashlib

    description = json.loads((folder / "model.json").read_text())
    for name in description["digests"]:
        description["digests"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / "model.json").write_text(json.dumps(description))


@pytest.mark.parametrize(("kind", "size"), [("numbers", 5000), ("categories", 10_000)])
def test_columns_of_numbers_and_categories_cost_a_model_nearly_nothing(tmp_path, kind, size):
    """A table of a thousand would otherwise make an encoder that is too large to be read again."""
    drawn = np.random.default_rng(0).integers(0, 3, size=(20, 300))
    table = pd.DataFrame(drawn.astype(float) if kind == "numbers" else np.array(["a", "b", None])[drawn])
    encoder, columns = fit_encoder(table.rename(columns=str), seed=0)
    assert set(columns.kinds.values()) == {kind}
    write_encoder(tmp_path / "encoder.skops", encoder)
    with zipfile.ZipFile(tmp_path / "encoder.skops") as archive:
        assert sum(part.file_size for part in archive.infolist()) < 300 * size


def test_an_encoder_with_a_function_in_it_is_refused(folder):
    encoder = load_model(folder).encoder
    (_, _, names), *others = encoder.steps[0][1].transformers_
    columns = ColumnTransformer([("numbers", FunctionTransformer(np.exp), names), *others])
    columns.fit(tidy(TABLE))
    skops.io.dump(Pipeline([("columns", columns), *encoder.steps[1:]]), folder / "encoder.skops")
    redigest(folder)
    with pytest.raises(UserMistakeError, match="something else than an encoder"):
        load_model(folder)


def test_an_encoder_that_cannot_be_read_again_is_refused(tmp_path, monkeypatch):
    """As after an update of a package that brings types which are not known to be harmless."""
    table = TABLE.assign(since=pd.date_range("2020-01-01", periods=len(TABLE)))
    encoder, _ = fit_encoder(tidy(table), seed=0)
    monkeypatch.setattr(model_objects, "ENCODER_TYPES", frozenset())
    with pytest.raises(UserMistakeError, match=r"1 of them hold text or dates: since\. Leave some"):
        write_encoder(tmp_path / "encoder.skops", encoder)


def test_a_model_comes_back_as_it_was(folder):
    model, again = load_model(folder), load_model(folder)
    assert (model.positive, model.decision.cut, model.columns.categories) == ("yes", 0.25, {"b": ["x", "y"]})
    margins = model.margins(TABLE, ignore_unknown=False)
    assert np.isfinite(margins).all()
    np.testing.assert_array_equal(margins, again.margins(TABLE, ignore_unknown=False))


@pytest.mark.parametrize("name", ["weights.pt", "trees.skops", "encoder.skops"])
def test_a_changed_file_is_refused(folder, name):
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(bytes(content))
    with pytest.raises(UserMistakeError, match="not the file that was written"):
        load_model(folder)


@pytest.mark.parametrize("name", ["weights.pt", "trees.skops", "encoder.skops"])
@pytest.mark.parametrize(
    "content", [b"", b"nonsense", pickle.dumps(Bomb())], ids=["empty", "nonsense", "bomb"]
)
def test_a_foreign_file_is_refused_even_with_a_right_digest(folder, name, content):
    (folder / name).write_bytes(content)
    redigest(folder)
    with pytest.raises(UserMistakeError, match="it is not read"):
        load_model(folder)


def set_of(field, node, value):
    def change(trees):
        trees._predictors[0][0].nodes[field][node] = value

    return change


BAD_TREES = {
    "a child beyond the last node": set_of("left", 0, 10**6),
    "a child that is its parent": set_of("left", 0, 0),
    "a feature beyond the last": set_of("feature_idx", 0, 10**9),
    "a negative feature": set_of("feature_idx", 0, -5),
    "a split by category": set_of("is_categorical", 0, 1),
    "neither a leaf nor a split": set_of("is_leaf", 1, 7),
    "an infinite leaf": set_of("value", 1, np.inf),
    "no nodes": lambda trees: vars(trees._predictors[0][0]).update(nodes=trees._predictors[0][0].nodes[:0]),
    "nodes of another form": lambda trees: vars(trees._predictors[0][0]).update(nodes=np.zeros(3)),
    "two trees at a time": lambda trees: trees._predictors[0].append(trees._predictors[0][0]),
    "many scores": lambda trees: vars(trees).update(n_trees_per_iteration_=10**12),
    "no base": lambda trees: vars(trees).pop("_baseline_prediction"),
    "an infinite base": lambda trees: vars(trees).update(_baseline_prediction=np.full((1, 1), np.nan)),
    "categories": lambda trees: vars(trees._bin_mapper).update(is_categorical_=np.ones(9, np.uint8)),
    "in training": lambda trees: vars(trees).update(_in_fit=True),
}


@pytest.mark.parametrize("change", BAD_TREES)
def test_trees_that_would_make_a_prediction_crash_or_never_end_are_refused(folder, change):
    features = json.loads((folder / "model.json").read_text())["features"]
    (trees,) = a_decision(features).models("trees")
    BAD_TREES[change](trees)
    skops.io.dump([trees], folder / "trees.skops")
    redigest(folder)
    with pytest.raises(UserMistakeError, match="something else than the trees of this model"):
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


@pytest.mark.parametrize("name", ["encoder.skops", "trees.skops"])
def test_objects_of_other_types_are_refused(folder, name):
    skops.io.dump({"system": np.random.default_rng, "call": json.loads}, folder / name)
    redigest(folder)
    with pytest.raises(UserMistakeError, match="something else than"):
        load_model(folder)


@pytest.mark.parametrize("name", ["encoder.skops", "trees.skops"])
def test_another_estimator_is_refused(folder, name):
    skops.io.dump([LogisticRegression()], folder / name)
    redigest(folder)
    with pytest.raises(UserMistakeError, match="something else than"):
        load_model(folder)


def test_a_zip_file_without_a_schema_is_refused(folder):
    with zipfile.ZipFile(folder / "encoder.skops", "w") as archive:
        archive.writestr("readme.txt", "hello")
    redigest(folder)
    with pytest.raises(UserMistakeError, match="it is not read"):
        load_model(folder)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "metricfit model 5"}', "\x00"])
def test_a_foreign_description_is_refused(folder, content):
    (folder / "model.json").write_text(content)
    with pytest.raises(UserMistakeError, match="describes no model"):
        load_model(folder)


def edit(folder, **changes):
    description = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps({**description, **changes}))


@pytest.mark.parametrize(
    "changes",
    [
        {"threshold": float("nan")},
        {"threshold": 10**400},
        {"threshold": True},
        {"kinds": {"a": 5}},
        {"kinds": {"a": "numbers", "b": "colours"}},
        {"kinds": {"a": "numbers", "c": "categories"}},
        {"categories": {"b": 7}},
        {"categories": {"b": [7]}},
        {"formats": {"a": None}},
        {"features": 0},
        {"parts": []},
        {"parts": [{"kind": "forest", "models": 1, "weight": 1, "slope": 1, "intercept": 0}]},
        {"parts": [{"kind": "trees", "models": 1, "weight": None, "slope": 1, "intercept": 0}]},
        {"parts": [{"kind": "trees"}]},
        {"calibration": {"slope": 1, "intercept": 0, "scores": [1, 2], "shares": [0.5]}},
        {"calibration": []},
        {"threshold": 1.5},
        {"features": True},
        {"digests": []},
        {"positive": None},
        {"positive": ["yes"]},
        {"target": "\ud800"},
    ],
    ids=str,
)
def test_a_description_edited_by_hand_is_refused(folder, changes):
    edit(folder, **changes)
    with pytest.raises(UserMistakeError, match="describes no model"):
        load_model(folder)


@pytest.mark.parametrize("features", [10**9, 10**15, 3])
def test_a_number_of_features_that_is_not_that_of_the_weights_is_refused(folder, features):
    edit(folder, features=features)
    with pytest.raises(UserMistakeError, match="something else than the weights"):
        load_model(folder)


def test_other_kinds_of_columns_than_the_encoder_has_give_a_message(folder):
    edit(folder, kinds={"a": "numbers"})
    with pytest.raises(UserMistakeError, match="columns do not fit the model"):
        load_model(folder).margins(TABLE, ignore_unknown=False)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000], ids=["lists", "objects"])
def test_a_deeply_nested_description_is_refused(folder, text):
    (folder / "model.json").write_text(text)
    with pytest.raises(UserMistakeError, match="describes no model"):
        load_model(folder)


def test_a_model_of_another_version_gives_a_message_that_names_it(folder):
    edit(folder, format="metricfit model 1", metricfit="0.0.9")
    with pytest.raises(UserMistakeError, match=r"was written by metricfit 0\.0\.9.*train the model again"):
        load_model(folder)


def test_an_encoder_of_other_versions_is_read_with_a_warning_or_refused_with_their_names(folder):
    versions = json.loads((folder / "model.json").read_text())["versions"]
    edit(folder, versions={**versions, "skrub": "0.0.1"})
    model = load_model(folder)
    assert model_notes(model)[0].startswith("Warning: the model was written with skrub 0.0.1 (here")
    (folder / "encoder.skops").write_bytes(b"of that time")
    redigest(folder)
    with pytest.raises(UserMistakeError, match=r"it was written with skrub 0\.0\.1"):
        load_model(folder)


@pytest.mark.parametrize("name", ["encoder.skops", "trees.skops", "weights.pt"])
def test_a_file_that_unpacks_to_gigabytes_is_refused_before_it_is_unpacked(folder, name):
    with (
        zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("schema.json", "w", force_zip64=True) as part,
    ):
        for _ in range(LARGEST // 2**24 + 1):
            part.write(bytes(2**24))
    assert (folder / name).stat().st_size < 2**23
    redigest(folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserMistakeError, match="it is not read"):
        load_model(folder)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_a_file_that_states_a_wrong_size_is_refused(tmp_path):
    path = tmp_path / "lies.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", bytes(2**22))
    said, real = (number.to_bytes(4, "little") for number in (1000, 2**22))
    path.write_bytes(path.read_bytes().replace(real, said))
    with zipfile.ZipFile(path) as archive:
        assert archive.infolist()[0].file_size == 1000
    with pytest.raises(zipfile.BadZipFile):
        check_archive(path, largest=2000)


@pytest.mark.parametrize("name", ["weights.pt", "trees.skops", "encoder.skops"])
def test_an_incomplete_model_is_refused(folder, name):
    (folder / name).unlink()
    with pytest.raises(UserMistakeError, match=f"{name} is missing"):
        load_model(folder)


def test_a_model_that_may_not_be_read_gives_a_message(folder, monkeypatch):
    def denied(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_text", denied)
    with pytest.raises(UserMistakeError, match=r"cannot be read: Permission denied"):
        load_model(folder)
