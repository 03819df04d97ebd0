"""What docs/results.md rests on: every data set, every recipe, on the same parts, in order of importance.

    python benchmarks/evidence.py --data DATA --jobs 16 --minutes 8 --out benchmarks/results/evidence
    python benchmarks/evidence.py --data DATA --stages images --device cuda --jobs 4 --out ...

    breadth     the recommended protocol, seed 0: every set and recipe, for F1, F2, MCC and kappa
    metrics     the other four metrics
    paper       the paper's protocol on the sets that the earlier runs do not have
    ensemble    MetricEnsemble on the smaller sets
    longer      the paper's protocol on the smaller sets with up to 15 000 steps, most of them 100 epochs
    seeds       the first stage with two more seeds
    images      mnist and fashion-mnist, with the paper's convolutional network

Each line of cells.jsonl is one training. A stopped run goes on where it was; recipes whose package is not
installed are left out, with a sentence. `python benchmarks/results_pages.py` makes the pages from the cells.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from metricfit.experiments.datasets import DATASETS
from metricfit.experiments.journal import CELLS
from metricfit.experiments.recipes import RECIPES, lacking
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
FIRST, OTHERS = ("f1", "f2", "mcc", "kappa"), ("accuracy", "gpr", "pr80", "pr60")
STEPS, PAPER_STEPS, LONGER = 6000, 2500, 15000
# The public implementation takes about 35 times as long as any other recipe.
LOSSES = tuple(name for name in RECIPES if name not in ("ap-perf", "ensemble"))


def stages() -> dict[str, list[Run]]:
    """Return the runs of each stage, by its name."""

    def runs(losses: Sequence[str], metrics: Sequence[str], **more: Any) -> Iterator[Run]:
        settings = {"protocols": ["recommended"], "datasets": TABULAR, "seeds": [0], "steps": STEPS, **more}
        return plan(losses=losses, metrics=metrics, **settings)

    both, every = ("cross-entropy", "metricfit"), FIRST + OTHERS
    return {
        "breadth": list(runs(LOSSES, FIRST)),
        "metrics": list(runs(["soft", "metricfit"], OTHERS)),
        "paper": [
            *runs(both, every, protocols=["paper"], datasets=LATER, steps=PAPER_STEPS),
            *runs(["cross-entropy"], every, protocols=["paper"], datasets=LATER, steps=LONGER),
        ],
        "ensemble": list(runs(["ensemble"], ["f1", "f2", "mcc"], datasets=SMALL)),
        "longer": list(runs(both, every, protocols=["paper"], datasets=SMALL, steps=LONGER)),
        "seeds": list(runs(LOSSES, FIRST, seeds=[1, 2])),
        "images": list(
            runs(
                ["cross-entropy", "weighted", "metricfit", "soft"],
                every,
                protocols=["images"],
                datasets=IMAGES,
                steps=None,
            )
        ),
    }


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
    runs = [run for stage in options.stages for run in known[stage]]
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
        told = cell["loss"], cell["metric"] or "", cell["dataset"], f"{cell['seconds']} s"
        print(count, cell["protocol"], *told, flush=True)

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
