"""What docs/results.md rests on: every data set, every recipe, on the same parts, in order of importance.

    python benchmarks/evidence.py --data DATA --jobs 16 --minutes 8 --out benchmarks/results/evidence
    python benchmarks/evidence.py --data DATA --stages images --device cuda --jobs 4 --out ...

    main        cross-entropy, MetricLoss and class weights in the recommended protocol, seed 0
    peers       every other recipe, those that are trained for a metric for F1 and MCC
    more        and for F2 and kappa
    others      the other four metrics
    seeds       all of this with two more seeds
    paper       the paper's protocol, 2500 steps
    longer      the paper's protocol with its 100 epochs, the smallest set first, then with two more seeds
    images      mnist and fashion-mnist, with the paper's convolutional network, three seeds

A stage goes round the data sets and trains one recipe on each, the most important first. So whenever it is
stopped, each recipe has as many sets as any other, give or take one recipe. Only "longer" finishes a set
before the next one, since a set counts there when it is finished.

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

from metricfit.experiments.datasets import KINDS
from metricfit.experiments.journal import CELLS
from metricfit.experiments.metrics import METRICS
from metricfit.experiments.recipes import lacking
from metricfit.experiments.runs import Run, plan
from metricfit.experiments.sweep import available, sweep

TABLES = KINDS["tables"]
EVERY = tuple(METRICS)
STEPS, PAPER_STEPS = 6000, 2500
BOTH = ("cross-entropy", "metricfit")
# The public implementation takes hundreds of times as long, and the ensemble has a benchmark of its own.
PEERS = ("smp", "trees", "balanced", "focal", "soft", "lightgbm", "aucm", "ap-loss")
FIRST, THEN = ("f1", "mcc"), ("f2", "kappa")
SEEDS = (0, 1, 2)


def stages() -> dict[str, list[Run]]:
    """Return the runs of each stage, by its name."""

    def runs(losses: Sequence[str], metrics: Sequence[str], **more: Any) -> Iterator[Run]:
        settings = {"protocols": ["recommended"], "datasets": TABLES, "seeds": [0], "steps": STEPS, **more}
        return plan(losses=losses, metrics=metrics, **settings)

    def on_paper(steps: int | None, seed: int) -> Iterator[Run]:
        return runs(BOTH, EVERY, protocols=["paper"], steps=steps, seeds=[seed])

    def on_images(losses: Sequence[str], metrics: Sequence[str]) -> Iterator[Run]:
        return runs(losses, metrics, protocols=["images"], datasets=KINDS["images"], seeds=SEEDS, steps=None)

    made = {
        "main": runs([*BOTH, "weighted"], (*FIRST, *THEN)),
        "peers": runs(PEERS, FIRST),
        "more": runs(["smp", "soft"], THEN),
        "others": runs(["metricfit", "soft"], EVERY),
        "seeds": chain.from_iterable(
            runs(losses, metrics, seeds=[seed])
            for losses, metrics in (
                (BOTH, FIRST),
                (["weighted", *PEERS], FIRST),
                (["metricfit", "smp", "soft"], THEN),
                (["metricfit"], EVERY),
            )
            for seed in SEEDS[1:]
        ),
        "paper": on_paper(PAPER_STEPS, seed=0),
        "images": chain(
            # The first call of the game's loss compiles a kernel, which may go on beside these.
            on_images(["cross-entropy", "weighted", "soft"], FIRST),
            on_images(["metricfit"], EVERY),
        ),
    }
    ordered = {name: in_rounds(dict.fromkeys(found)) for name, found in made.items()}
    return ordered | {"longer": list(chain.from_iterable(on_paper(None, seed) for seed in SEEDS))}


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
