"""Make docs/results.md, its appendix and their figures from the recorded cells.

    python benchmarks/results_pages.py

Every figure and table of these pages comes from benchmarks/results; the words are in benchmarks/pages, with
the names of the figures in braces. Other pages quote some of them between two comments,
``<!-- results: NAME -->`` and ``<!-- end of results -->``; what stands between them is written anew from
benchmarks/pages/NAME.md. A test compares the pages with what this program makes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import results_facts
import results_settings
import tables

from metricfit.experiments.costs import costs
from metricfit.experiments.journal import CELLS, read
from metricfit.experiments.plotting import draw_costs, draw_gains, draw_scatter
from metricfit.experiments.selection import equal_budgets
from metricfit.experiments.statistics import paired
from metricfit.experiments.writing import sections

ROOT = Path(__file__).parent.parent
RESULTS, PAGES, DOCS = ROOT / "benchmarks" / "results", ROOT / "benchmarks" / "pages", ROOT / "docs"
QUOTING = (ROOT / "README.md", DOCS / "constraints.md")
QUOTE = re.compile(r"(?<=<!-- results: )(\w+)( -->\n).*?(?=<!-- end of results -->)", re.DOTALL)


def evidence() -> results_facts.Evidence:
    """Return the recorded cells."""
    return results_facts.Evidence.of(list(read(RESULTS / "experiments" / CELLS).values()))


def pages(found: results_facts.Evidence) -> dict[Path, str]:
    """Return the text of every page that is made or that quotes a figure."""
    ap_perf = list(read(RESULTS / "experiments" / "ap-perf" / CELLS).values())
    facts = {
        **results_facts.facts(found, tables.read(RESULTS / "ensemble.jsonl")),
        **results_settings.settings(found.cells, ap_perf),
    }
    commands = (RESULTS / "experiments" / "commands.txt").read_text(encoding="utf-8").rstrip("\n")

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
            commands=commands,
            recommended=_sections(found.cells, "recommended"),
            paper=_sections(fair, "paper"),
            images=_sections(found.cells, "images"),
        ),
    }
    for path in QUOTING:
        text = path.read_text(encoding="utf-8")
        made[path] = QUOTE.sub(lambda match: match[1] + match[2] + filled(match[1]), text)
    return made


def _sections(cells: Any, label: str) -> str:
    # One level down, below the headings of the page; some headings come twice, once for each protocol.
    return "\n".join(sections(cells, label))


def figures(found: results_facts.Evidence, folder: Path) -> None:
    """Draw the four figures."""
    ours, plainest, tuned = results_facts.OURS, results_facts.PLAINEST, results_facts.TUNED
    draw_scatter(
        paired(found.paper, ours, plainest),
        ours,
        plainest,
        folder / "results-paper.png",
        title="The paper's protocol, both cut at ½",
    )
    tuned_pair = paired(found.recommended, ours, tuned)
    draw_scatter(
        tuned_pair, ours, tuned, folder / "results-tuned.png", title="One protocol for all, threshold tuned"
    )
    rows = {point.dataset: point.cell["rows"]["validation"] for point in found.recommended}
    draw_gains(
        {case: each for case, each in tuned_pair.items() if case[1] in results_facts.PLAIN},
        ours,
        tuned,
        rows,
        folder / "results-gains.png",
        label="rows to tune the threshold on",
        title="What training for the metric adds to a tuned threshold",
    )
    spent = costs(cell for cell in found.cells if cell["protocol"] == "recommended")
    draw_costs(
        [
            (results_facts.NAMES[method].replace("`", ""), seconds, sum(map(float, values)) / len(values))
            for method, seconds, values in results_facts.mean_scores(found.recommended, spent)
            if seconds is not None and "–" not in values and method in results_facts.SHOWN
        ],
        folder / "results-costs.png",
        title="Mean of F1, F2 and MCC over the data sets",
    )


def main() -> None:
    """Write the pages and draw the figures."""
    found = evidence()
    for path, text in pages(found).items():
        path.write_text(text, encoding="utf-8")
    figures(found, DOCS / "images")


if __name__ == "__main__":
    main()
