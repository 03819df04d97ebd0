"""The command line, ``metricfit``."""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]

NEEDED = ("pandas", "pyarrow", "rich", "sklearn", "skops", "skorch", "skrub", "typer")


def main() -> None:
    """Run the command line, or say what to install for it."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(
            f"metricfit: the command line needs {', '.join(missing)}; run pip install 'metricfit[cli]'.",
            file=sys.stderr,
        )
        sys.exit(2)
    from metricfit.cli.app import run

    sys.exit(run(sys.argv[1:]))
