"""What the front page promises beside that its snippets run."""

import re

from docs.pages import README, Snippet, run, snippets


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) < 150


def test_the_change_from_cross_entropy_is_six_lines():
    (diff,) = snippets(README, "diff")
    assert sum(line.startswith(("+", "-")) for line in diff.code.splitlines()) == 6


def test_the_refusal_is_printed_as_the_readme_shows_it():
    (shown,) = [snippet for snippet in snippets(README, "python") if "UnsupportedMetricError" in snippet.code]
    message = re.search(r"# (.*) \.\.\.", shown.code)
    assert message
    alone = Snippet(README, "python", 0, "import metricfit as mf\n" + shown.code)
    assert run(alone, {}).startswith(message[1])


def test_what_the_readme_links_to_exists():
    targets = re.findall(r"\]\(([^)#]+)", README.read_text(encoding="utf-8"))
    assert targets
    for target in targets:
        if "://" not in target:
            assert (README.parent / target).exists(), target
