#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Draw what tracejit printed (standard input) as SVG (standard output): the time of each slice."""

import re
import sys

ROW = re.compile(r"slice (\d+) phase (\d+) interpreted (\d+) traced (\d+) compiled (\d+) dropped (\d+)")
PHASE = re.compile(r"phase \d+: (\d+)% of the words are small: ([\d.]+) times as fast")
LEFT, TOP, WIDTH, HEIGHT = 44, 34, 800, 220
STYLE = """text { font: 12px sans-serif; fill: #222 } .i { fill: #b8c4d6 } .t { fill: #c4501b } .l { stroke: #888 }
.k { fill: #1b7a3d } .d { fill: #b00020 } .e { text-anchor: end }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .i { fill: #4a5a74 } .t { fill: #ff9a5c }
.k { fill: #6fd08c } .d { fill: #ff8090 } }"""


def bar(style: str, x: float, width: float, height: float) -> str:
    """A bar that stands on the axis."""
    return f'<rect class="{style}" x="{x:.1f}" y="{TOP + HEIGHT - height:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def text(x: float, y: float, content: str, style: str = "") -> str:
    """A piece of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}">{content}</text>'


def scale(longest: float) -> float:
    """The first of 1, 2, 5, 10, 20 ... milliseconds above the longest slice."""
    top = 1.0
    while True:
        for factor in (1, 2, 5):
            if top * factor >= longest:
                return top * factor
        top *= 10


def draw(output: str) -> str:
    """The picture. Slices much longer than the median of the interpreted ones end at the upper edge."""
    rows = [tuple(map(int, match)) for match in ROW.findall(output)]
    phases = PHASE.findall(output)
    if not rows or not phases:
        raise SystemExit("picture.py: this is no output of tracejit with LWP")
    median = sorted(row[2] for row in rows)[len(rows) // 2] / 1000
    top = scale(1.5 * median)
    step = WIDTH / len(rows)
    body = []
    for number, _, interpreted, traced, compiled, dropped in rows:
        x = LEFT + number * step
        for style, micro, width in (("i", interpreted, step - 1), ("t", traced, (step - 1) / 2)):
            body.append(bar(style, x, width, min(micro / 1000 / top, 1) * HEIGHT))
        if compiled:
            body.append(text(x, TOP + HEIGHT + 14, "&#9650;", "k"))
        if dropped:
            body.append(text(x, TOP + HEIGHT + 26, "&#9660;", "d"))
    for part in (0, 0.5, 1):
        y = TOP + HEIGHT * (1 - part)
        body.append(f'<line class="l" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y}" y2="{y}" stroke-dasharray="2 4"/>')
        body.append(text(LEFT - 4, y + 4, f"{top * part:g} ms", "e"))
    for number, (small, times) in enumerate(phases):
        x = LEFT + number * WIDTH / len(phases)
        body.append(f'<line class="l" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 20}" y2="{TOP + HEIGHT}"/>')
        body.append(text(x + 4, TOP - 8, f"{small}% go one way: {times} times as fast"))
    y = TOP + HEIGHT + 44
    legend = (("i", "interpreted"), ("t", "with traces"), ("k", "&#9650; a trace is compiled"), ("d", "&#9660; dropped"))
    for number, (style, label) in enumerate(legend):
        x = LEFT + number * 170
        if not label.startswith("&"):
            body.append(f'<rect class="{style}" x="{x}" y="{y - 10}" width="12" height="12"/>')
        body.append(text(x + 16, y, label))
    size = f'width="{LEFT + WIDTH + 10}" height="{y + 12}" viewBox="0 0 {LEFT + WIDTH + 10} {y + 12}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{STYLE}</style>\n<title>Time of each slice</title>'
    return "\n".join([head, *body, "</svg>"])


if __name__ == "__main__":
    print(draw(sys.stdin.read()))
