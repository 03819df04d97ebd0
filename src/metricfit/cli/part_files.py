"""Networks and trees on disk, read without executing anything and checked before they are used."""

from __future__ import annotations

import io
import pickle
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import skops.io
import torch
from skops.io.exceptions import UnsupportedTypeException, UntrustedTypesFoundException

from metricfit.cli.archives import check_archive
from metricfit.cli.tree_checks import BadTreesError, check_trees
from metricfit.sklearn import MLP

__all__ = [
    "ForeignFileError",
    "read_networks",
    "read_objects",
    "read_trees",
    "write_networks",
    "write_objects",
]

# What gradient-boosted trees consist of; newer versions of skops know all but the first themselves.
TREE_TYPES = frozenset(
    f"sklearn.{name}"
    for name in (
        "ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "ensemble._hist_gradient_boosting.binning._BinMapper",
        "_loss.link.Interval",
        "_loss.link.LogitLink",
        "_loss.loss.HalfBinomialLoss",
    )
)


class ForeignFileError(Exception):
    """A file does not hold what metricfit writes."""


def write_networks(path: Path, networks: Sequence[torch.nn.Module]) -> None:
    """Write the weights of networks."""
    weights = io.BytesIO()  # torch reports a full disk as a RuntimeError without a cause
    torch.save([network.state_dict() for network in networks], weights)
    path.write_bytes(weights.getbuffer())


def read_networks(path: Path, features: int, count: int, outputs: int) -> list[torch.nn.Module]:
    """Return the networks in a file, or raise ForeignFileError."""
    # Every feature has weights in the file, so that networks larger than the file are not made.
    if count * features > path.stat().st_size:
        raise ForeignFileError
    # torch raises what pickle, zip files and state dicts raise; all of it means the same here.
    try:
        check_archive(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of foreign files torch warns before it refuses them
            states = torch.load(path, weights_only=True, map_location="cpu")
        if not isinstance(states, list) or len(states) != count:
            raise ForeignFileError
        networks = [MLP(features, outputs=outputs) for _ in states]
        for network, state in zip(networks, states, strict=True):
            network.load_state_dict(state)
    except (
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
        pickle.UnpicklingError,
        RuntimeError,
        EOFError,
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
    ):
        raise ForeignFileError from None
    return [network.eval() for network in networks]


def write_objects(path: Path, objects: Any) -> None:
    """Write objects of scikit-learn."""
    skops.io.dump(objects, path, compression=zipfile.ZIP_DEFLATED)


def read_objects(path: Path, known: frozenset[str]) -> Any:
    """Return what a file of skops holds if it is of known types only, or raise ForeignFileError."""
    try:
        check_archive(path)
        found = set(skops.io.get_untrusted_types(file=path))
        if not found <= known:
            raise ForeignFileError
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other versions are named in a note
            return skops.io.load(path, trusted=sorted(found))
    except (
        zipfile.BadZipFile,
        zlib.error,
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
        ImportError,
        NotImplementedError,
        RecursionError,
        UnsupportedTypeException,
        UntrustedTypesFoundException,
    ):
        raise ForeignFileError from None


def read_trees(path: Path, features: int, count: int, classes: int) -> list[Any]:
    """Return the gradient-boosted trees in a file, or raise ForeignFileError."""
    found = read_objects(path, TREE_TYPES)
    if not isinstance(found, list) or len(found) != count:
        raise ForeignFileError
    try:
        for trees in found:
            check_trees(trees, features, classes)
    except BadTreesError:
        raise ForeignFileError from None
    return found
