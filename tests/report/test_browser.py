"""The report in a real browser: no error on the console, and every figure is drawn."""

import json
import shutil
import subprocess

import pytest

from report.pages import FIGURES, a_page

pytestmark = pytest.mark.slow

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--v=0",
]
# Runs in the page after it was laid out, and leaves what it measured in an attribute.
PROBE = """<script>
addEventListener("load", () => {
  const sizes = {};
  for (const figure of document.querySelectorAll("figure")) {
    const box = figure.getBoundingClientRect();
    sizes[figure.id] = [box.width, box.height];
  }
  const drawn = [...document.querySelectorAll("figure svg")].map(svg => svg.getBoundingClientRect().height);
  const page = document.documentElement;
  const dark = getComputedStyle(document.body).backgroundColor;
  document.body.dataset.found = JSON.stringify(
    {sizes, drawn, background: dark, overflow: page.scrollWidth - page.clientWidth, width: innerWidth});
});
</script>"""


@pytest.fixture(scope="module")
def browser():
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))),
        None,
    )
    if found is None:
        pytest.fail(
            "this test opens the report in Chromium, which is not installed: apt-get install chromium"
        )
    return found


def opened(browser, tmp_path, *flags):
    """Return what the browser measured, and what it wrote to its console."""
    page = tmp_path / "report.html"
    page.write_text(a_page().replace("</body>", PROBE + "</body>"), encoding="utf-8")
    command = [
        browser,
        *FLAGS,
        f"--user-data-dir={tmp_path / 'profile'}",
        *flags,
        "--dump-dom",
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    start = done.stdout.index('data-found="') + len('data-found="')
    found = done.stdout[start : done.stdout.index('"', start)].replace("&quot;", '"')
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(found), console


def fresh(folder, name):
    (folder / name).mkdir()
    return folder / name


@pytest.mark.parametrize("width", [1200, 500], ids=["desk", "phone"])
def test_every_figure_is_drawn_and_the_console_is_empty(browser, tmp_path, width):
    found, console = opened(browser, tmp_path, f"--window-size={width},900")
    assert console == []
    assert set(found["sizes"]) == {f"{name}-{index}" for name in FIGURES for index in (0, 1)}
    assert all(w > 200 and h > 100 for w, h in found["sizes"].values())
    assert len(found["drawn"]) == 2 * 8
    assert min(found["drawn"]) > 100
    assert found["overflow"] <= 0


def test_the_page_is_dark_where_dark_is_preferred(browser, tmp_path):
    light, _ = opened(browser, fresh(tmp_path, "light"), "--blink-settings=preferredColorScheme=1")
    dark, _ = opened(browser, fresh(tmp_path, "dark"), "--blink-settings=preferredColorScheme=0")
    assert light["background"] == "rgb(251, 250, 248)"
    assert dark["background"] == "rgb(21, 23, 27)"


def test_figures_are_printed_beside_each_other(browser, tmp_path):
    page, printed = tmp_path / "report.html", tmp_path / "report.pdf"
    page.write_text(a_page(), encoding="utf-8")
    command = [browser, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", f"--print-to-pdf={printed}"]
    subprocess.run([*command, page.as_uri()], capture_output=True, timeout=120, check=True)
    # Two sections of seven figures; one figure below the other would take a page each.
    assert printed.read_bytes().count(b"/Type /Page\n") <= 9
