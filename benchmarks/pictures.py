"""Curves as pictures: `python -m benchmarks.pictures FILE.json DIRECTORY` writes an SVG for each curve."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT, MARGIN = 560, 300, 60
INK, LINE = "#444", "#2a6fb0"
Point = tuple[float, float]


def draw(title: str, curve: list[Point]) -> str:
    """The SVG of a curve: the number of tasks along the bottom (logarithmic), the value upwards from zero."""
    places = [(_place_x(x, curve), _place_y(y, curve)) for x, y in curve]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"',
        ' font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(WIDTH / 2, 22, title, "middle"),
        f'<polyline points="{path}" fill="none" stroke="{LINE}" stroke-width="2"/>',
        f'<path d="M{MARGIN},40 V{HEIGHT - 40} H{WIDTH - 20}" fill="none" stroke="{INK}"/>',
        _text(MARGIN - 6, HEIGHT - 36, "0", "end"),
    ]
    for (x, y), (place_x, place_y) in zip(curve, places, strict=True):
        parts.append(f'<circle cx="{place_x:.1f}" cy="{place_y:.1f}" r="3" fill="{LINE}"/>')
        parts.append(_text(place_x, place_y - 8, format_value(y), "middle"))
        parts.append(_text(place_x, HEIGHT - 22, format_value(x), "middle"))
    return "\n".join([*parts, "</svg>", ""])


def _place_x(x: float, curve: list[Point]) -> float:
    span = [math.log10(1 + at) for at, _ in curve]
    least, most = min(span), max(span)
    share = (math.log10(1 + x) - least) / (most - least) if most > least else 0.5
    return MARGIN + 30 + share * (WIDTH - MARGIN - 80)


def _place_y(y: float, curve: list[Point]) -> float:
    most = max(value for _, value in curve) or 1.0
    return HEIGHT - 40 - y / most * (HEIGHT - 110)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}">{escape(text)}</text>'


def format_value(value: float) -> str:
    """A short number: 1.2M, 340k, 0.42."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def main() -> int:
    """Write the pictures of one run."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    for figure in json.loads(source.read_text())["figures"]:
        if figure["curve"]:
            title = figure["curve_title"]
            name = re.sub(r"[^a-z]+", "-", title.lower()).strip("-")
            (target / f"{name}.svg").write_text(draw(title, [tuple(point) for point in figure["curve"]]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
