"""Plots as SVG that take their colours from the style sheet of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

__all__ = ["Plot", "bar_chart"]

WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP, BOTTOM = 54, 12, 12, 40
TICKS = 5
# The most characters of a name that fit beside a bar.
NAME = 22


class Plot:
    """Axes with lines, bars and marks on them; y grows upwards, and classes name the colours.

    With `counted`, x is labelled by whole numbers only.

    Examples
    --------
    >>> plot = Plot("a line", (0, 1), (0, 1), "x", "y")
    >>> plot.line([0, 1], [0, 1], "series-0")
    >>> plot.svg().startswith("<svg") and "polyline" in plot.svg()
    True
    """

    def __init__(
        self,
        title: str,
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        x_name: str,
        y_name: str,
        *,
        counted: bool = False,
    ) -> None:
        self.title = title
        self._x, self._y = _widened(x_range), _widened(y_range)
        self._parts = self._axes(x_name, y_name, counted)

    def line(self, xs: Sequence[float], ys: Sequence[float], style: str, tip: str = "") -> None:
        """Draw a line through points."""
        points = " ".join(f"{self._px(x):.1f},{self._py(y):.1f}" for x, y in zip(xs, ys, strict=True))
        self._parts.append(f'<polyline class="line {style}" points="{points}">{_tip(tip)}</polyline>')

    def band(self, xs: Sequence[float], lows: Sequence[float], highs: Sequence[float], style: str) -> None:
        """Fill the area between two lines."""
        there = zip(xs, highs, strict=True)
        back = zip(reversed(xs), reversed(lows), strict=True)
        points = " ".join(f"{self._px(x):.1f},{self._py(y):.1f}" for way in (there, back) for x, y in way)
        self._parts.append(f'<polygon class="band {style}" points="{points}"/>')

    def strip(self, low: float, high: float, tip: str = "") -> None:
        """Fill a range of x over the whole height."""
        left, right = self._px(low), self._px(high)
        size = f'width="{max(right - left, 1.0):.1f}" height="{HEIGHT - TOP - BOTTOM}"'
        self._parts.append(f'<rect class="strip" x="{left:.1f}" y="{TOP}" {size}>{_tip(tip)}</rect>')

    def mark(self, x: float, y: float, style: str, tip: str = "", *, radius: float = 5.5) -> None:
        """Draw a dot."""
        place = f'cx="{self._px(x):.1f}" cy="{self._py(y):.1f}"'
        self._parts.append(f'<circle class="mark {style}" {place} r="{radius:g}">{_tip(tip)}</circle>')

    def bars(self, edges: Sequence[float], heights: Sequence[float], style: str, tip: str = "") -> None:
        """Draw a histogram."""
        base = self._py(max(self._y[0], 0.0))
        for left, right, height in zip(edges[:-1], edges[1:], heights, strict=True):
            if height > 0:
                x, top = self._px(left), self._py(height)
                size = f'width="{max(self._px(right) - x, 0.5):.1f}" height="{base - top:.1f}"'
                self._parts.append(
                    f'<rect class="bar {style}" x="{x:.1f}" y="{top:.1f}" {size}>{_tip(tip)}</rect>'
                )

    def rule(self, *, x: float | None = None, y: float | None = None, tip: str = "") -> None:
        """Draw a dashed line across the plot at one value."""
        if x is not None:
            xs, ys = [x, x], list(self._y)
        else:
            xs, ys = list(self._x), [float(y or 0.0)] * 2
        self.line(xs, ys, "rule", tip)

    def svg(self) -> str:
        """Return the element."""
        body = "".join(self._parts)
        return (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.title)}">'
            f"<title>{escape(self.title)}</title>{body}</svg>"
        )

    def _px(self, x: float) -> float:
        low, high = self._x
        return LEFT + (min(max(x, low), high) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def _py(self, y: float) -> float:
        low, high = self._y
        return HEIGHT - BOTTOM - (min(max(y, low), high) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def _axes(self, x_name: str, y_name: str, counted: bool) -> list[str]:
        parts = []
        for value in _round_values(*self._y):
            y = self._py(value)
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(
                f'<text class="tick" x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>'
            )
        for value in _round_values(*self._x, whole=counted):
            x = self._px(value)
            place = f'x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle"'
            parts.append(f'<text class="tick" {place}>{value:.3g}</text>')
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts.append(
            f'<text class="axis" x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_name)}</text>'
        )
        parts.append(
            f'<text class="axis" x="11" y="{HEIGHT / 2 - 10}" text-anchor="middle" '
            f'transform="rotate(-90 11 {HEIGHT / 2 - 10})">{escape(y_name)}</text>'
        )
        return parts


def bar_chart(title: str, names: Sequence[str], values: Sequence[float], tips: Sequence[str]) -> str:
    """Return named horizontal bars as an element; names that are too long are cut.

    Examples
    --------
    >>> bar_chart("two", ["a", "b"], [0.5, -0.1], ["", ""]).count("<rect")
    2
    """
    step, left = 22, 150
    low, high = _widened((min([0.0, *values]), max([0.0, *values])))
    scale = (WIDTH - left - 60) / (high - low)
    zero = left + (0.0 - low) * scale
    parts = []
    for index, (name, value, tip) in enumerate(zip(names, values, tips, strict=True)):
        y = index * step + 4
        shown = name if len(name) <= NAME else name[: NAME - 1] + "\u2026"
        start, end = sorted((zero, zero + value * scale))
        parts.append(
            f'<text class="tick" x="{left - 6}" y="{y + 12}" text-anchor="end">{escape(shown)}</text>'
            f'<rect class="bar series-0" x="{start:.1f}" y="{y}" width="{max(end - start, 0.5):.1f}" '
            f'height="{step - 7}">{_tip(tip)}</rect>'
            f'<text class="tick" x="{end + 5:.1f}" y="{y + 12}">{round(value, 3) + 0.0:.3f}</text>'
        )
    return (
        f'<svg viewBox="0 0 {WIDTH} {len(names) * step + 8}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def _widened(limits: tuple[float, float]) -> tuple[float, float]:
    low, high = float(limits[0]), float(limits[1])
    return (low, high) if high - low > 1e-12 * max(abs(low), abs(high), 1.0) else (low - 0.5, high + 0.5)


def _round_values(low: float, high: float, *, whole: bool = False) -> list[float]:
    """Return about `TICKS` round numbers between two values."""
    rough = max((high - low) / TICKS, 1.0 if whole else 0.0)
    power = 10.0 ** math.floor(math.log10(rough))
    factors = (1, 2, 5, 10) if whole else (1, 2, 2.5, 5, 10)
    step = next(factor * power for factor in factors if factor * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def _tip(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""
