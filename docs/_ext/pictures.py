"""The style of the pictures in the gallery."""

from __future__ import annotations

import matplotlib.pyplot as plt


def set_style(_gallery: object, _script: str) -> None:
    """Have the pictures look alike; called before every script."""
    plt.rcParams.update(
        {
            "figure.dpi": 110,
            "font.size": 10,
            "axes.titlesize": 11,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    )
