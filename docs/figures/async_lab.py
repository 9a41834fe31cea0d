#!/usr/bin/env python3
"""Draws async_lab.svg beside this file: what samples/async_lab wrote.

  async_lab.py [FILE.csv]  writes the figure; by default of the run of docs/async.md, async_lab.csv.gz
  async_lab.py --check     exit code 1 where the file is not what this draws of that run
"""

import collections
import csv
import gzip
import html
import math
import pathlib
import sys

WIDTH, HEIGHT, GAP = 420, 260, 70
COLOURS = ("#1f5fa8", "#c2571a", "#3a7d34", "#7a3f9d", "#777777")
WINDOW = 40  # updates whose mean loss is a point


def read(path):
    """Returns {training: [(update, seconds, staleness, loss)]}, in the order of the updates."""
    steps = collections.defaultdict(list)
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            steps[row["training"]].append((int(row["update"]), float(row["seconds"]),
                                           int(row["staleness"]), float(row["loss"])))
    return {name: sorted(rows) for name, rows in steps.items()}


def smooth(rows, column):
    """Returns [(value of the column, loss)], each the mean of WINDOW neighbouring updates."""
    groups = [rows[i:i + WINDOW] for i in range(0, len(rows) - WINDOW + 1, WINDOW // 4)]
    return [(group[-1][column], sum(row[3] for row in group) / len(group)) for group in groups]


def ticks(most):
    """Returns round numbers from 0 to `most`, four to nine of them."""
    step = 10 ** math.floor(math.log10(most))
    step = next(step / part for part in (1, 2, 5, 10) if most / (step / part) >= 4)
    return [round(i * step, 6) for i in range(math.floor(most / step) + 1)]


class Panel:
    """A diagram with its axes, whose upper left corner is (left, top)."""

    def __init__(self, left, top, title, across, most_x, most_y, unit):
        self.left, self.top, self.most_x, self.most_y = left, top, most_x, most_y
        self.parts = [text(left, top - 12, title, "start", "bold")]
        for value in ticks(most_y):
            self.parts.append('<path d="M%.1f %.1fh%d" stroke="#ddd"/>' % (left, self.y(value), WIDTH))
            self.parts.append(text(left - 6, self.y(value) + 4, "%g%s" % (value, unit), "end"))
        for value in ticks(most_x):
            self.parts.append(text(self.x(value), top + HEIGHT + 18, "%g" % value, "middle"))
        self.parts.append(text(left + WIDTH / 2, top + HEIGHT + 36, across, "middle"))

    def x(self, value):
        return self.left + min(value / self.most_x, 1) * WIDTH

    def y(self, value):
        return self.top + HEIGHT - min(value / self.most_y, 1) * HEIGHT

    def line(self, points, colour):
        self.parts.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="1.6"/>' % (
            " ".join("%.1f,%.1f" % (self.x(x), self.y(y)) for x, y in points), colour))

    def bar(self, x, y, width, colour):
        self.parts.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>' % (
            self.x(x), self.y(y), width, self.top + HEIGHT - self.y(y), colour))


def text(x, y, words, anchor, weight="normal"):
    return '<text x="%.1f" y="%.1f" text-anchor="%s" font-weight="%s">%s</text>' % (
        x, y, anchor, weight, html.escape(words))


def draw(trainings):
    width, height = 3 * WIDTH + 4 * GAP, HEIGHT + 170
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" '
             'font-size="12" fill="#333">' % (width, height),
             '<rect width="%d" height="%d" fill="white"/>' % (width, height)]
    curves = {name: (smooth(rows, 0), smooth(rows, 1)) for name, rows in trainings.items()}
    # A training that goes astray at first leaves the diagram.
    highest = 1.2 * min(max(loss for _, loss in points) for points, _ in curves.values())
    updates = max(points[-1][0] for points, _ in curves.values())
    seconds = max(points[-1][0] for _, points in curves.values())
    stale = [name for name, rows in trainings.items() if any(row[2] for row in rows)]
    most = max(row[2] for rows in trainings.values() for row in rows)
    shares = {name: collections.Counter(row[2] for row in trainings[name]) for name in stale}
    top_share = max(count / len(trainings[name]) for name in stale for count in shares[name].values())
    by_step = Panel(GAP, 40, "Loss against batches", "batches trained", updates, highest, "")
    by_time = Panel(2 * GAP + WIDTH, 40, "Loss against time", "seconds", seconds, highest, "")
    staleness = Panel(3 * GAP + 2 * WIDTH, 40, "Staleness", "updates by others in between", most + 1,
                      100 * top_share, " %")
    for i, name in enumerate(trainings):
        colour = COLOURS[i % len(COLOURS)]
        by_step.line(curves[name][0], colour)
        by_time.line(curves[name][1], colour)
        if name in stale:
            slot = WIDTH / (most + 1) / (len(stale) + 1)
            for value, count in shares[name].items():
                staleness.bar(value + (stale.index(name) + 0.5) / (len(stale) + 1),
                              100 * count / len(trainings[name]), slot, colour)
        x, y = GAP + 300 * i, 40 + HEIGHT + 70
        parts.append('<path d="M%d %dh22" stroke="%s" stroke-width="3"/>' % (x, y, colour))
        parts.append(text(x + 28, y + 4, name, "start"))
    for panel in (by_step, by_time, staleness):
        parts += panel.parts
    return "\n".join(parts + ["</svg>"]) + "\n"


def main():
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    figure = pathlib.Path(__file__).with_suffix(".svg")
    run = figure.with_suffix(".csv.gz")
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if figure.read_text(encoding="utf-8") == draw(read(run)) else "%s is not up to date" % figure)
    figure.write_text(draw(read(sys.argv[1] if len(sys.argv) == 2 else run)), encoding="utf-8")


if __name__ == "__main__":
    main()
