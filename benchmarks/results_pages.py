"""Make docs/results.md, its appendix and their figures from the recorded cells.

    python benchmarks/results_pages.py

Every figure and table of these pages comes from benchmarks/results; the words are in benchmarks/pages, with
the names of the figures in braces. Other pages quote some of them between two comments,
``<!-- results: NAME -->`` and ``<!-- end of results -->``; what stands between them is written anew from
benchmarks/pages/NAME.md. A test compares the pages with what this program makes.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import results_boosting
import results_ensemble
import results_facts
import results_floors
import results_potentials
import results_rare
import results_settings
import results_tables
import tables

from metricfit.experiments.costs import Cost, costs
from metricfit.experiments.journal import CELLS, read
from metricfit.experiments.plotting import draw_costs, draw_differences, draw_gains, draw_scatter
from metricfit.experiments.selection import equal_budgets
from metricfit.experiments.statistics import paired
from metricfit.experiments.writing import PLAIN, sections

ROOT = Path(__file__).parent.parent
RESULTS, PAGES, DOCS = ROOT / "benchmarks" / "results", ROOT / "benchmarks" / "pages", ROOT / "docs"
QUOTING = (
    ROOT / "README.md",
    *(
        DOCS / f"{name}.md"
        for name in ("boosted_trees", "constraints", "ensemble", "imbalanced", "potentials", "soft_loss")
    ),
)
QUOTE = re.compile(r"(?<=<!-- results: )(\w+)( -->\n).*?(?=<!-- end of results -->)", re.DOTALL)


def evidence() -> results_facts.Evidence:
    """Return the recorded cells."""
    return results_facts.Evidence.of(list(read(RESULTS / "experiments" / CELLS).values()))


def pages(found: results_facts.Evidence) -> dict[Path, str]:
    """Return the text of every page that is made or that quotes a figure."""
    facts = every_fact(found)

    def filled(name: str, **more: str) -> str:
        return (PAGES / f"{name}.md").read_text(encoding="utf-8").format_map({**facts, **more})

    fair = equal_budgets(
        [cell for cell in found.cells if cell["protocol"] == "paper"],
        (results_facts.PLAINEST, results_facts.OURS),
    )
    made = {
        DOCS / "results.md": filled("results"),
        DOCS / "results_details.md": filled(
            "results_details",
            commands=(RESULTS / "experiments" / "commands.txt").read_text(encoding="utf-8").rstrip("\n"),
            recommended=_sections(found.cells, "recommended"),
            paper=_sections(fair, "paper"),
            images=_sections(found.cells, "images"),
        ),
    }
    for path in QUOTING:
        text = path.read_text(encoding="utf-8")
        made[path] = QUOTE.sub(lambda match: match[1] + match[2] + filled(match[1]), text)
    return made


def every_fact(found: results_facts.Evidence) -> dict[str, str]:
    """Return the figures of all benchmarks whose results are recorded, by the names of the templates."""
    ensemble = results_ensemble.Recorded(tables.read(RESULTS / "ensemble.jsonl"))
    all_rows = results_ensemble.Recorded(tables.read(RESULTS / "ensemble_all_rows.jsonl"))
    spent = costs_of(found)
    return {
        **results_facts.facts(found),
        **results_ensemble.facts(ensemble),
        **results_ensemble.facts(all_rows, "all_rows"),
        "all_rows_range": results_ensemble.rows_to_fit(all_rows),
        **results_floors.facts(tables.read(RESULTS / "operating_points.jsonl")),
        **results_boosting.facts(tables.read(RESULTS / "boosting.jsonl")),
        **results_rare.facts(tables.read(RESULTS / "rare_large.jsonl")),
        **results_potentials.facts(tables.read(RESULTS / "potentials.jsonl")),
        **results_settings.settings(
            found.cells, list(read(RESULTS / "experiments" / "ap-perf" / CELLS).values())
        ),
        "steps": "\n".join(results_tables.steps(found.recommended, ensemble)),
        "rivals": "\n".join(results_tables.rivals(found.recommended, spent)),
        "when": "\n".join(results_tables.when(found.recommended, found.images)),
        "costs": "\n".join(results_tables.means(found.recommended, spent)),
        "mean_sets": f"{len(results_tables.whole_sets(found.recommended))}",
    }


def costs_of(found: results_facts.Evidence) -> dict[str, Cost]:
    """Return what recipes cost under the recommended protocol."""
    return costs(cell for cell in found.cells if cell["protocol"] == "recommended")


def _sections(cells: Sequence[dict[str, Any]], label: str) -> str:
    if not any(cell["protocol"] == label for cell in cells):
        return "No cells are recorded."
    return "\n".join(sections(cells, label))


def figures(found: results_facts.Evidence, folder: Path) -> None:
    """Draw the four figures."""
    ours, plainest, tuned = results_facts.OURS, results_facts.PLAINEST, results_facts.TUNED
    ensemble = results_ensemble.Recorded(tables.read(RESULTS / "ensemble.jsonl"))
    draw_differences(
        {
            results_ensemble.SHORT.get(method, method): ensemble.less(
                results_ensemble.ENSEMBLE, method
            ).by_case
            for method in ensemble.rivals
        },
        folder / "results-ensemble.png",
        label="MetricEnsemble minus the other",
    )
    draw_costs(
        [
            (results_tables.NAMES[method].replace("`", ""), seconds, sum(map(float, values)) / len(values))
            for method, seconds, values in results_tables.mean_scores(found.recommended, costs_of(found))
            if seconds is not None and "–" not in values and method in results_tables.SHOWN
        ],
        folder / "results-costs.png",
        label="mean of F1 and MCC; seconds of one training",
    )
    pair = paired(found.recommended, ours, tuned)
    draw_gains(
        {case: each for case, each in pair.items() if case[1] in PLAIN},
        ours,
        tuned,
        {point.dataset: point.cell["rows"]["validation"] for point in found.recommended},
        folder / "results-gains.png",
        label="rows to tune the threshold on",
        gain="MetricLoss minus cross-entropy, tuned",
    )
    draw_scatter(
        paired(found.paper, ours, plainest),
        ours,
        plainest,
        folder / "results-paper.png",
        title="The paper's protocol",
        labels=("MetricLoss, cut at 0", "cross-entropy, cut at ½"),
    )


def main() -> None:
    """Write the pages and draw the figures."""
    found = evidence()
    for path, text in pages(found).items():
        path.write_text(text, encoding="utf-8")
    # The description of the package is made of the README.
    subprocess.run([sys.executable, str(ROOT / "packaging" / "describe.py")], check=True)
    figures(found, DOCS / "images")


if __name__ == "__main__":
    main()
