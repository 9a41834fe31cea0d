#!/usr/bin/env python3
"""Draws two_towers.svg beside this file: one step on two towers, top to bottom.

  two_towers.py          writes the figure
  two_towers.py --check  exit code 1 where the file is not what this draws
"""

import html
import pathlib
import sys

WIDTH, HEIGHT = 960, 650
COLUMNS = {"tower_0": 40, "host": 350, "tower_1": 660}  # left edges
COLUMN = 260

# The figure brings its background along, so that it can be read on any page: (light, dark).
COLOURS = {
    "text": ("fill", "#1f2328", "#e6edf3"),
    ".soft": ("fill", "#59636e", "#9198a1"),
    ".copy-text, #copy path": ("fill", "#0969da", "#58a6ff"),
    ".wait-text": ("fill", "#bc4c00", "#f0883e"),
    ".paper": ("fill", "#ffffff", "#0d1117"),
    ".device": ("fill", "#ddf4ff", "#0c2d48"),
    ".host": ("fill", "#fff8c5", "#3d2f0a"),
    ".update": ("fill", "#dafbe1", "#0f3a1f"),
    ".box, .lane": ("stroke", "#8c959f", "#656c76"),
    ".copy": ("stroke", "#0969da", "#58a6ff"),
}
SHAPES = """
    text { font: 14px system-ui, sans-serif; }
    .title { font-weight: 600; }
    .soft, .copy-text, .wait-text { font-size: 12.5px; }
    .lane { fill: none; stroke-dasharray: 2 4; }
    .copy { stroke-width: 1.8; fill: none; marker-end: url(#copy); }
"""


def style():
    lines = {mode: ["%s%s { %s: %s; }" % ("    " + "  " * mode, selector, colour[0], colour[1 + mode])
                    for selector, colour in COLOURS.items()] for mode in (0, 1)}
    return "\n".join([SHAPES.rstrip(), *lines[0], "    @media (prefers-color-scheme: dark) {", *lines[1],
                      "    }", ""])


class Figure:
    def __init__(self):
        self.parts = []

    def add(self, text):
        self.parts.append("  " + text)

    def text(self, x, y, words, kind="", anchor="start"):
        self.add('<text x="%d" y="%d" class="%s" text-anchor="%s">%s</text>'
                 % (x, y, kind, anchor, html.escape(words)))

    def box(self, column, y, height, kind, title, *lines):
        x = COLUMNS[column]
        self.add('<rect x="%d" y="%d" width="%d" height="%d" rx="6" class="box %s"/>'
                 % (x, y, COLUMN, height, kind))
        self.text(x + 12, y + 21, title, "title")
        for i, line in enumerate(lines):
            self.text(x + 12, y + 40 + 17 * i, line, "soft")

    def copy(self, start, end, y, words, dy=0):
        """An arrow from a column's side to the neighbour's, with words above it."""
        left = COLUMNS[start] < COLUMNS[end]
        x = COLUMNS[start] + (COLUMN if left else 0)
        to = COLUMNS[end] + (0 if left else COLUMN)
        self.add('<path d="M%d %d L%d %d" class="copy"/>' % (x, y, to + (-2 if left else 2), y + dy))
        self.text((x + to) // 2, y - 7 + min(dy, 0), words, "copy-text", "middle")


def draw():
    f = Figure()
    f.add('<rect width="%d" height="%d" class="paper"/>' % (WIDTH, HEIGHT))
    for column, title, about in [("tower_0", "/device:SIM:0", "memory and three queues of its own"),
                                 ("host", "/device:CPU:0, the host", "pinned memory, one queue"),
                                 ("tower_1", "/device:SIM:1", "memory and three queues of its own")]:
        x = COLUMNS[column] + COLUMN // 2
        f.text(x, 30, title, "title", "middle")
        f.text(x, 48, about, "soft", "middle")
        f.add('<path d="M%d 60 V%d" class="lane"/>' % (x, HEIGHT - 58))
    f.box("host", 66, 60, "host", "variables v, w and their slots", "one master of each, shared")
    f.box("host", 154, 60, "host", "batches x_0, x_1", "from a queue for each tower")
    for i, tower in enumerate(["tower_0", "tower_1"]):
        f.box(tower, 66, 60, "device", "replicas of v, w", "of the last step, not copied again")
        f.box(tower, 154, 60, "device", "forward of tower_%d" % i, "activations stay here")
        f.box(tower, 242, 330, "device", "backward of tower_%d" % i, "from the last layer, v,", "to the first, w")
        f.copy("host", tower, 186, "x_%d" % i)
        f.copy(tower, "host", 334, "dv")
        f.copy("host", tower, 390, "v")
        f.copy(tower, "host", 482, "dw")
        f.copy("host", tower, 538, "w")
        x = COLUMNS[tower] + 12
        f.text(x, 330, "dv is made, and leaves at once", "soft")
        f.text(x, 347, "while backward goes on", "soft")
        f.text(x, 386, "wait: till v is read no more", "wait-text")
        f.text(x, 403, "its replica takes the new value", "soft")
        f.text(x, 478, "dw is made", "soft")
        f.text(x, 534, "wait: till w is read no more", "wait-text")
    f.box("host", 242, 46, "host", "commit", "what may fail has run: finish the step")
    for name, y in [("v", 312), ("w", 460)]:
        f.box("host", y, 104, "update", "average, update " + name, "", "one pass over d%s of both towers," % name,
              "%s and its slot" % name)
        f.text(COLUMNS["host"] + 12, y + 40, "wait: d%s of the later tower" % name, "wait-text")
        f.text(COLUMNS["host"] + 12, y + 91, "a changed variable goes back at once", "soft")
    f.text(WIDTH // 2, 610, "The run ends when every queue is empty; the next finds its replicas up to date.",
           "", "middle")
    f.text(WIDTH // 2, 632, "blue: copies between memories, on queues of their own; orange: who waits for what",
           "soft", "middle")
    return f


def main():
    f = draw()
    svg = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" '
           'aria-label="One step on two towers: what each device holds, what is copied, what waits">'
           % (WIDTH, HEIGHT),
           "  <style>%s  </style>" % style(),
           '  <defs><marker id="copy" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
           'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>',
           *f.parts, "</svg>", ""]
    path = pathlib.Path(__file__).with_suffix(".svg")
    text = "\n".join(svg)
    if "--check" in sys.argv[1:]:
        return 0 if path.read_text() == text else "%s is not what %s draws" % (path, __file__)
    path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
