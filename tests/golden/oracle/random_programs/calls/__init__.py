"""Programs of plain calls (`sweep --kind calls`): functions of tensors and values, each followed by
a run of its results and often of their gradients.

A call of a family is a function that takes a Writer; TABLES has them with their weights.
"""

from . import arrays, images, indexing, layers, losses, maths, windows
from .writer import Writer

TABLES = {"arrays": (arrays.CALLS, 3), "indexing": (indexing.CALLS, 3), "maths": (maths.CALLS, 4),
          "layers": (layers.CALLS, 2), "windows": (windows.CALLS, 2), "losses": (losses.CALLS, 1.5),
          "images": (images.CALLS, 1.5)}


def write(live, only=None):
    """Writes a program; `only` is the name of a family or of a call, None for all."""
    writer = Writer(live)
    live.call("set_random_seed", seed=live.rng.randrange(100))
    live.seeded = True
    tables = {name: weight for name, (_, weight) in TABLES.items()}
    theme = live.weighted(tables)
    count = live.rng.randrange(4, 9)
    for _ in range(count):
        if live.chance(0.05):
            writer.scope()
        family = theme if live.chance(0.7) else live.weighted(tables)
        calls = TABLES[family][0]
        if only in TABLES:
            calls = TABLES[only][0]
        elif only is not None:
            calls = [call for table, _ in TABLES.values() for call in table if call[0] == only]
        op, make = live.pick(calls)
        writer.call(op, make)
    while live.depth:
        live.exit()
