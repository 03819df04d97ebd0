"""Tests with other packages: the oldest and the newest dependencies, and the peers of the results."""

from pathlib import Path

import nox

LOCKED = (Path(__file__).parent / "requirements-dev.lock").read_text(encoding="utf-8").splitlines()
# The release that is developed with. Asked for the newest, pip may bring gigabytes for GPUs.
TORCH = next(line for line in LOCKED if line.startswith("torch=="))
TESTS = ("tests/cli", "tests/sklearn")
NEEDED = ("distributed", "hypothesis", "polars", "pytest")


def test(session: nox.Session, *constraints: str) -> None:
    """Install the package with its command line, and run the tests of the front ends."""
    session.install(TORCH, *constraints)
    session.install(".[cli]", *NEEDED, *constraints)
    session.run("python", "-m", "pytest", "-q", "-m", "not slow", *TESTS, *session.posargs)


@nox.session
def oldest(session: nox.Session) -> None:
    """Run with the lower bounds of pyproject.toml."""
    test(session, "--constraint", "constraints-oldest.txt")


@nox.session
def newest(session: nox.Session) -> None:
    """Run with the newest releases."""
    test(session)


@nox.session
def peers(session: nox.Session) -> None:
    """Check the losses of other packages that results are compared with."""
    session.install(TORCH)
    session.install(".[peers]", *NEEDED)
    session.run("python", "-m", "pytest", "-q", "tests/experiments/peers_checks.py", *session.posargs)
