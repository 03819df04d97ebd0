"""The paper's experiments: data sets, protocols, resumable sweeps and their report."""

from __future__ import annotations

__all__: list[str] = []
