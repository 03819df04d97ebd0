"""Runs the command line by ``python -m metricfit.cli``."""

from metricfit.cli import main

if __name__ == "__main__":
    main()
