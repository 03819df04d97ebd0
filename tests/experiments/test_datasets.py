"""The 22 data sets: the paper's names, sizes and parts, from a folder or by a fetcher, or a sentence."""

import numpy as np
import pandas as pd
import pytest

from experiments.folders import made_up
from metricfit.experiments import fetching
from metricfit.experiments.datasets import DATASETS
from metricfit.experiments.fetching import UnavailableError, classes_of
from metricfit.experiments.loading import load

# Rows for training, validation and test, from the paper's appendix.
SIZES = {
    "abalone": (2338, 585, 1254),
    "adult": (25324, 6331, 13567),
    "appliancesenergy": (11051, 2763, 5921),
    "bankdomains2": (4587, 1147, 2458),
    "bankmarketing": (25318, 6329, 13564),
    "californiahousing": (11558, 2889, 6193),
    "censusdomains": (12758, 3190, 6836),
    "computeractivity2": (4587, 1147, 2458),
    "default": (16800, 4200, 9000),
    "dutch": (33835, 8459, 18126),
    "eegeye": (8389, 2097, 4494),
    "fashion-mnist": (48000, 12000, 10000),
    "htru2": (10022, 2506, 5370),
    "letter": (11200, 2800, 6000),
    "mnist": (48000, 12000, 10000),
    "onlinenews": (22200, 5550, 11894),
    "pageblocks": (3065, 766, 1642),
    "redwine": (895, 224, 480),
    "sat": (3548, 887, 2000),
    "sensorless": (32765, 8191, 17553),
    "shuttle": (34800, 8700, 14500),
    "whitewine": (2743, 686, 1469),
}


def test_all_sets_of_the_paper_are_registered_with_their_rows():
    assert {name: dataset.rows for name, dataset in DATASETS.items()} == {
        name: sum(sizes) for name, sizes in SIZES.items()
    }


@pytest.mark.parametrize("name", sorted(set(SIZES) - {"fashion-mnist", "mnist"}))
def test_the_parts_have_the_sizes_of_the_paper(name, tmp_path):
    made_up(tmp_path, name, rows=DATASETS[name].rows)
    with np.load(tmp_path / f"{name}.npz") as file:
        features, classes = file["X"], file["y"]
    low, high = DATASETS[name].positive
    if high == 1:
        classes = (classes > 5).astype(np.int16)
    elif low > 10:
        classes = classes + 16
    np.savez(tmp_path / f"{name}.npz", X=features, y=classes)
    data = load(name, 0, tmp_path)
    found = (len(data.train), len(data.validation), len(data.test))
    # The paper rounds here and there the other way.
    np.testing.assert_allclose(found, SIZES[name], atol=1)
    assert sum(found) == sum(SIZES[name])
    assert data.whole


def test_features_are_standardised_by_the_training_part_alone(tmp_path):
    data = load("redwine", 0, made_up(tmp_path, "redwine"), partial=True)
    train = data.train.features
    assert train[:, :2].mean(0).numpy() == pytest.approx(0.0, abs=1e-6)
    assert train[:, :2].std(0, correction=0).numpy() == pytest.approx(1.0, abs=1e-5)
    assert (train[:, 2] == 0).all(), "a constant column stays finite"
    assert abs(float(data.test.features[:, 0].mean())) > 1e-4


def test_the_split_in_the_file_is_kept(tmp_path):
    made_up(tmp_path, "abalone", split=True)
    with np.load(tmp_path / "abalone.npz") as file:
        expected = (file["y"][file["test_idx"]] >= 6).astype(int)
    data = load("abalone", 3, tmp_path, partial=True)
    assert data.test.labels.tolist() == expected.tolist()
    assert (len(data.train), len(data.validation)) == (96, 24)


def test_parts_depend_on_the_seed_and_nothing_else(tmp_path):
    made_up(tmp_path, "redwine")
    one, same, other = (load("redwine", seed, tmp_path, partial=True) for seed in (0, 0, 1))
    assert one.train.features.equal(same.train.features)
    assert not one.train.features.equal(other.train.features)


def test_a_file_that_lacks_rows_is_refused_unless_allowed(tmp_path):
    made_up(tmp_path, "abalone")
    with pytest.raises(UnavailableError, match="240 rows here and 4177 in the paper; give --partial"):
        load("abalone", 0, tmp_path)
    assert not load("abalone", 0, tmp_path, partial=True).whole


def test_a_broken_file_gives_a_message(tmp_path):
    (tmp_path / "abalone.npz").write_bytes(b"PK\x03\x04 no")
    with pytest.raises(UnavailableError, match=r"abalone\.npz is not an npz file that can be read"):
        load("abalone", 0, tmp_path)
    np.savez(tmp_path / "abalone.npz", X=np.zeros((3, 1)))
    with pytest.raises(UnavailableError, match="must hold X and y"):
        load("abalone", 0, tmp_path)


def test_without_a_network_connection_a_set_is_reported_as_unavailable(tmp_path, monkeypatch):
    def offline(*args, **kwargs):
        raise OSError("no route to host")

    monkeypatch.setattr(fetching, "fetch_openml", offline)
    with pytest.raises(UnavailableError, match=r"whitewine could not be fetched \(no route to host\)"):
        load("whitewine", 0, tmp_path)
    with pytest.raises(UnavailableError, match="dutch is offered by no fetcher"):
        load("dutch", 0, tmp_path)


def test_a_fetched_table_is_encoded_and_rows_with_gaps_are_left_out(monkeypatch):
    def fetched(name, **kwargs):
        assert (name, kwargs["version"], kwargs["target_column"]) == ("adult", 2, "default-target")
        table = pd.DataFrame({"age": [30.0, 40.0, 50.0], "work": ["state", None, "private"]})
        return table, pd.Series([">50K", "<=50K", "<=50K"])

    monkeypatch.setattr(fetching, "fetch_openml", fetched)
    features, classes = fetching.fetch(DATASETS["adult"])
    assert features.tolist() == [[30.0, 0.0, 1.0], [50.0, 1.0, 0.0]]
    assert classes.tolist() == [1, 0]


def test_labellings_give_the_classes_of_the_paper():
    assert classes_of(np.arange(20)[::-1], "deciles").tolist() == [10 - i // 2 for i in range(20)]
    assert classes_of([1, 29, 15, 3.7, 3.9], "tenths").tolist() == [1, 10, 6, 1, 2]
    assert classes_of(["Z", "V"], "letters").tolist() == [26, 22]
    assert classes_of(["1", "2", "1"], "class").tolist() == [0, 1, 0]
    assert classes_of([3, 9, 6], "class").tolist() == [3, 9, 6]
    assert classes_of(["no", "yes"], "class").tolist() == [0, 1]
    assert classes_of([4999, 5000], "at least 5000").tolist() == [0, 1]
