"""The solver is compiled once per installation, by several processes, for one set of types."""

from __future__ import annotations

import ast
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import numba
import numpy as np
import pytest

import metricfit as mf
from metricfit.game import make_game
from metricfit.game.compiled import is_remembered
from metricfit.solvers.fast import compiling
from metricfit.solvers.fast.parts import REGISTERED
from metricfit.solvers.fast.pinning import Held, kind
from metricfit.solvers.fast.playing import Setting
from metricfit.solvers.fast.restriction import (
    chain_order,
    opening_sizes,
    restrict,
    whole_setting,
    whole_tables,
)
from metricfit.solvers.fast.state import Parts

PROGRAM = """
import time
import metricfit as mf
from metricfit.solvers.fast.parts import REGISTERED

begin = time.process_time()
mf.solve(mf.f1, [0.1, -0.2, 0.3])
own = [name for name, part in REGISTERED.items() if part.compiled.stats.cache_misses]
print(time.process_time() - begin, *own)
"""

THRICE = mf.precision.subject_to(mf.recall >= 0.3, mf.specificity >= 0.2, mf.accuracy >= 0.1)


@pytest.mark.parametrize("metric", [mf.f1, mf.precision_at_recall(0.5), THRICE], ids=lambda m: m.name)
@pytest.mark.parametrize("n", [1, 7])
def test_every_problem_has_the_types_that_the_solver_is_compiled_for(metric: mf.Metric, n: int) -> None:
    game = make_game(metric, np.linspace(1.0, -1.0, n), np.arange(n) % 2 == 0)
    tables, sizes = whole_tables(metric, n)
    order, opening = chain_order(game, sizes), opening_sizes(game)
    held = restrict(game, sizes, order, tables, sizes, sizes, sizes, opening)
    for setting in (held, whole_setting(metric, n, game.split)):
        assert tuple(map(numba.typeof, setting.value)) == tuple(kind(Setting).types)
    with pytest.raises(AssertionError, match="misread"):
        Held(held.value._replace(chain=held.value.chain[::-1]))


def test_every_part_has_an_address() -> None:
    assert set(REGISTERED) == set(Parts._fields)


COMPILED = {"kernel", "inner", "lean", "brief", "part"}
FILES = sorted(Path(compiling.__file__).parent.glob("*.py"))


def names(function: ast.FunctionDef) -> set[str]:
    """What a function is decorated with."""
    return {node.id for node in function.decorator_list if isinstance(node, ast.Name)}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_compiled_functions_do_not_count_from_the_end(file: Path) -> None:
    for function in ast.walk(ast.parse(file.read_text())):
        if isinstance(function, ast.FunctionDef) and names(function) & COMPILED:
            for node in ast.walk(function):
                if isinstance(node, ast.Subscript):
                    bounds = {node.slice} | set(getattr(node.slice, "elts", []))
                    bounds |= {getattr(bound, end, None) for bound in bounds for end in ("lower", "upper")}
                    assert not any(isinstance(bound, ast.UnaryOp) for bound in bounds), ast.unparse(node)


@pytest.mark.parametrize("executable", ["", "/usr/sbin/uwsgi", "/no/such/folder/python"])
def test_nobody_waits_for_workers_that_cannot_be_started(
    executable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    compiling._compile_elsewhere(["start"])


def test_nobody_waits_for_workers_that_die(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "__name__", "metricfit.no_such_module")
    compiling._compile_elsewhere(["start", "pool", "restore"])


def test_an_interrupt_ends_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[str]] = []
    start = compiling._start_worker

    def interrupted(*_: object) -> None:
        while not started:
            time.sleep(0.01)
        raise KeyboardInterrupt

    def remembered() -> subprocess.Popen[str]:
        started.append(start())
        return started[-1]

    monkeypatch.setattr(compiling, "_start_worker", remembered)
    monkeypatch.setattr(compiling, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiling._compile_elsewhere(["start", "pool", "restore"])
    assert all(worker.poll() is not None for worker in started)


def test_waiting_for_the_compiler_is_announced_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []
    on_disk = set(Parts._fields[:2])
    monkeypatch.setattr(compiling, "_is_on_disk", lambda name: name in on_disk)
    monkeypatch.setattr(compiling, "_load", done.append)
    monkeypatch.setattr(compiling, "_compile_elsewhere", done.extend)
    with caplog.at_level(logging.WARNING, logger="metricfit"):
        compiling.compile_solver()
    assert caplog.text.count("compiling the solver") == 1
    names = [*Parts._fields, "solve_games"]
    assert done == [*names[:1:-1], *names]


def test_what_is_on_disk_is_known_without_loading_it() -> None:
    mf.solve(mf.f1, [0.1, -0.2, 0.3])
    for name, part in REGISTERED.items():
        assert compiling._is_on_disk(name), name
        assert not is_remembered(part.compiled, part.signature.replace(args=()))
    assert compiling._is_on_disk("solve_games")


def run(cache: Path, preamble: str = "") -> tuple[float, list[str], str]:
    """Solve a game in a new process: seconds, names of the parts that it compiled itself, what it said."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", preamble + PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seconds, *own = done.stdout.split()
    return float(seconds), own, done.stderr


@pytest.mark.slow
def test_workers_do_the_work_and_later_processes_have_none(tmp_path: Path) -> None:
    _, own, message = run(tmp_path)
    assert len(message.splitlines()) == 1
    assert "once per installation" in message
    assert own == []
    seconds, own, message = run(tmp_path)
    assert (own, message) == ([], "")
    assert seconds < 1.0


@pytest.mark.slow
def test_without_workers_one_process_compiles_everything(tmp_path: Path) -> None:
    _, own, _ = run(tmp_path, "import sys; sys.executable = ''")
    assert set(own) == set(Parts._fields)
