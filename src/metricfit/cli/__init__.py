"""The command line, ``metricfit``."""

from metricfit.cli.app import main

__all__ = ["main"]
