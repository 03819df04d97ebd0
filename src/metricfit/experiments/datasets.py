"""The 22 data sets of the paper: their names, sizes, positive classes, splits and where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["DATASETS", "KINDS", "Dataset", "Labelling", "Source"]

Labelling: TypeAlias = Literal["class", "deciles", "tenths", "letters", "above mean", "at least 5000"]


@dataclass(frozen=True)
class Source:
    """Where a data set can be fetched, and how its target becomes the paper's classes.

    Attributes
    ----------
    name : str
        The name on OpenML, or the name of a fetcher of scikit-learn.
    version : int
        The version on OpenML; 0 stands for a fetcher of scikit-learn.
    target : str, optional
        The column to predict, where it is not the one that OpenML names.
    labelling : str
        "class" takes the values as they are, numbered by rank where they are words; "deciles" and "tenths"
        cut a number into ten classes of equal count or of equal width.
    drop : tuple of str
        Columns that the paper does not have.
    """

    name: str
    version: int = 1
    target: str | None = None
    labelling: Labelling = "class"
    drop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """One data set of the paper.

    Attributes
    ----------
    name : str
        The paper's name; ``<name>.npz`` is the file in a local folder.
    rows : int
        The number of rows of the whole set.
    positive : tuple of int
        The first and the last class that count as positive.
    source : Source or None
        Where to fetch it; None if no fetcher has it.
    training_rows : int
        How many of the first rows are for training and validation, where the split is an official one.
    image : bool
        Whether the rows are images of 28 by 28, for the convolutional network.
    """

    name: str
    rows: int
    positive: tuple[int, int]
    source: Source | None
    training_rows: int | None = None
    image: bool = False


def _registry(*sets: Dataset) -> dict[str, Dataset]:
    return {dataset.name: dataset for dataset in sets}


DATASETS = _registry(
    Dataset("abalone", 4177, (6, 10), Source("abalone", labelling="tenths")),
    Dataset("adult", 45222, (1, 1), Source("adult", version=2)),
    Dataset(
        "appliancesenergy",
        19735,
        (1, 1),
        Source("appliances_energy_prediction", target="Appliances", labelling="above mean", drop=("date",)),
    ),
    Dataset("bankdomains2", 8192, (7, 10), Source("bank32nh", labelling="deciles")),
    Dataset("bankmarketing", 45211, (1, 1), Source("bank-marketing")),
    Dataset("californiahousing", 20640, (7, 10), Source("california_housing", 0, labelling="deciles")),
    Dataset("censusdomains", 22784, (7, 10), Source("house_8L", labelling="deciles")),
    Dataset("computeractivity2", 8192, (8, 10), Source("cpu_act", labelling="deciles")),
    Dataset("default", 30000, (1, 1), Source("default-of-credit-card-clients")),
    Dataset("dutch", 60420, (1, 1), None),
    Dataset("eegeye", 14980, (1, 1), Source("eeg-eye-state")),
    Dataset("fashion-mnist", 70000, (0, 0), Source("Fashion-MNIST"), training_rows=60000, image=True),
    Dataset("htru2", 17898, (1, 1), Source("HTRU2")),
    Dataset("letter", 20000, (22, 26), Source("letter", labelling="letters")),
    Dataset("mnist", 70000, (0, 0), Source("mnist_784"), training_rows=60000, image=True),
    Dataset(
        "onlinenews",
        39644,
        (1, 1),
        Source(
            "OnlineNewsPopularity",
            target="shares",
            labelling="at least 5000",
            drop=("url", "timedelta"),
        ),
    ),
    Dataset("pageblocks", 5473, (4, 5), Source("page-blocks")),
    Dataset("redwine", 1599, (7, 10), Source("wine-quality-red")),
    Dataset("sat", 6435, (6, 7), Source("satimage"), training_rows=4435),
    Dataset("sensorless", 58509, (7, 10), Source("Sensorless-Drive-Diagnosis")),
    Dataset("shuttle", 58000, (4, 7), Source("shuttle"), training_rows=43500),
    Dataset("whitewine", 4898, (7, 10), Source("wine-quality-white")),
)
"""By name, in the order of the paper's tables."""

KINDS = {
    "tables": tuple(name for name, dataset in DATASETS.items() if not dataset.image),
    "images": tuple(name for name, dataset in DATASETS.items() if dataset.image),
}
"""The names of the sets of each kind; those of images have a network of their own."""
