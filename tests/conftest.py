"""Settings of every test run."""

import signal

import pytest
from hypothesis import settings

# Compiling and simplifying make single examples slow by chance, which is no failure. Examples are the same in
# every run, so that a change is judged by what it changed; `make explore` draws new ones.
settings.register_profile("metricfit", deadline=None, max_examples=50, print_blob=True, derandomize=True)
settings.register_profile("explore", settings.get_profile("metricfit"), derandomize=False, max_examples=200)
settings.load_profile("metricfit")


@pytest.fixture(autouse=True, scope="session")
def heed_interrupts() -> None:
    """Let Ctrl-C reach tests and what they start; a shell has what it runs in the background ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
