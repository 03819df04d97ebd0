"""The programs in cpp/tests: kernels against dense algebra, parts of the algorithm against definitions."""

from __future__ import annotations

import re

import pytest

from core.builds import ROOT, built, instruction_sets, run

SUBJECTS = ("border", "growth", "items", "merging", "newton", "pricing", "vectors")
CASES = [
    (subject, case)
    for subject in SUBJECTS
    for case in re.findall(r"^CASE\((\w+)\)", (ROOT / "cpp" / "tests" / f"{subject}.cpp").read_text(), re.M)
]


@pytest.mark.parametrize(("subject", "case"), CASES, ids=[f"{subject}-{case}" for subject, case in CASES])
def test_kernels(tmp_path_factory: pytest.TempPathFactory, subject: str, case: str) -> None:
    programs = built(tmp_path_factory, "checks", "tests_baseline", "-DMETRICFIT_OPTIMISATION=-O1")
    run(programs / f"{subject}_baseline", case)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*instruction_sets(), "block", "shuffled"])
def test_every_instruction_set_passes_the_same_checks(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    programs = built(tmp_path_factory, "optimised", f"tests_{name}")
    for subject in SUBJECTS:
        run(programs / f"{subject}_{name}")
