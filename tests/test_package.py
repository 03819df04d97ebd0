"""What the package promises as a whole."""

import subprocess
import sys
import tomllib
from pathlib import Path
from pkgutil import walk_packages

import pytest

import metricfit as mf

ROOT = Path(__file__).parents[1]


def _printed(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_public_name_exists():
    for name in mf.__all__:
        assert getattr(mf, name) is not None


def test_public_names_are_listed():
    assert set(dir(mf)) == set(mf.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'auc'"):
        mf.auc  # noqa: B018


def test_import_does_without_torch_and_scikit_learn():
    assert (
        _printed("import sys, metricfit; print({'torch', 'sklearn', 'pandas'} & set(sys.modules))") == "set()"
    )


def test_the_list_of_metrics_is_printed_without_torch_and_scikit_learn():
    program = (
        "import sys; from metricfit.cli.app import app; app(['metrics', '--json'], standalone_mode=False)"
    )
    program += "; print({'torch', 'sklearn', 'pandas'} & set(sys.modules))"
    assert _printed(program).splitlines()[-1] == "set()"


def test_import_derives_no_formula_and_does_without_scipy():
    # SymPy imports its groups of permutations at the first sum.
    loaded = _printed("import sys, metricfit; print({'scipy', 'sympy.combinatorics'} & set(sys.modules))")
    assert loaded == "set()"


def test_ready_made_formulas_can_be_derived_in_many_threads_at_once():
    program = """
import sys
from threading import Barrier, Thread
import metricfit as mf
from metricfit.metrics.builtin import BUILT_IN
sys.setswitchinterval(1e-6)
metrics = [metric for metric in BUILT_IN.values() if isinstance(metric, mf.Metric)]
start, found = Barrier(8), [[] for _ in range(8)]
def derive(number):
    start.wait()
    found[number] = [(m.evaluate, hash(m), m.formula) for m in metrics[number:] + metrics[:number]]
threads = [Thread(target=derive, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
expected = {(mf.get_metric(m.formula).evaluate, hash(m), m.formula) for m in metrics}
print(all(set(own) == expected for own in found), len(expected) == len(metrics))
"""
    assert _printed(program) == "True True"


def test_the_estimator_without_its_extra_says_what_to_install():
    without = "import sys; sys.modules['skorch'] = None\nfrom importlib.machinery import PathFinder\n"
    without += "found = PathFinder.find_spec\n"
    without += "PathFinder.find_spec = lambda name, *rest: None if name == 'skorch' else found(name, *rest)\n"
    without += "del sys.modules['skorch']\n"
    asked = "try:\n    import metricfit.sklearn\nexcept ImportError as error:\n    print(error)"
    assert _printed(without + asked) == "metricfit.sklearn needs skorch; run pip install 'metricfit[sklearn]'"


def test_every_module_can_be_imported_by_its_path():
    # `import a.b as c` looks b up as an attribute of a, where a function of the same name would hide it.
    names = [module.name for module in walk_packages(mf.__path__, "metricfit.")]
    assert "metricfit.solving.fast.solving" in names
    lines = "".join(f"import {name} as it; assert it is sys.modules[{name!r}], {name!r}\n" for name in names)
    assert _printed(f"import sys\n{lines}print('all')") == "all"


def test_the_version_is_that_of_the_project_file():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert mf.__version__ == project["project"]["version"]


def test_the_package_is_typed():
    assert (Path(mf.__file__).parent / "py.typed").exists()


def test_the_lock_file_pins_versions_and_nothing_else():
    for line in (ROOT / "requirements-dev.lock").read_text().splitlines():
        if not line.startswith("#"):
            name, version = line.split("==")
            assert name.strip() == name
            assert version[0].isdigit()
            assert "+" not in version


@pytest.mark.slow
def test_the_demo_runs(tmp_path):
    command = [sys.executable, "-m", "metricfit.cli", "demo", "--report", tmp_path / "report.html"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "digits: is it an 8?" in done.stdout
    assert (tmp_path / "report.html").read_text().count("<figure") == 10
