"""A folder of small made-up files under the names of real data sets, for the mechanics of a sweep."""

import numpy as np


def made_up(folder, *names, rows=240, split=False, seed=0):
    """Write a file per name: two informative columns, one constant one, and the classes 1 to 10."""
    folder.mkdir(exist_ok=True)
    for number, name in enumerate(names):
        generator = np.random.default_rng([seed, number])
        features = generator.normal(size=(rows, 3)).astype(np.float32)
        features[:, 2] = 7.0
        worth = features[:, 0] + 0.5 * features[:, 1] + generator.normal(0, 0.3, rows)
        classes = 1 + np.argsort(np.argsort(worth)) * 10 // rows
        extra = {}
        if split:
            order = generator.permutation(rows)
            extra = {"train_idx": order[: rows // 2], "test_idx": order[rows // 2 :]}
        np.savez(folder / f"{name}.npz", X=features, y=classes.astype(np.int16), **extra)
    return folder
