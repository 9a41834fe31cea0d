#!/usr/bin/env python3
"""Draws the losses of trainings as an SVG file.

    loss_curve.py FILE.svg LABEL=LOG...

A LOG is what `towerflow train` printed; the loss is the mean of the towers where it is there. Losses
are averaged over neighbouring lines, as many as make 200 points.
"""

import html
import math
import pathlib
import re
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 300, 56, 16, 16, 40
COLOURS = ("#1f5fa8", "#c2571a", "#3a7d34", "#7a3f9d")
POINTS = 200
STEP = re.compile(r"step (\d+)(?: \([^)]*\))?, loss = (\S+) .*?(?:mean of \d+ towers (\S+),|$)|"
                  r"(?P<lstm>\d+)/\d+ \(epoch \d+\), train_loss = (?P<lstm_loss>\S+),|"
                  r"INFO:tensorflow:learning_rate = \S+, loss = (?P<resnet_loss>\S+)|"
                  r"Average examples/sec: .*, step = (?P<resnet>\d+)")


def steps_of(log):
    """Yields (step, loss) of the lines of any model."""
    waiting = None  # a loss whose step stands in the next line
    step = 0
    for m in filter(None, map(STEP.search, pathlib.Path(log).read_text().splitlines())):
        if m[1]:
            yield int(m[1]), float((m[3] or m[2]).rstrip(","))
        elif m["lstm"]:
            yield int(m["lstm"]), float(m["lstm_loss"])
        elif m["resnet_loss"]:
            if waiting is not None:
                yield step, waiting
            waiting = float(m["resnet_loss"])
        else:
            step = int(m["resnet"])
            if waiting is not None:
                yield step if step > 10 else 0, waiting
                waiting = None


def losses_of(log):
    """Returns [(step, loss)], averaged."""
    found = list(steps_of(log))
    if not found:
        sys.exit("no steps in %s" % log)
    size = max(1, math.ceil(len(found) / POINTS))
    groups = [found[i:i + size] for i in range(0, len(found), size)]
    return [tuple(sum(column) / len(group) for column in zip(*group)) for group in groups]


def ticks(low, high, count):
    """Returns round numbers between the bounds."""
    step = 10 ** math.floor(math.log10((high - low) / count))
    step = next(step * factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= count)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def draw(curves):
    steps = [step for points in curves.values() for step, _ in points]
    values = [loss for points in curves.values() for _, loss in points]
    low, high = min(values), max(values)
    low, high = low - 0.04 * (high - low or 1), high + 0.04 * (high - low or 1)
    last = max(steps) or 1

    def x(step):
        return LEFT + step / last * (WIDTH - LEFT - RIGHT)

    def y(loss):
        return TOP + (high - loss) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def text(at, where, anchor, words):
        return '<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>' % (at, where, anchor, html.escape(words))

    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" '
             'font-size="12" fill="#333">' % (WIDTH, HEIGHT),
             '<rect width="%d" height="%d" fill="white"/>' % (WIDTH, HEIGHT)]
    for value in ticks(low, high, 6):
        parts.append('<path d="M%d %.1fH%d" stroke="#ddd"/>' % (LEFT, y(value), WIDTH - RIGHT))
        parts.append(text(LEFT - 6, y(value) + 4, "end", "%g" % round(value, 6)))
    for step in ticks(0, last, 8):
        parts.append(text(x(step), HEIGHT - BOTTOM + 16, "middle", "%d" % step))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "middle", "step"))
    parts.append(text(LEFT - 6, TOP - 4, "end", "loss"))
    for index, (label, points) in enumerate(curves.items()):
        colour = COLOURS[index % len(COLOURS)]
        line = " ".join("%.1f,%.1f" % (x(step), y(loss)) for step, loss in points)
        parts.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>' % (line, colour))
        parts.append('<path d="M%d %dh18" stroke="%s" stroke-width="2"/>'
                     % (WIDTH - RIGHT - 190, TOP + 10 + 18 * index, colour))
        parts.append(text(WIDTH - RIGHT - 166, TOP + 14 + 18 * index, "start", label))
    return "\n".join(parts + ["</svg>"]) + "\n"


def main():
    if len(sys.argv) < 3 or any("=" not in curve for curve in sys.argv[2:]):
        sys.exit(__doc__)
    curves = dict(curve.split("=", 1) for curve in sys.argv[2:])
    pathlib.Path(sys.argv[1]).write_text(draw({label: losses_of(log) for label, log in curves.items()}))


if __name__ == "__main__":
    main()
