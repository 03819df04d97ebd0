"""What docs/results.md rests on: every data set, every recipe, on the same parts, in order of importance.

    python benchmarks/evidence.py --data DATA --jobs 16 --minutes 8 --out benchmarks/results/evidence
    python benchmarks/evidence.py --data DATA --stages images --device cuda --jobs 4 --out ...

    main        cross-entropy, MetricLoss and class weights in the recommended protocol, seed 0
    peers       every other recipe, those that are trained for a metric for F1 and MCC
    more        and for F2 and kappa
    ensemble    MetricEnsemble on the smaller sets
    seeds       main, peers and F2 with two more seeds
    paper       the paper's protocol on the sets that the earlier runs do not have
    others      the other four metrics
    longer      the paper's protocol on the smaller sets with up to 15 000 steps, most of them 100 epochs
    images      mnist and fashion-mnist, with the paper's convolutional network

A stage goes round the data sets and trains one recipe on each, the most important first. So whenever it is
stopped, each recipe has as many sets as any other, give or take one recipe.

Each line of cells.jsonl is one training. A stopped run goes on where it was; recipes whose package is not
installed are left out, with a sentence. `python benchmarks/results_pages.py` makes the pages from the cells.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from metricfit.experiments.datasets import DATASETS
from metricfit.experiments.journal import CELLS
from metricfit.experiments.metrics import METRICS
from metricfit.experiments.recipes import lacking
from metricfit.experiments.runs import Run, plan
from metricfit.experiments.sweep import available, sweep

TABULAR = tuple(name for name, dataset in DATASETS.items() if not dataset.image)
IMAGES = tuple(name for name, dataset in DATASETS.items() if dataset.image)
# Of each of these MetricEnsemble takes about a minute for a metric.
SMALL = (
    "redwine",
    "sensorless",
    "abalone",
    "whitewine",
    "pageblocks",
    "sat",
    "bankdomains2",
    "computeractivity2",
)
# The sets that the earlier runs of the paper's protocol do not have.
LATER = ("adult", "bankmarketing", "computeractivity2", "dutch", "onlinenews", "sat", "sensorless", "shuttle")
EVERY = tuple(METRICS)
STEPS, PAPER_STEPS, LONGER = 6000, 2500, 15000
BOTH = ("cross-entropy", "metricfit")
# The public implementation takes about 35 times as long as any other recipe, and the ensemble has a stage.
PEERS = ("smp", "trees", "balanced", "focal", "soft", "lightgbm", "aucm", "ap-loss")


def stages() -> dict[str, list[Run]]:
    """Return the runs of each stage, by its name."""

    def runs(losses: Sequence[str], metrics: Sequence[str], **more: Any) -> Iterator[Run]:
        settings = {"protocols": ["recommended"], "datasets": TABULAR, "seeds": [0], "steps": STEPS, **more}
        return plan(losses=losses, metrics=metrics, **settings)

    def on_paper(losses: Sequence[str], metrics: Sequence[str], **more: Any) -> Iterator[Run]:
        return runs(losses, metrics, protocols=["paper"], **more)

    first = ("f1", "mcc")
    made = {
        "main": runs([*BOTH, "weighted"], (*first, "f2", "kappa")),
        "peers": runs(PEERS, first),
        "more": runs(["smp", "soft"], ["f2", "kappa"]),
        "ensemble": runs(["ensemble"], ["f1", "mcc", "f2"], datasets=SMALL),
        "seeds": chain.from_iterable(
            runs(losses, metrics, seeds=[seed])
            for losses, metrics in (
                (BOTH, first),
                (["weighted", *PEERS], first),
                (["metricfit", "smp", "soft"], ["f2"]),
            )
            for seed in (1, 2)
        ),
        "paper": chain(
            on_paper(BOTH, first, datasets=LATER, steps=PAPER_STEPS),
            on_paper(BOTH, EVERY, datasets=LATER, steps=PAPER_STEPS),
            on_paper(["cross-entropy"], EVERY, datasets=LATER, steps=LONGER),
        ),
        "others": runs(["metricfit", "soft"], EVERY),
        "longer": on_paper(BOTH, EVERY, datasets=SMALL, steps=LONGER),
        "images": runs([*BOTH, "weighted", "soft"], EVERY, protocols=["images"], datasets=IMAGES, steps=None),
    }
    return {name: in_rounds(dict.fromkeys(found)) for name, found in made.items()}


def in_rounds(runs: Collection[Run]) -> list[Run]:
    """Return the runs in another order: the first of each data set, the second of each, and so on."""
    counts: Counter[str] = Counter()
    rounds = []
    for run in runs:
        rounds.append(counts[run.dataset])
        counts[run.dataset] += 1
    return [run for _, run in sorted(zip(rounds, runs, strict=True), key=lambda pair: pair[0])]


def main() -> None:
    """Train what is not yet in the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = stages()
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets, as .npz files")
    parser.add_argument(
        "--stages", nargs="+", choices=known, default=[name for name in known if name != "images"]
    )
    parser.add_argument("--device", default="cpu", help="where networks are trained")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, help="start no training later than this")
    parser.add_argument("--out", type=Path, default=Path("evidence"), help="folder of cells.jsonl")
    options = parser.parse_args()
    runs = list(dict.fromkeys(run for stage in options.stages for run in known[stage]))
    missing = lacking(dict.fromkeys(run.loss for run in runs))
    runs, unavailable = available(
        [run for run in runs if run.loss not in missing], options.data, partial=True
    )
    for sentence in (*missing.values(), *unavailable.values()):
        print(f"left out: {sentence}", file=sys.stderr)
    count = 0

    def done(cell: dict[str, Any]) -> None:
        nonlocal count
        count += 1
        words = cell["loss"], cell["metric"] or "", cell["dataset"], f"{cell['seconds']} s"
        print(count, cell["protocol"], *words, flush=True)

    sweep(
        runs,
        options.out / CELLS,
        folder=options.data,
        partial=True,
        jobs=options.jobs,
        device=options.device,
        seconds=None if options.minutes is None else 60.0 * options.minutes,
        done=done,
    )


if __name__ == "__main__":
    main()
