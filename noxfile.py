"""Tests with the oldest and the newest dependencies that are allowed: ``nox -s oldest newest``."""

import nox

TESTS = ("tests/cli", "tests/sklearn")
NEEDED = ("distributed", "hypothesis", "polars", "pytest")


def test(session: nox.Session, *constraints: str) -> None:
    """Install the package with its command line, and run the tests of the front ends."""
    session.install("torch>=2.6", *constraints)
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
