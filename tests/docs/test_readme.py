"""What the front page promises beside that its snippets run."""

import re
import subprocess
import sys
from email import message_from_bytes

from docs.pages import README, ROOT, Snippet, run, snippets


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


def test_a_package_index_shows_the_readme_without_links_that_lead_nowhere(tmp_path):
    hook = (
        "import sys; from scikit_build_core.build import prepare_metadata_for_build_wheel as prepare; "
        "prepare(sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", hook, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    (metadata,) = tmp_path.glob("*.dist-info/METADATA")
    found = message_from_bytes(metadata.read_bytes())
    assert found["Description-Content-Type"] == "text/markdown"
    shown = found.get_payload(decode=True).decode()
    targets = re.findall(r"\]\(([^)]*)\)", shown)
    assert [target for target in targets if not target.startswith("https://")] == []
    assert "<img" not in shown
    for heading in re.findall(r"^## .*$", README.read_text(encoding="utf-8"), flags=re.MULTILINE):
        assert heading in shown


def test_the_description_is_that_of_the_present_readme(tmp_path):
    """If not, run `python packaging/describe.py`."""
    for name in ("README.md", "packaging/describe.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run([sys.executable, tmp_path / "packaging" / "describe.py"], check=True)
    made = (tmp_path / "packaging" / "description.md").read_text(encoding="utf-8")
    assert made == (ROOT / "packaging" / "description.md").read_text(encoding="utf-8")
