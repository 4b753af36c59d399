#!/usr/bin/env python3
"""Draws what tests/full/scale --json wrote: processor time and memory by the number of events, both axes logarithmic, as one SVG.

usage: bench/plot_scale.py FILE.jsonl OUT.svg"""

import html
import json
import math
import sys

OURS = {"import": "#1f6feb", "analyze": "#1a7f37", "report": "#8250df", "compare": "#bf3989"}
PEERS = ["#9a6700", "#57606a", "#bc4c00", "#0e7490"]
WIDE, HIGH, LEFT, TOP, BOTTOM, LEGEND = 430, 300, 62, 34, 44, 130


class Panel:
    """One picture of two logarithmic axes whose ends are powers of ten."""

    def __init__(self, at, title, unit, rows, field):
        self.at, self.title, self.unit, self.field = at, title, unit, field
        self.lines = {}
        for row in rows:
            self.lines.setdefault(row["what"], []).append((row["events"], row[field]))
        self.x = self.ends(row["events"] for row in rows)
        self.y = self.ends(row[field] for row in rows)

    @staticmethod
    def ends(values):
        values = [value for value in values if value > 0]
        return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) - 1e-9)

    def place(self, events, value):
        x = LEFT + (math.log10(events) - self.x[0]) / (self.x[1] - self.x[0]) * (WIDE - LEFT)
        y = HIGH - BOTTOM - (math.log10(value) - self.y[0]) / (self.y[1] - self.y[0]) * (HIGH - BOTTOM - TOP)
        return self.at + x, y

    def grid(self):
        yield f'<text x="{self.at + LEFT}" y="18" class="title">{self.title}</text>'
        for power in range(self.x[0], self.x[1] + 1):
            x, low = self.place(10**power, 10 ** self.y[0])
            yield f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{low:.1f}" class="grid"/>'
            yield f'<text x="{x:.1f}" y="{low + 16:.1f}" text-anchor="middle">10<tspan dy="-5" class="power">{power}</tspan></text>'
        for power in range(self.y[0], self.y[1] + 1):
            x, y = self.place(10 ** self.x[0], 10**power)
            yield f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{self.at + WIDE}" y2="{y:.1f}" class="grid"/>'
            yield f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g} {self.unit}</text>'
        yield f'<text x="{self.at + (LEFT + WIDE) / 2}" y="{HIGH - 8}" text-anchor="middle">events</text>'

    def draw(self, colours):
        yield from self.grid()
        for what, points in self.lines.items():
            places = [self.place(*point) for point in sorted(points)]
            text = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            dash = "" if what in OURS else ' stroke-dasharray="5 3"'
            yield f'<polyline points="{text}" fill="none" stroke="{colours[what]}" stroke-width="2"{dash}/>'
            for x, y in places:
                yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colours[what]}"/>'


def legend(colours, at):
    for i, (what, colour) in enumerate(colours.items()):
        y = TOP + 18 * i
        dash = "" if what in OURS else ' stroke-dasharray="5 3"'
        yield f'<line x1="{at}" y1="{y}" x2="{at + 22}" y2="{y}" stroke="{colour}" stroke-width="2"{dash}/>'
        yield f'<text x="{at + 28}" y="{y + 4}">{html.escape(what)}</text>'


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if row["ranks"] == 1]
    named = list(dict.fromkeys(row["what"] for row in rows))
    others = iter(PEERS)
    colours = {what: OURS.get(what) or next(others) for what in named}
    time = Panel(0, "processor time", "s", rows, "cpu_s")
    memory = Panel(WIDE + 24, "peak memory", "MB", rows, "rss_mb")
    wide = 2 * WIDE + 40 + LEGEND
    style = ("text{font:12px sans-serif;fill:#57606a}.title{font-weight:600;fill:#24292f}.power{font-size:9px}"
             ".grid{stroke:#d0d7de;stroke-width:1}")
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {HIGH}" width="{wide}" height="{HIGH}">',
             f'<style>{style}</style><rect width="{wide}" height="{HIGH}" fill="#fff"/>', *time.draw(colours), *memory.draw(colours),
             *legend(colours, 2 * WIDE + 40), "</svg>"]
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
